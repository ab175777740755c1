"""A session over the in-memory transport: how it opens, how long it waits, how it ends."""

import asyncio

import pytest
from speech_client import (
    Deadlines,
    ErrorEvent,
    MemoryPeer,
    MemoryTransport,
    Peer,
    SpeechEvent,
    SpeechRefusedError,
    SpeechSession,
    SpeechSessionEnded,
    SpeechTimeoutError,
    SpeechUsageError,
    completes,
    speak_out,
    spell,
    stand_in,
    starts,
)
from speech_protocol import ErrorCode, Hello, SessionClosed, Synthesize, parse_message

from packages.speech_client.tests.sessions import (
    SHORT,
    SOON,
    forever,
    greets_then,
    heard,
    listen,
    never_answer,
    pour,
    rest,
    session_with,
    settle,
    until,
)

# hello and ping


async def test_the_server_says_what_it_can_do_and_that_it_lives() -> None:
    async with session_with() as session:
        assert (await session.hello()).engine == "stand-in"
        await session.ping()
        await asyncio.gather(*(session.ping() for _ in range(5)))


async def test_events_of_unknown_types_and_empty_frames_are_passed_over() -> None:
    async def say_more(peer: Peer, message: Synthesize) -> None:
        await peer.send(b'{"type": "weather", "sky": "blue"}', is_text=True)
        await peer.send(b"")
        await speak_out(peer, message)

    async with session_with(say_more) as session:
        events = await listen(session, "One.")
    assert len(events) == 3


# Ends


async def test_a_server_that_just_ends_is_an_error() -> None:
    async def end(peer: MemoryPeer) -> None:
        await peer.receive()

    async with SpeechSession.connect(MemoryTransport(greets_then(end)), deadlines=SHORT) as session:
        with pytest.raises(SpeechSessionEnded, match="without a goodbye"):
            await listen(session, "One.")


async def test_a_goodbye_that_nobody_asked_for_is_an_error() -> None:
    async def close(peer: MemoryPeer) -> None:
        await peer.send_event(SessionClosed())

    async with SpeechSession.connect(MemoryTransport(greets_then(close)), deadlines=SHORT) as session:
        with pytest.raises(SpeechSessionEnded, match="open a new session"):
            await anext(session.events())


async def test_what_came_before_the_end_is_still_delivered() -> None:
    async def speak_and_end(peer: MemoryPeer) -> None:
        message = parse_message(await peer.receive() or "")
        assert isinstance(message, Synthesize)
        await peer.send_event(starts(message))
        await peer.send(spell("One"))

    events: list[SpeechEvent] = []
    async with SpeechSession.connect(MemoryTransport(greets_then(speak_and_end)), deadlines=SHORT) as session:
        with pytest.raises(SpeechSessionEnded):
            await pour(session.speak("One."), events)
    assert heard(events) == "One"


async def test_the_end_wakes_everybody_who_waits() -> None:
    async def end_when_busy(peer: MemoryPeer) -> None:
        for _ in range(3):
            await peer.receive()
        await peer.fail(SpeechSessionEnded("gone", "1006"))

    transport = MemoryTransport(greets_then(end_when_busy))
    async with SpeechSession.connect(transport, deadlines=SHORT, max_in_flight=1) as session:
        waits = [session.send("One."), session.send("Two."), session.hello(), session.ping()]
        results = await asyncio.gather(*waits, anext(session.events()), return_exceptions=True)
        assert isinstance(results[0], str)
        assert [type(result) for result in results[1:]] == [SpeechSessionEnded] * 4
        with pytest.raises(SpeechSessionEnded):
            await session.cancel()


async def test_a_session_is_of_no_use_after_its_end() -> None:
    async with session_with() as session:
        pass
    with pytest.raises(SpeechUsageError, match="this session is closed"):
        await session.send("One.")
    with pytest.raises(SpeechUsageError, match="this session is closed"):
        await listen(session, "One.")


async def test_the_client_says_goodbye_and_waits_for_the_answer() -> None:
    said: list[str] = []

    async def answer_goodbye(peer: MemoryPeer) -> None:
        while (text := await peer.receive()) is not None:
            said.append(text)
            await peer.send_event(SessionClosed())

    async with SpeechSession.connect(MemoryTransport(greets_then(answer_goodbye)), deadlines=SHORT):
        pass
    assert said == ['{"type": "close"}']


async def test_a_server_that_does_not_answer_the_goodbye_is_left() -> None:
    transport = MemoryTransport(greets_then(lambda peer: forever()))
    async with SpeechSession.connect(transport, deadlines=SHORT):
        pass
    assert transport.open_connections == 0


async def test_the_rest_of_a_long_answer_does_not_hold_up_the_goodbye() -> None:
    async def talk(peer: Peer, message: Synthesize) -> None:
        await peer.send_event(starts(message))
        for _ in range(1000):
            await peer.send(spell("blah"))
        await peer.send_event(completes(message))

    async with session_with(talk, deadlines=Deadlines(close_s=5)) as session:
        await session.send("One.")
        assert await anext(session.events())


async def test_an_exception_in_the_body_leaves_at_once_and_comes_through() -> None:
    transport = MemoryTransport(greets_then(lambda peer: forever()))
    with pytest.raises(LookupError):
        async with SpeechSession.connect(transport, deadlines=Deadlines(close_s=1000)):
            raise LookupError
    assert transport.open_connections == 0


async def test_what_a_scripted_server_asserts_is_seen() -> None:
    async def complain(peer: Peer, message: Synthesize) -> None:
        raise AssertionError("not what I expected")

    async def talk() -> None:
        async with session_with(complain) as session:
            await session.send("One.")
            with pytest.raises(SpeechSessionEnded):
                await anext(session.events())

    with pytest.raises(AssertionError, match="not what I expected"):
        await talk()


# Opening


async def test_a_server_that_refuses_says_why() -> None:
    async def refuse(peer: MemoryPeer) -> None:
        await peer.receive()
        await peer.send_event(ErrorEvent.of(ErrorCode.SHUTTING_DOWN, "no new sessions", None, 2.0))
        await forever()

    transport = MemoryTransport(refuse)
    with pytest.raises(SpeechRefusedError, match="shutting_down") as caught:
        async with SpeechSession.connect(transport, deadlines=SHORT):
            pass
    assert (caught.value.retryable, caught.value.retry_after_s) == (True, 2.0)
    assert transport.open_connections == 0


async def test_a_server_that_does_not_greet_is_given_up() -> None:
    transport = MemoryTransport(lambda peer: forever())
    with pytest.raises(SpeechTimeoutError) as caught:
        async with SpeechSession.connect(transport, deadlines=Deadlines(connect_s=SOON)):
            pass
    assert caught.value.waiting_for == "connection"
    assert transport.open_connections == 0


async def test_a_server_that_ends_before_it_greets_is_an_error() -> None:
    async def end(peer: MemoryPeer) -> None:
        await peer.receive()

    with pytest.raises(SpeechSessionEnded):
        async with SpeechSession.connect(MemoryTransport(end), deadlines=SHORT):
            pass


# Deadlines


async def test_a_request_whose_audio_does_not_come_is_given_up() -> None:
    async with session_with(never_answer, deadlines=Deadlines(first_audio_s=SOON, close_s=SOON)) as session:
        with pytest.raises(SpeechTimeoutError) as caught:
            await listen(session, "One.")
        assert caught.value.waiting_for == "first audio"


async def test_silence_in_the_middle_of_a_request_is_given_up() -> None:
    async def falter(peer: Peer, message: Synthesize) -> None:
        await peer.send_event(starts(message))
        await peer.send(spell("One"))

    async with session_with(falter, deadlines=Deadlines(silence_s=SOON, close_s=SOON)) as session:
        events: list[SpeechEvent] = []
        with pytest.raises(SpeechTimeoutError) as caught:
            await pour(session.speak("One."), events)
        assert caught.value.waiting_for == "next frame"
    assert heard(events) == "One"


async def test_a_ping_without_an_answer_is_given_up() -> None:
    transport = MemoryTransport(greets_then(lambda peer: forever()))
    deadlines = Deadlines(silence_s=SOON, close_s=SOON)
    async with SpeechSession.connect(transport, deadlines=deadlines) as session:
        with pytest.raises(SpeechTimeoutError) as caught:
            await session.ping()
        assert caught.value.waiting_for == "answer"


async def test_a_caller_that_does_not_read_stops_the_server_and_misses_no_deadline() -> None:
    sent = 0
    stalled = asyncio.Event()

    async def talk(peer: Peer, message: Synthesize) -> None:
        nonlocal sent
        await peer.send_event(starts(message))
        for _ in range(400):
            sending = asyncio.ensure_future(peer.send(spell("x")))
            done, _ = await asyncio.wait({sending}, timeout=1)
            if not done:
                stalled.set()
            await sending
            sent += 1
        await peer.send_event(completes(message))

    deadlines = Deadlines(first_audio_s=0.5, silence_s=0.5, close_s=SOON)
    async with session_with(talk, deadlines=deadlines) as session:
        request_id = await session.send("One.")
        await stalled.wait()  # longer than either deadline
        assert sent < 100
        session.finish()
        assert heard(await rest(session), request_id) == "x" * 400
    assert sent == 400


# Cancellation


async def test_cancelling_anywhere_leaves_no_task_and_no_connection() -> None:
    transport = MemoryTransport(stand_in())

    async def live() -> None:
        async with SpeechSession.connect(transport, deadlines=SHORT) as session:
            await session.ping()
            await listen(session, "One.")
            for text in ("Two.", "Three."):
                await session.send(text)
            session.finish()
            await rest(session)

    finished = 0
    for steps in range(200):
        task = asyncio.create_task(live())
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task})
        finished += not task.cancelled()
        assert transport.open_connections == 0
        assert asyncio.all_tasks() == {asyncio.current_task()}
    assert 0 < finished < 200  # the cuts fell before, in and after every part of a session's life


async def test_a_second_cancellation_does_not_stop_the_cleaning_up() -> None:
    transport = MemoryTransport(greets_then(lambda peer: forever()))

    async def live() -> None:
        async with SpeechSession.connect(transport, deadlines=Deadlines(close_s=SOON)):
            pass

    task = asyncio.create_task(live())
    await until(lambda: transport.open_connections)
    await settle()
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0)
    await asyncio.wait({task})
    assert task.cancelled()
    assert transport.open_connections == 0


async def test_hello_is_the_first_thing_a_server_hears() -> None:
    first: list[object] = []

    async def listen(peer: MemoryPeer) -> None:
        first.append(parse_message(await peer.receive() or ""))
        await forever()

    with pytest.raises(SpeechTimeoutError):
        async with SpeechSession.connect(MemoryTransport(listen), deadlines=Deadlines(connect_s=SOON)):
            pass
    assert first == [Hello()]
