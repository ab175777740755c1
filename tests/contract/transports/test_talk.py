"""What is said and heard, and at which pace, is the same over both transports."""

import asyncio
import json
from contextlib import aclosing

import pytest
from local_cloud.certificates import Certificates
from speech_client import (
    Audio,
    Deadlines,
    ErrorEvent,
    Peer,
    SpeechRequestError,
    SpeechSession,
    SynthesisCancelled,
    SynthesisComplete,
    completes,
    speak_out,
    spell,
    stand_in,
    starts,
)
from speech_protocol import AudioFramer, Cancel, Synthesize

from tests.contract.transports.conftest import PATIENT, SOON, listen, rest, session_to, sound, speech

# What is said and heard


async def test_a_session_speaks_one_text_after_the_other(kind: str, certificates: Certificates) -> None:
    async with session_to(kind, certificates) as session:
        for text in ("Hello there.", "Ünïcödé 🎈 too.", "x" * 10_000):
            assert sound(await listen(session, text)) == spell(text)
        assert (await session.hello()).engine == "stand-in"
        await session.ping()


async def test_a_text_is_spoken_as_it_is_written(kind: str, certificates: Certificates) -> None:
    async with session_to(kind, certificates) as session:
        context = await session.open_context()
        behind = await session.send("Behind.")
        for token in ("Grü", "ße, ", "🎈 and all."):
            await context.write(token)
        await context.finish()
        session.finish()
        events = await rest(session)
    spoken = {
        request_id: sound([e for e in events if e.request_id == request_id]) for request_id in (context.id, behind)
    }
    assert spoken == {context.id: spell("Grüße, 🎈 and all."), behind: spell("Behind.")}
    assert events[0].request_id == context.id


async def test_pipelined_requests_are_answered_in_order(kind: str, certificates: Certificates) -> None:
    texts = [f"Sentence number {number}. " * 200 for number in range(20)]
    async with session_to(kind, certificates) as session:

        async def send_all() -> list[str]:
            ids = [await session.send(text) for text in texts]
            session.finish()
            return ids

        sending = asyncio.create_task(send_all())
        events = await rest(session)
        ids = await sending
    for request_id, text in zip(ids, texts, strict=True):
        assert sound([event for event in events if event.request_id == request_id]) == spell(text)
    assert [event.request_id for event in events if isinstance(event.event, SynthesisComplete)] == ids


@pytest.mark.parametrize("pcm", [b"{" + bytes(999), b'{"a":1} ', b' {"a": {}}\n\n', b"{}", b'{"a":1}' * 2])
async def test_audio_that_could_be_an_object_stays_audio(kind: str, certificates: Certificates, pcm: bytes) -> None:
    frames: list[bytes] = []

    async def speak(peer: Peer, message: Synthesize) -> None:
        framer = AudioFramer()
        frames[:] = framer.feed(pcm) + framer.flush()
        await peer.send_event(starts(message))
        for frame in frames:
            await peer.send(frame)
        await peer.send_event(completes(message))

    async with session_to(kind, certificates, stand_in(speak)) as session:
        assert sound(await listen(session, "x")) == b"".join(frames)
    assert len(b"".join(frames)) == len(pcm)


async def test_control_cut_inside_a_character_is_joined(kind: str, certificates: Certificates) -> None:
    async def refuse(peer: Peer, message: Synthesize) -> None:
        fields = {"type": "error", "request_id": message.request_id, "code": "busy", "message": "später 🎈 …"}
        *cuts, last = json.dumps(fields, ensure_ascii=False).encode()
        for byte in cuts:
            await peer.send(bytes([byte]), is_text=True, is_final=False)
        await peer.send(bytes([last]), is_text=True)

    async with session_to(kind, certificates, stand_in(refuse)) as session:
        with pytest.raises(SpeechRequestError) as caught:
            await listen(session, "x")
        assert caught.value.message == "später 🎈 …"
        await session.ping()


async def test_audio_in_fragments_is_joined_and_never_taken_for_control(kind: str, certificates: Certificates) -> None:
    async def speak(peer: Peer, message: Synthesize) -> None:
        await peer.send_event(starts(message))
        for piece in (b'{"a":1', b"}", b"\0\0"):
            await peer.send(piece, is_final=piece == b"\0\0")
        await peer.send_event(completes(message))

    async with session_to(kind, certificates, stand_in(speak)) as session:
        events = await listen(session, "x")
    assert [event.data for event in events if isinstance(event, Audio)] == [b'{"a":1}\0\0']


async def test_a_cancelled_request_ends_and_the_session_goes_on(kind: str, certificates: Certificates) -> None:
    async def begin(peer: Peer, message: Synthesize) -> None:
        if message.text == "Old.":
            await peer.send_event(starts(message))
            await peer.send(spell("Ol"))
        else:
            await speak_out(peer, message)

    async def on_cancel(peer: Peer, message: Cancel) -> None:
        await peer.send_event(SynthesisCancelled(message.request_id or "", "Ol", "d.", 0.1))

    async with session_to(kind, certificates, stand_in(begin, on_cancel)) as session:
        old = await session.send("Old.")
        async with aclosing(session.events()) as events:
            async for item in events:
                if isinstance(item.event, Audio):
                    await session.cancel(old, played_s=0.1)
                if isinstance(item.event, SynthesisCancelled):
                    break
        assert sound(await listen(session, "New.")) == spell("New.")


async def test_an_error_of_one_request_leaves_the_others_alone(kind: str, certificates: Certificates) -> None:
    async def speak(peer: Peer, message: Synthesize) -> None:
        if message.text == "bad":
            await peer.send_event(ErrorEvent(message.request_id, "busy", "later", retryable=True, retry_after_s=1.5))
        else:
            await speak_out(peer, message)

    async with session_to(kind, certificates, stand_in(speak)) as session:
        with pytest.raises(SpeechRequestError) as caught:
            await listen(session, "bad")
        assert (caught.value.code, caught.value.retry_after_s) == ("busy", 1.5)
        assert sound(await listen(session, "good")) == spell("good")


async def test_many_sessions_at_once_hear_their_own_texts(kind: str, certificates: Certificates) -> None:
    async with speech(kind, certificates) as running:

        async def talk(number: int) -> bytes:
            async with SpeechSession.connect(running.transport(), deadlines=PATIENT) as session:
                return sound(await listen(session, f"This is number {number}."))

        heard = await asyncio.gather(*map(talk, range(16)))
        assert heard == [spell(f"This is number {number}.") for number in range(16)]
        await running.left_alone()


# Pace


async def test_a_caller_that_does_not_read_stops_the_server(kind: str, certificates: Certificates) -> None:
    frame_bytes, enough = 16 * 1024, 2048  # 32 MiB: more than all buffers on the way, the kernel's among them
    sent = 0
    settled, going_on = asyncio.Event(), asyncio.Event()

    async def talk(peer: Peer, message: Synthesize) -> None:
        nonlocal sent
        await peer.send_event(starts(message))
        while sent < enough:
            sending = asyncio.ensure_future(peer.send(bytes(frame_bytes)))
            try:
                if not (await asyncio.wait({sending}, timeout=2))[0]:
                    settled.set()
                await sending
            finally:
                sending.cancel()
            sent += 1
            if settled.is_set():
                going_on.set()
        settled.set()

    async with speech(kind, certificates, stand_in(talk)) as running:
        deadlines = Deadlines(close_s=SOON)  # leaves in the middle of the answer
        async with SpeechSession.connect(running.transport(), deadlines=deadlines) as session:
            await session.send("x")
            await settled.wait()
            assert sent < enough
            async with aclosing(session.events()) as events:
                while not going_on.is_set():
                    await anext(events)
        await running.left_alone()
