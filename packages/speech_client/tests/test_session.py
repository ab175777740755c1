"""A session over the in-memory transport: order, attribution, deadlines, ends."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager

import pytest
from speech_client import (
    STAND_IN_CAPABILITIES,
    Audio,
    Deadlines,
    ErrorEvent,
    MemoryPeer,
    MemoryTransport,
    Peer,
    RequestEvent,
    SpeechEvent,
    SpeechProtocolError,
    SpeechRefusedError,
    SpeechRequestError,
    SpeechSession,
    SpeechSessionEnded,
    SpeechTimeoutError,
    SpeechUsageError,
    SynthesisCancelled,
    SynthesisComplete,
    SynthesisStart,
    VoiceOptions,
    completes,
    speak_out,
    spell,
    stand_in,
    starts,
)
from speech_client.stand_in import Answer
from speech_protocol import Cancel, ClientMessage, ErrorCode, Hello, SessionClosed, Synthesize, Text, parse_message

SOON = 0.05  # a deadline that a test wants to see missed
SHORT = Deadlines(connect_s=5, first_audio_s=5, silence_s=5, close_s=SOON)


def heard(events: list[SpeechEvent] | list[RequestEvent], request_id: str | None = None) -> str:
    """The text that the audio of `events` spells."""
    pieces = []
    for event in events:
        if isinstance(event, RequestEvent):
            if isinstance(event.event, Audio) and event.request_id == request_id:
                pieces.append(event.event.data)
        elif isinstance(event, Audio):
            pieces.append(event.data)
    return b"".join(pieces).decode("utf-16-le")


async def listen(session: SpeechSession, text: str) -> list[SpeechEvent]:
    """Speak `text` to its end."""
    return [event async for event in session.speak(text)]


async def rest(session: SpeechSession) -> list[RequestEvent]:
    """Every event up to the end that `finish` promised."""
    return [event async for event in session.events()]


async def rest_after_finish(session: SpeechSession) -> list[RequestEvent]:
    """Say that nothing more will be sent, and read what is owed."""
    session.finish()
    return await rest(session)


async def pour[T](source: AsyncIterator[T], into: list[T]) -> None:
    """Keep what comes, also when it ends in an exception."""
    async for item in source:
        into.append(item)  # noqa: PERF401 - a comprehension would lose what came before an exception


async def until(holds: Callable[[], object]) -> None:
    """Let the other tasks run until something is so."""
    for _ in range(10_000):
        if holds():
            return
        await asyncio.sleep(0)
    raise AssertionError("it did not come about")


async def settle() -> None:
    """Let every task that can run do so."""
    for _ in range(50):
        await asyncio.sleep(0)


async def forever() -> None:
    await asyncio.get_running_loop().create_future()


async def never_answer(peer: Peer, message: Synthesize) -> None:
    """The server has taken the request, and nothing comes of it; it goes on listening."""


def greets_then(then: Callable[[MemoryPeer], Awaitable[None]]) -> Callable[[MemoryPeer], Awaitable[None]]:
    """A server that opens the session and then does as the test says."""

    async def serve(peer: MemoryPeer) -> None:
        await peer.receive()
        await peer.send_event(STAND_IN_CAPABILITIES)
        await then(peer)

    return serve


@asynccontextmanager
async def session_with(
    answer: Answer = speak_out, *, deadlines: Deadlines = SHORT, max_in_flight: int = 8
) -> AsyncIterator[SpeechSession]:
    transport = MemoryTransport(stand_in(answer))
    async with SpeechSession.connect(transport, deadlines=deadlines, max_in_flight=max_in_flight) as session:
        yield session
    assert transport.open_connections == 0


# speak


async def test_a_text_is_spoken_from_its_start_to_its_completion() -> None:
    async with session_with() as session:
        events = await listen(session, "Hello there.")
    assert isinstance(events[0], SynthesisStart)
    assert isinstance(events[-1], SynthesisComplete)
    assert heard(events) == "Hello there."


async def test_the_voice_asked_for_reaches_the_server() -> None:
    async with session_with() as session:
        events = [event async for event in session.speak("Hi.", VoiceOptions(voice="bf_emma"))]
    assert isinstance(events[0], SynthesisStart)
    assert events[0].voice == "bf_emma"


async def test_texts_are_spoken_one_after_the_other_in_one_session() -> None:
    async with session_with() as session:
        for text in ("One.", "Two.", "Three."):
            assert heard(await listen(session, text)) == text


async def test_an_error_of_the_request_is_raised_and_the_session_goes_on() -> None:
    async def refuse_the_first(peer: Peer, message: Synthesize) -> None:
        if message.text == "bad":
            busy = ErrorEvent.of(ErrorCode.BUSY, "come back later", message.request_id, 0.5)
            await peer.send_event(busy)
        else:
            await speak_out(peer, message)

    async with session_with(refuse_the_first) as session:
        with pytest.raises(SpeechRequestError) as caught:
            await listen(session, "bad")
        assert (caught.value.code, caught.value.retryable, caught.value.retry_after_s) == ("busy", True, 0.5)
        assert heard(await listen(session, "good")) == "good"


async def test_an_error_without_a_request_ends_the_speech_that_is_waited_for() -> None:
    async def misunderstand(peer: Peer, message: Synthesize) -> None:
        await peer.send_event(ErrorEvent.of(ErrorCode.INVALID_MESSAGE, "what?"))

    async with session_with(misunderstand) as session:
        with pytest.raises(SpeechRequestError, match="invalid_message: what"):
            await listen(session, "x")


async def test_leaving_the_loop_cancels_the_request_and_the_next_begins_clean() -> None:
    cancelled: list[str | None] = []

    async def on_cancel(peer: Peer, message: Cancel) -> None:
        cancelled.append(message.request_id)
        await peer.send_event(SynthesisCancelled(message.request_id or "", "", "Old.", 0.0))

    async def begin_only(peer: Peer, message: Synthesize) -> None:
        if message.text == "Old.":
            await peer.send_event(starts(message))
            await peer.send(spell("Ol"))
        else:
            await speak_out(peer, message)

    transport = MemoryTransport(stand_in(begin_only, on_cancel))
    async with SpeechSession.connect(transport, deadlines=SHORT) as session:
        left = None
        async for event in session.speak("Old."):
            if isinstance(event, Audio):
                left = session.in_flight[0]
                break
        assert heard(await listen(session, "New.")) == "New."
    assert cancelled == [left]


async def test_a_cancelled_request_ends_with_what_was_spoken() -> None:
    async def on_cancel(peer: Peer, message: Cancel) -> None:
        await peer.send_event(SynthesisCancelled(message.request_id or "", "Hello", " there.", 0.4))

    async def begin_only(peer: Peer, message: Synthesize) -> None:
        await peer.send_event(starts(message))
        await peer.send(spell("Hello"))

    transport = MemoryTransport(stand_in(begin_only, on_cancel))
    async with SpeechSession.connect(transport, deadlines=SHORT) as session:
        events: list[SpeechEvent] = []
        async for event in session.speak("Hello there."):
            events.append(event)
            if isinstance(event, Audio):
                await session.cancel(session.in_flight[0], played_s=0.4)
        assert isinstance(events[-1], SynthesisCancelled)
        assert events[-1].text_spoken + events[-1].text_remaining == "Hello there."


async def test_a_newer_speak_takes_over_from_one_that_is_not_being_read() -> None:
    async with session_with() as session, aclosing(session.speak("One.")) as older:
        await anext(older)
        assert heard(await listen(session, "Two.")) == "Two."
        with pytest.raises(SpeechUsageError, match="given up"):
            await anext(older)


async def test_two_tasks_cannot_speak_at_once() -> None:
    async with session_with(never_answer) as session:
        first = asyncio.create_task(listen(session, "One."))
        await until(lambda: session.in_flight)
        await asyncio.sleep(0)
        with pytest.raises(SpeechUsageError, match="another task"):
            await listen(session, "Two.")
        first.cancel()
        await asyncio.wait({first})


# send and events


async def test_three_requests_at_once_are_answered_in_order() -> None:
    async with session_with() as session:
        ids = [await session.send(text) for text in ("One.", "Two.", "Three.")]
        session.finish()
        events = await rest(session)
    completed = [event.request_id for event in events if isinstance(event.event, SynthesisComplete)]
    assert completed == ids
    assert [heard(events, request_id) for request_id in ids] == ["One.", "Two.", "Three."]
    order = [event.request_id for event in events]
    assert order == sorted(order, key=lambda request_id: ids.index(str(request_id)))


async def test_events_begin_anew_after_a_finish() -> None:
    async with session_with() as session:
        for text in ("One.", "Two."):
            request_id = await session.send(text)
            session.finish()
            assert heard(await rest(session), request_id) == text


async def test_finish_with_nothing_sent_ends_events_at_once() -> None:
    async with session_with() as session:
        session.finish()
        assert await rest(session) == []


async def test_finish_wakes_a_reader_that_already_waits() -> None:
    async with session_with() as session:
        reading = asyncio.create_task(rest(session))
        request_id = await session.send("One.")
        await until(lambda: not session.in_flight)
        session.finish()
        assert heard(await reading, request_id) == "One."


async def test_sending_waits_while_too_many_requests_are_unanswered() -> None:
    release = asyncio.Event()

    async def answer_when_told(peer: Peer, message: Synthesize) -> None:
        await release.wait()
        await speak_out(peer, message)

    async with session_with(answer_when_told, max_in_flight=2) as session:
        await session.send("One.")
        await session.send("Two.")
        third = asyncio.create_task(session.send("Three."))
        await settle()
        assert not third.done()
        release.set()
        await third
        session.finish()
        events = await rest(session)
    assert len([event for event in events if isinstance(event.event, SynthesisComplete)]) == 3


async def test_a_send_that_is_cancelled_while_it_waits_for_room_takes_no_place() -> None:
    begin_reading = asyncio.Event()

    async def read_late(peer: MemoryPeer) -> None:
        await begin_reading.wait()
        await stand_in()(peer)

    transport = MemoryTransport(greets_then(read_late))
    async with SpeechSession.connect(transport, deadlines=SHORT, max_in_flight=1) as session:
        cancelling = asyncio.create_task(pour(cancel_for_ever(session), []))
        await settle()  # until there is no room for another message
        sending = asyncio.create_task(session.send("One."))
        await settle()
        for task in (cancelling, sending):
            assert not task.done()
            task.cancel()
            await asyncio.wait({task})
        begin_reading.set()
        assert session.in_flight == ()
        two = await session.send("Two.")
        session.finish()
        assert heard(await rest(session), two) == "Two."


async def cancel_for_ever(session: SpeechSession) -> AsyncIterator[None]:
    while True:
        await session.cancel()
        yield


async def test_an_error_of_one_request_is_an_event_among_the_others() -> None:
    async def refuse(peer: Peer, message: Synthesize) -> None:
        if message.text == "bad":
            await peer.send_event(ErrorEvent.of(ErrorCode.VOICE_UNKNOWN, "no such voice", message.request_id))
        else:
            await speak_out(peer, message)

    async with session_with(refuse) as session:
        ids = [await session.send(text) for text in ("bad", "good")]
        session.finish()
        events = await rest(session)
    assert isinstance(events[0].event, ErrorEvent)
    assert events[0].request_id == ids[0]
    assert heard(events, ids[1]) == "good"


async def test_cancelling_drops_the_audio_that_was_not_read_yet() -> None:
    async def on_cancel(peer: Peer, message: Cancel) -> None:
        await peer.send_event(SynthesisCancelled(message.request_id or "", "", "One.", 0.0))

    transport = MemoryTransport(stand_in(speak_out, on_cancel))
    async with SpeechSession.connect(transport, deadlines=SHORT) as session:
        first = await session.send("One.")
        await until(lambda: not session.in_flight)
        await session.cancel(first)
        second = await session.send("Two.")
        session.finish()
        events = await rest(session)
    assert heard(events, first) == ""
    assert heard(events, second) == "Two."
    assert [event.request_id for event in events if isinstance(event.event, SynthesisCancelled)] == [first]


async def test_cancelling_silences_a_request_whose_audio_fills_every_buffer() -> None:
    blocked = asyncio.Event()

    async def talk_on(peer: Peer, message: Synthesize) -> None:
        assert isinstance(peer, MemoryPeer)
        if message.text == "New.":
            await speak_out(peer, message)
            return
        await peer.send_event(starts(message))
        for _ in range(200):
            if peer.outbound.is_full:
                blocked.set()
            await peer.send(spell("old"))
        await peer.send_event(SynthesisCancelled(message.request_id or "", "", "Old.", 0.0))

    async with session_with(talk_on) as session:
        old = await session.send("Old.")
        await blocked.wait()
        await settle()
        await session.cancel(old)
        new = await session.send("New.")
        session.finish()
        events = await rest(session)
    assert heard(events, old) == ""
    assert heard(events, new) == "New."


async def test_cancelling_everything_silences_every_request() -> None:
    waiting: list[Synthesize] = []

    async def collect(peer: Peer, message: Synthesize) -> None:
        waiting.append(message)

    async def on_cancel(peer: Peer, message: Cancel) -> None:
        assert message.request_id is None
        await peer.send_event(starts(waiting[0]))
        await peer.send(spell("too late"))
        for request in waiting:
            await peer.send_event(SynthesisCancelled(request.request_id or "", "", request.text, 0.0))

    transport = MemoryTransport(stand_in(collect, on_cancel))
    async with SpeechSession.connect(transport, deadlines=SHORT) as session:
        ids = [await session.send(text) for text in ("One.", "Two.")]
        session.finish()
        await session.cancel()
        events = await rest(session)
    assert [event.request_id for event in events if isinstance(event.event, SynthesisCancelled)] == ids
    assert not [event for event in events if isinstance(event.event, Audio)]


@pytest.mark.parametrize("use", ["send", "events"])
async def test_send_and_events_refuse_to_mix_with_speak(use: str) -> None:
    async with session_with() as session, aclosing(session.speak("One.")) as speech:
        await anext(speech)
        with pytest.raises(SpeechUsageError, match="do not mix"):
            await (session.send("Two.") if use == "send" else rest(session))


async def test_speak_refuses_to_mix_with_requests_that_were_sent() -> None:
    async with session_with(never_answer) as session:
        await session.send("One.")
        with pytest.raises(SpeechUsageError, match="do not mix"):
            await anext(session.speak("Two."))


async def test_events_are_read_by_one_task_at_a_time() -> None:
    async with session_with(never_answer) as session:
        reading = asyncio.create_task(anext(session.events()))
        await settle()
        with pytest.raises(SpeechUsageError, match="one task at a time"):
            await anext(session.events())
        reading.cancel()
        await asyncio.wait({reading})


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


# Contexts


async def test_a_text_is_spoken_as_it_is_written() -> None:
    async with session_with() as session:
        context = await session.open_context(VoiceOptions(voice="bf_emma"))
        for token in ("Hello", " the", "re."):
            await context.write(token)
        await context.finish()
        session.finish()
        events = await rest(session)
    assert {event.request_id for event in events} == {context.id}
    assert isinstance(events[0].event, SynthesisStart)
    assert events[0].event.voice == "bf_emma"
    assert isinstance(events[-1].event, SynthesisComplete)
    assert heard(events, context.id) == "Hello there."


async def test_contexts_and_requests_are_answered_in_the_order_they_were_opened() -> None:
    async with session_with() as session:
        first = await session.open_context()
        second = await session.open_context()
        third = await session.send("Three.")
        await second.write("Two.")
        await second.finish()
        await first.write("One.")
        await first.finish()
        session.finish()
        events = await rest(session)
    ids = [event.request_id for event in events if isinstance(event.event, SynthesisStart)]
    assert ids == [first.id, second.id, third]
    assert [heard(events, request_id) for request_id in ids] == ["One.", "Two.", "Three."]


async def test_an_open_context_counts_as_a_request_in_flight() -> None:
    async with session_with(max_in_flight=1) as session:
        context = await session.open_context()
        assert session.in_flight == (context.id,)
        behind = asyncio.create_task(session.send("Behind."))
        await settle()
        assert not behind.done()
        await context.write("First.")
        await context.finish()
        await behind
        session.finish()
        assert heard(await rest(session), await behind) == "Behind."


async def test_a_cancelled_context_ends_and_takes_no_more_text() -> None:
    async with session_with() as session:
        context = await session.open_context()
        await context.write("Hello ")
        await session.cancel(context.id, played_s=0.5)
        with pytest.raises(SpeechRequestError, match="cancelled"):
            await context.write("there.")
        await context.finish()
        (event,) = await rest_after_finish(session)
        assert event == RequestEvent(context.id, SynthesisCancelled(context.id, "", "Hello ", 0.0))
        with pytest.raises(SpeechUsageError):
            await context.write("again")
        assert heard(await listen(session, "New.")) == "New."


async def test_a_context_that_the_server_ends_takes_no_more_text() -> None:
    async def refuse(peer: MemoryPeer) -> None:
        message = parse_message(await peer.receive() or "")
        assert isinstance(message, Text)
        await peer.send_event(ErrorEvent.of(ErrorCode.BUSY, "too many contexts", message.context_id))
        await forever()

    async with SpeechSession.connect(MemoryTransport(greets_then(refuse)), deadlines=SHORT) as session:
        context = await session.open_context()
        event = await anext(session.events())
        assert event.request_id == context.id
        with pytest.raises(SpeechRequestError) as caught:
            await context.write("Hello")
        assert (caught.value.code, caught.value.request_id) == ("cancelled", context.id)
        await context.finish()


async def test_text_is_sent_as_it_was_written_and_the_end_once() -> None:
    said: list[ClientMessage] = []

    async def note(peer: MemoryPeer) -> None:
        while (text := await peer.receive()) is not None:
            said.append(parse_message(text))

    async with SpeechSession.connect(MemoryTransport(greets_then(note)), deadlines=SHORT) as session:
        context = await session.open_context(VoiceOptions(speed=1.5))
        await context.write("Hi", cut=True)
        await context.write("")
        await context.finish()
        await context.finish()
        with pytest.raises(SpeechUsageError, match="finished"):
            await context.write("more")
        await until(lambda: len(said) == 4)
    assert said[:4] == [
        Text(context.id, "", options=VoiceOptions(speed=1.5)),
        Text(context.id, "Hi", cut=True),
        Text(context.id, ""),
        Text(context.id, "", flush=True),
    ]


async def test_contexts_do_not_mix_with_speak() -> None:
    async with session_with() as session:
        speech = session.speak("One.")
        await anext(speech)
        with pytest.raises(SpeechUsageError):
            await session.open_context()
        await speech.aclose()


async def test_no_deadline_runs_before_a_context_is_finished() -> None:
    async def never(peer: Peer, message: Synthesize) -> None:
        """The text is taken, and no audio comes of it."""

    async with session_with(never, deadlines=Deadlines(first_audio_s=SOON, silence_s=5, close_s=SOON)) as session:
        context = await session.open_context()
        await session.ping()
        waiting = asyncio.ensure_future(anext(session.events()))
        assert not (await asyncio.wait({waiting}, timeout=3 * SOON))[0]
        await context.finish()
        with pytest.raises(SpeechTimeoutError) as caught:
            await waiting
        assert caught.value.request_id == context.id


# What a frame is


@pytest.mark.parametrize("sound", [b'{"', b'{"a":1', b"{\0{\0", b'{"a":1}\0\0'])
async def test_audio_that_begins_like_an_object_is_heard(sound: bytes) -> None:
    async def speak(peer: Peer, message: Synthesize) -> None:
        await peer.send_event(starts(message))
        await peer.send(sound)
        await peer.send_event(completes(message))

    async with session_with(speak) as session:
        events = await listen(session, "One.")
    assert [event.data for event in events if isinstance(event, Audio)] == [sound]


async def test_control_in_fragments_is_joined_before_it_is_read() -> None:
    async def speak(peer: Peer, message: Synthesize) -> None:
        await peer.send_event(starts(message))
        fields = {"type": "error", "request_id": message.request_id, "code": "busy", "message": "schön 🎈 …"}
        *cuts, last = json.dumps(fields, ensure_ascii=False).encode()
        for byte in cuts:
            await peer.send(bytes([byte]), is_text=True, is_final=False)
        await peer.send(bytes([last]), is_text=True)

    async with session_with(speak) as session:
        with pytest.raises(SpeechRequestError) as caught:
            await listen(session, "One.")
    assert caught.value.message == "schön 🎈 …"


async def test_audio_in_fragments_is_one_piece() -> None:
    async def speak(peer: Peer, message: Synthesize) -> None:
        await peer.send_event(starts(message))
        await peer.send(b"{", is_final=False)
        await peer.send(b"}", is_final=False)
        await peer.send(b"\1\2")
        await peer.send_event(completes(message))

    async with session_with(speak) as session:
        events = await listen(session, "One.")
    assert [event.data for event in events if isinstance(event, Audio)] == [b"{}\1\2"]


@pytest.mark.parametrize(
    ("data", "is_text"),
    [(b"not json", True), (b'{"no": "type"}', True), (b'{"type": "synthesis_start"}', True), (b"\1\2", False)],
)
async def test_a_server_that_breaks_the_contract_ends_the_session(data: bytes, is_text: bool) -> None:
    async def speak(peer: Peer, message: Synthesize) -> None:
        await peer.send(data, is_text=is_text)

    async with session_with(speak) as session:
        with pytest.raises(SpeechProtocolError):
            await listen(session, "One.")
        with pytest.raises(SpeechProtocolError):
            await session.send("Two.")


async def test_a_message_without_end_ends_the_session() -> None:
    async def speak(peer: Peer, message: Synthesize) -> None:
        for _ in range(7):
            await peer.send(bytes(1024 * 1024), is_final=False)

    async with session_with(speak) as session:
        with pytest.raises(SpeechProtocolError, match="6291456"):
            await listen(session, "One.")


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
