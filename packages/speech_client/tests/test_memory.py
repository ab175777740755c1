import asyncio

import pytest
from speech_client import MemoryPeer, MemoryTransport, Message, SpeechProtocolError, SpeechSessionEnded
from speech_protocol import Hello, Ping, Pong, SessionClosed


async def test_messages_go_both_ways_until_the_server_returns() -> None:
    heard: list[object] = []

    async def serve(peer: MemoryPeer) -> None:
        async for message in peer.messages():
            heard.append(message)
            if isinstance(message, Ping):
                await peer.send_event(Pong("1"))
                await peer.send(b"\1\2", is_final=False)
                return

    transport = MemoryTransport(serve)
    connection = await transport.connect()
    assert transport.open_connections == 1
    await connection.send('{"type": "hello"}')
    await connection.send('{"type": "ping", "id": "1"}')
    assert await connection.receive() == Message(b'{"type": "pong", "id": "1"}', is_text=True)
    assert await connection.receive() == Message(b"\1\2", is_final=False)
    assert await connection.receive() is None
    await connection.close(1)
    await connection.close(1)
    assert heard == [Hello(), Ping("1")]
    assert transport.open_connections == 0


async def test_the_server_sees_the_client_close_and_may_say_a_last_word() -> None:
    async def serve(peer: MemoryPeer) -> None:
        assert await peer.receive() is None
        await peer.send_event(SessionClosed())

    connection = await MemoryTransport(serve).connect()
    closing = asyncio.create_task(connection.close(5))
    assert await connection.receive() == Message(b'{"type": "session_closed"}', is_text=True)
    assert await connection.receive() is None
    await closing


async def test_whoever_does_not_read_slows_the_other_down() -> None:
    sent = 0

    async def serve(peer: MemoryPeer) -> None:
        nonlocal sent
        for _ in range(10):
            await peer.send(b"\0\0")
            sent += 1

    connection = await MemoryTransport(serve, capacity=2).connect()
    for _ in range(50):
        await asyncio.sleep(0)
    assert sent == 2
    for _ in range(10):
        await connection.receive()
    assert sent == 10
    await connection.close(0)


async def test_a_broken_connection_raises_what_the_test_chose() -> None:
    async def serve(peer: MemoryPeer) -> None:
        await peer.fail(SpeechSessionEnded("gone", "1006"))

    connection = await MemoryTransport(serve).connect()
    with pytest.raises(SpeechSessionEnded, match="gone"):
        await connection.receive()
    await connection.close(0)


async def test_a_message_that_is_not_of_the_contract_fails_the_test_that_sent_it() -> None:
    async def serve(peer: MemoryPeer) -> None:
        [message async for message in peer.messages()]

    connection = await MemoryTransport(serve).connect()
    await connection.send("nonsense")
    assert await connection.receive() is None
    with pytest.raises(SpeechProtocolError, match="bad message"):
        await connection.close(0)
