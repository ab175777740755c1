"""One text spoken to its end, with `speak`, and what may come between."""

import asyncio
from contextlib import aclosing

import pytest
from speech_client import (
    Audio,
    ErrorEvent,
    MemoryTransport,
    Peer,
    SpeechEvent,
    SpeechRequestError,
    SpeechSession,
    SpeechUsageError,
    SynthesisCancelled,
    SynthesisComplete,
    SynthesisStart,
    VoiceOptions,
    speak_out,
    spell,
    stand_in,
    starts,
)
from speech_protocol import Cancel, ErrorCode, Synthesize

from packages.speech_client.tests.sessions import SHORT, heard, listen, never_answer, session_with, until


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
