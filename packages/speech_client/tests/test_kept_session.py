"""One session for many uses: when it is kept, when it is replaced, and that nothing of it is left."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest
from speech_client import (
    STAND_IN_CAPABILITIES,
    Deadlines,
    Keeping,
    KeptSession,
    MemoryPeer,
    MemoryTransport,
    SpeechSession,
    SpeechSessionEnded,
    SpeechTimeoutError,
    SpeechUnreachableError,
    SpeechUsageError,
    SynthesisComplete,
    stand_in,
)
from speech_client.memory import MemoryConnection
from speech_protocol import Hello, Ping

from packages.speech_client.tests.sessions import SHORT, until


@dataclass
class Clock:
    now_s: float = 0.0

    def __call__(self) -> float:
        return self.now_s


@dataclass
class Server:
    """Stand-ins on a transport that remembers its connections."""

    serve: Callable[[MemoryPeer], Awaitable[None]] = field(default_factory=stand_in)
    peers: list[MemoryPeer] = field(default_factory=list)
    ended: int = 0

    def transport(self) -> MemoryTransport:
        async def remember(peer: MemoryPeer) -> None:
            self.peers.append(peer)
            try:
                await self.serve(peer)
            finally:
                self.ended += 1

        return MemoryTransport(remember)


def kept(server: Server, clock: Clock | None = None, **keeping: float) -> tuple[KeptSession, MemoryTransport]:
    transport = server.transport()
    return KeptSession(transport, deadlines=SHORT, keeping=Keeping(**keeping), clock=clock or Clock()), transport


async def say(session: SpeechSession, text: str) -> bool:
    """Whether `text` is spoken to its end."""
    return isinstance([event async for event in session.speak(text)][-1], SynthesisComplete)


async def test_uses_one_after_the_other_share_one_session() -> None:
    server = Server()
    keeper, transport = kept(server)
    for _ in range(3):
        async with keeper.use() as session:
            assert await say(session, "Hello.")
    assert (len(server.peers), transport.open_connections) == (1, 1)
    await keeper.close()
    assert transport.open_connections == 0


async def test_a_conversation_of_35_minutes_is_moved_between_two_uses_before_the_platform_ends_it() -> None:
    server, clock = Server(), Clock()
    keeper, transport = kept(server, clock)
    ages_s: list[float] = []
    opened_s = 0.0
    for minute in range(36):
        clock.now_s = minute * 60.0
        before = len(server.peers)
        async with keeper.use() as session:
            if len(server.peers) > before:
                opened_s = clock.now_s
            ages_s.append(clock.now_s - opened_s)
            assert await say(session, "Hello.")
    assert len(server.peers) == 2
    assert max(ages_s) < 25 * 60
    await until(lambda: server.ended == 1)
    await keeper.close()
    assert transport.open_connections == 0


async def test_a_use_that_goes_on_for_long_is_told_in_time() -> None:
    clock = Clock()
    keeper, _ = kept(Server(), clock)
    due = []
    for now_s in (0.0, 27 * 60.0):
        async with keeper.use():
            due.append(keeper.is_due)
            clock.now_s = now_s + 26 * 60.0
            due.append(keeper.is_due)
            clock.now_s = now_s + 27 * 60.0
            due.append(keeper.is_due)
    assert due == [False, False, True] * 2
    await keeper.close()


async def test_a_session_that_died_meanwhile_is_replaced_without_a_word() -> None:
    server = Server()
    keeper, _ = kept(server)
    async with keeper.use() as session:
        await server.peers[0].fail(SpeechSessionEnded("the server restarts", "1012"))
        await until(lambda: not session.is_open)
    async with keeper.use() as session:
        assert await say(session, "Hello.")
    assert len(server.peers) == 2
    await keeper.close()


async def test_a_session_that_no_longer_answers_is_replaced() -> None:
    mute = asyncio.Event()

    async def fall_silent(peer: MemoryPeer) -> None:
        async for message in peer.messages():
            if isinstance(message, Ping) and not mute.is_set():
                mute.set()
            elif isinstance(message, Hello):
                await peer.send_event(STAND_IN_CAPABILITIES)

    server = Server(fall_silent)
    keeper, _ = kept(server, answer_s=0.01)
    async with keeper.use() as first:
        pass
    async with keeper.use() as second:
        assert second is not first
    await until(lambda: not first.is_open)
    assert len(server.peers) == 2
    await keeper.close()


async def test_a_use_that_ends_badly_drops_its_session() -> None:
    server = Server()
    keeper, transport = kept(server)
    with pytest.raises(ZeroDivisionError):
        async with keeper.use():
            raise ZeroDivisionError
    assert transport.open_connections == 0
    async with keeper.use() as session:
        assert await say(session, "Hello.")
    await keeper.close()


async def test_a_cancelled_use_drops_its_session_at_once() -> None:
    keeper, transport = kept(Server())
    began = asyncio.Event()

    async def use() -> None:
        async with keeper.use():
            began.set()
            await asyncio.Event().wait()

    using = asyncio.create_task(use())
    await began.wait()
    using.cancel()
    await asyncio.wait({using})
    assert transport.open_connections == 0


async def test_a_use_that_is_cancelled_while_it_looks_whether_the_session_lives_drops_it() -> None:
    asked = asyncio.Event()

    async def greet_only(peer: MemoryPeer) -> None:
        async for message in peer.messages():
            if isinstance(message, Hello):
                await peer.send_event(STAND_IN_CAPABILITIES)
            elif isinstance(message, Ping):
                asked.set()

    keeper, transport = kept(Server(greet_only), answer_s=3600)
    async with keeper.use():
        pass

    async def use() -> None:
        async with keeper.use():
            raise AssertionError("nobody answers")

    using = asyncio.create_task(use())
    await asked.wait()
    using.cancel()
    await asyncio.wait({using})
    assert using.cancelled()
    assert transport.open_connections == 0


async def test_a_session_that_is_not_used_is_closed() -> None:
    server = Server()
    keeper, transport = kept(server, idle_s=0.01)
    async with keeper.use():
        pass
    async with asyncio.timeout(5):
        while transport.open_connections:  # noqa: ASYNC110 - a timer's end is told to nobody
            await asyncio.sleep(0.005)
    async with keeper.use() as session:
        assert await say(session, "Hello.")
    assert len(server.peers) == 2
    await keeper.close()


async def test_two_uses_at_once_are_a_mistake() -> None:
    keeper, _ = kept(Server())
    async with keeper.use():
        with pytest.raises(SpeechUsageError, match="in use"):
            async with keeper.use():
                pass
    await keeper.close()


async def test_what_keeps_a_session_from_opening_is_raised_and_a_later_use_tries_again() -> None:
    class OnceUnreachable(MemoryTransport):
        refusals = 1

        async def connect(self) -> MemoryConnection:
            if self.refusals:
                self.refusals -= 1
                raise SpeechUnreachableError("nothing answers")
            return await super().connect()

    keeper = KeptSession(OnceUnreachable(stand_in()), deadlines=SHORT)
    with pytest.raises(SpeechUnreachableError):
        async with keeper.use():
            pass
    async with keeper.use() as session:
        assert await say(session, "Hello.")
    await keeper.close()


async def test_a_server_that_never_greets_is_given_up() -> None:
    async def listen_only(peer: MemoryPeer) -> None:
        async for _ in peer.messages():
            pass

    transport = MemoryTransport(listen_only)
    keeper = KeptSession(transport, deadlines=Deadlines(connect_s=0.01))
    with pytest.raises(SpeechTimeoutError):
        async with keeper.use():
            pass
    assert transport.open_connections == 0


async def test_closing_what_was_never_opened_is_nothing() -> None:
    keeper, _ = kept(Server())
    await keeper.close()
    await keeper.close()
