"""Requests that are sent ahead, with `send`, and read from `events`: order, attribution, cancels."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest
from speech_client import (
    Audio,
    ErrorEvent,
    MemoryPeer,
    MemoryTransport,
    Peer,
    SpeechSession,
    SpeechUsageError,
    SynthesisCancelled,
    SynthesisComplete,
    speak_out,
    spell,
    stand_in,
    starts,
)
from speech_protocol import Cancel, ErrorCode, Synthesize

from packages.speech_client.tests.sessions import (
    SHORT,
    greets_then,
    heard,
    never_answer,
    pour,
    rest,
    session_with,
    settle,
    until,
)


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
