"""What a frame of the server is: audio, an event, a piece of either, or a breach of the contract."""

import json

import pytest
from speech_client import Audio, Peer, SpeechProtocolError, SpeechRequestError, completes, starts
from speech_protocol import Synthesize

from packages.speech_client.tests.sessions import listen, session_with


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
