"""A session ends alike over both transports: by its server, for want of an answer, or wherever it is cancelled."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
from local_cloud.certificates import Certificates
from speech_client import (
    Deadlines,
    Peer,
    SpeechError,
    SpeechSession,
    SpeechSessionEnded,
    SpeechTimeoutError,
    spell,
    stand_in,
    starts,
)
from speech_protocol import ClientMessage, KnownEvent, SessionClosed, Synthesize

from tests.contract.transports.conftest import PATIENT, SOON, WebSocketPeer, listen, opened, rest, session_to, speech

# How it ends


@pytest.mark.parametrize("code", [1000, 1001, 1011])
async def test_a_server_that_closes_is_an_error(kind: str, certificates: Certificates, code: int) -> None:
    async def close(peer: Peer, message: Synthesize) -> None:
        assert isinstance(peer, WebSocketPeer)
        await peer.send_event(starts(message))
        await peer.socket.close(code)

    async with session_to(kind, certificates, stand_in(close)) as session:
        with pytest.raises(SpeechSessionEnded, match="open a new session"):
            await listen(session, "x")


async def test_a_server_that_drops_the_connection_is_an_error(kind: str, certificates: Certificates) -> None:
    async def drop(peer: Peer, message: Synthesize) -> None:
        assert isinstance(peer, WebSocketPeer)
        peer.socket.transport.abort()

    async with session_to(kind, certificates, stand_in(drop)) as session:
        with pytest.raises(SpeechSessionEnded) as caught:
            await listen(session, "x")
        assert caught.value.code == "1006"


async def test_a_goodbye_that_nobody_asked_for_is_an_error(kind: str, certificates: Certificates) -> None:
    async def leave(peer: Peer, message: Synthesize) -> None:
        await peer.send_event(SessionClosed())

    async with session_to(kind, certificates, stand_in(leave)) as session:
        with pytest.raises(SpeechSessionEnded, match="closed the session"):
            await listen(session, "x")


async def test_silence_is_an_error(kind: str, certificates: Certificates) -> None:
    async def falter(peer: Peer, message: Synthesize) -> None:
        if message.text == "half":
            await peer.send_event(starts(message))
            await peer.send(spell("ha"))

    for text, waiting_for, deadlines in (
        ("half", "next frame", Deadlines(silence_s=SOON, close_s=SOON)),
        ("none", "first audio", Deadlines(first_audio_s=SOON, close_s=SOON)),
    ):
        async with session_to(kind, certificates, stand_in(falter), deadlines) as session:
            with pytest.raises(SpeechTimeoutError) as caught:
                await listen(session, text)
            assert caught.value.waiting_for == waiting_for


async def test_a_server_that_does_not_greet_is_given_up(kind: str, certificates: Certificates) -> None:
    async def listen_only(peer: WebSocketPeer) -> None:
        async for _ in peer.messages():
            pass

    async with speech(kind, certificates, listen_only) as running:
        with pytest.raises(SpeechTimeoutError) as caught:
            await opened(running.transport(), Deadlines(connect_s=SOON))
        assert caught.value.waiting_for == "connection"
        await running.left_alone()


async def test_a_server_that_ignores_the_goodbye_is_left(kind: str, certificates: Certificates) -> None:
    async def no_goodbye(peer: WebSocketPeer) -> None:
        async for message in peer.messages():
            if type(message).__name__ == "Hello":
                await stand_in()(_Once(peer, message))

    async with session_to(kind, certificates, no_goodbye, Deadlines(close_s=SOON)):
        pass


@dataclass
class _Once:
    """A peer that says one thing."""

    peer: WebSocketPeer
    message: ClientMessage

    async def messages(self) -> AsyncIterator[ClientMessage]:
        yield self.message

    async def send(self, data: bytes, *, is_text: bool = False, is_final: bool = True) -> None:
        await self.peer.send(data, is_text=is_text, is_final=is_final)

    async def send_event(self, event: KnownEvent) -> None:
        await self.peer.send_event(event)


# Cancellation


@pytest.mark.slow
async def test_cancelling_anywhere_leaves_no_task_and_no_connection(kind: str, certificates: Certificates) -> None:
    async with speech(kind, certificates) as running:
        transport = running.transport()

        async def live() -> None:
            async with SpeechSession.connect(transport, deadlines=PATIENT) as session:
                await session.ping()
                await listen(session, "One.")
                for text in ("Two.", "Three."):
                    await session.send(text)
                session.finish()
                await rest(session)

        async def steps_of(task: "asyncio.Task[None]", at_most: int) -> int:
            for step in range(at_most):
                if task.done():
                    return step
                await asyncio.sleep(0)
            return at_most

        whole = asyncio.create_task(live())
        steps = await steps_of(whole, 10**9)
        await whole
        cuts = 0
        for cut in range(200):
            task = asyncio.create_task(live())
            taken = await steps_of(task, steps * cut // 200)
            if task.done():  # quicker than those before
                steps = taken
            task.cancel()
            await asyncio.wait({task})
            cuts += task.cancelled()
            if not task.cancelled():
                assert not isinstance(task.exception(), SpeechError)
            left = [found for found in asyncio.all_tasks() if "speech_client" in repr(found.get_coro())]
            assert left == []
        assert cuts > 100
        await running.left_alone()
