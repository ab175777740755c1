"""A small speech server over anything that looks like a `MemoryPeer`, and what tests need to look inside a session's end."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest
from speech_client import MemoryPeer
from speech_protocol import (
    AudioFramer,
    Cancel,
    Capabilities,
    Close,
    Hello,
    Ping,
    Pong,
    SessionClosed,
    SynthesisComplete,
    SynthesisStart,
    Synthesize,
)

CAPABILITIES = Capabilities("1.0", "tone", ("af_heart",), ("en-us",), ("pcm",), (24000,), False, ("exact",), {})

Answer = Callable[[MemoryPeer, Synthesize], Awaitable[None]]
OnCancel = Callable[[MemoryPeer, Cancel], Awaitable[None]]


def audio_of(text: str) -> bytes:
    """The stand-in's speech: 16-bit samples that spell the text, so that every test can tell whose audio it hears."""
    return text.encode("utf-16-le")


def start(request_id: str | None) -> SynthesisStart:
    return SynthesisStart(request_id or "", "pcm", 24000, "af_heart")


def complete(request_id: str | None, audio_bytes: int = 0) -> SynthesisComplete:
    return SynthesisComplete(request_id or "", audio_bytes / 48000, 0.1, 0.0, 0.05, audio_bytes)


async def speak_out(peer: MemoryPeer, message: Synthesize) -> None:
    """Answer a request in full."""
    await peer.send_event(start(message.request_id))
    for frame in AudioFramer().feed(audio_of(message.text)):
        await peer.send(frame)
    await peer.send_event(complete(message.request_id, len(audio_of(message.text))))


async def ignore_cancel(peer: MemoryPeer, message: Cancel) -> None:
    """Nothing is left to cancel."""


def server(answer: Answer = speak_out, on_cancel: OnCancel = ignore_cancel) -> Callable[[MemoryPeer], Awaitable[None]]:
    """A server that greets, answers requests one after the other with `answer`, and says goodbye."""

    async def serve(peer: MemoryPeer) -> None:
        async for message in peer.messages():
            match message:
                case Hello():
                    await peer.send_event(CAPABILITIES)
                case Ping(id=ping_id):
                    await peer.send_event(Pong(ping_id))
                case Synthesize():
                    await answer(peer, message)
                case Cancel():
                    await on_cancel(peer, message)
                case Close():
                    await peer.send_event(SessionClosed())
                    return

    return serve


async def forever() -> None:
    """Until cancelled."""
    await asyncio.get_running_loop().create_future()


@pytest.fixture(autouse=True)
async def nothing_is_left() -> AsyncIterator[None]:
    """Every test ends with the tasks it began with, and nothing has gone wrong behind its back."""
    before = asyncio.all_tasks()
    trouble: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: trouble.append(context))
    yield
    assert asyncio.all_tasks() == before
    assert trouble == []


@pytest.fixture
def no_aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Iterator[None]:
    """A machine without any AWS configuration, credentials or metadata service."""
    import os

    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    yield
