from speech_client import MemoryTransport, spell, stand_in
from speech_client.transport import Connection
from speech_protocol import (
    Audio,
    Cancel,
    ServerEvent,
    SynthesisCancelled,
    SynthesisComplete,
    SynthesisStart,
    Synthesize,
    Text,
    VoiceOptions,
    classify,
    read_frame,
    render_message,
)


async def answers(connection: Connection, count: int) -> list[ServerEvent | Audio]:
    events = []
    for _ in range(count):
        message = await connection.receive()
        assert message is not None
        events.append(read_frame(classify(message.data, is_text=message.is_text)))
    return events


async def test_the_stand_in_keeps_the_contract() -> None:
    connection = await MemoryTransport(stand_in()).connect()
    await connection.send(render_message(Synthesize("Grüße 🎈", VoiceOptions(voice="bf_emma"), "r1")))
    begin, audio, end = await answers(connection, 3)
    assert begin == SynthesisStart("r1", "pcm", 24000, "bf_emma")
    assert audio == Audio(spell("Grüße 🎈"))
    assert isinstance(end, SynthesisComplete)
    assert end.audio_bytes == len(spell("Grüße 🎈"))
    for text, kind in (('{"type": "hello"}', "capabilities"), ('{"type": "ping"}', "pong")):
        await connection.send(text)
        (event,) = await answers(connection, 1)
        assert not isinstance(event, Audio)
        assert event.type == kind
    await connection.send('{"type": "cancel"}')  # too late, as always
    await connection.send('{"type": "close"}')
    (event,) = await answers(connection, 1)
    assert not isinstance(event, Audio)
    assert event.type == "session_closed"
    assert await connection.receive() is None
    await connection.close(1)


async def test_the_stand_in_speaks_contexts_in_the_order_of_their_first_messages() -> None:
    connection = await MemoryTransport(stand_in(), capacity=20).connect()
    for message in (Text("a", "One"), Text("b", "Never"), Text("c", "Three.", flush=True), Cancel(context_id="b")):
        await connection.send(render_message(message))
    assert await answers(connection, 1) == [SynthesisCancelled("b", "", "Never", 0.0)]
    await connection.send(render_message(Text("a", ".", flush=True)))
    audio = [event for event in await answers(connection, 6) if isinstance(event, Audio)]
    assert audio == [Audio(spell("One.")), Audio(spell("Three."))]
    await connection.close(0)
