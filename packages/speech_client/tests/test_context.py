"""Text that is spoken as it is written."""

import asyncio

import pytest
from speech_client import (
    Deadlines,
    ErrorEvent,
    MemoryPeer,
    MemoryTransport,
    Peer,
    RequestEvent,
    SpeechRequestError,
    SpeechSession,
    SpeechTimeoutError,
    SpeechUsageError,
    SynthesisCancelled,
    SynthesisComplete,
    SynthesisStart,
    VoiceOptions,
)
from speech_protocol import ClientMessage, ErrorCode, Synthesize, Text, parse_message

from packages.speech_client.tests.sessions import (
    SHORT,
    SOON,
    forever,
    greets_then,
    heard,
    listen,
    rest,
    rest_after_finish,
    session_with,
    settle,
    until,
)


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
