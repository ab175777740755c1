"""Scripted services around the agent (see `scripted_bedrock`, `scripted_voice`), text sources, and collected events."""

import asyncio
import itertools
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from agent_runtime.bidi import run_bidi
from agent_runtime.conversation import Conversation
from agent_runtime.events import AgentEvent, AudioChunk, TextDelta
from agent_runtime.memory import Memory, Remark
from agent_runtime.request import AgentRequest
from agent_runtime.settings import Settings
from agent_runtime.turn import Services
from agent_runtime.voice import Timing
from agent_runtime.writer import Pause

from packages.agent_runtime.tests.scripted_bedrock import PATIENCE_S, ScriptedBedrock
from packages.agent_runtime.tests.scripted_voice import ScriptedVoice

ASK = AgentRequest("Say something.")
FIRST, SECOND, THIRD = "The sky is blue.", "The sea is green.", "Nobody knows why."
DELTAS = ["The sky", " is blue. The", " sea is green. Nobody", " knows why."]


@pytest.fixture
async def bedrock(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ScriptedBedrock]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    server = ScriptedBedrock()
    await server.start()
    yield server
    await server.stop()


def make_settings(bedrock_url: str | None = None, **changes: Any) -> Settings:
    """Settings of an agent with a voice that is never reached, unless `changes` say otherwise."""
    values: dict[str, Any] = {
        "region": "us-east-1",
        "bedrock_model_id": "amazon.test-model-v1:0",
        "speech_websocket_url": "ws://127.0.0.1:9",
        "bedrock_endpoint_url": bedrock_url,
    }
    return Settings(**values | changes)


@dataclass
class ScriptedText:
    """A model without a model: yields its deltas, waits at events, raises what is raised. Knows when it was closed."""

    steps: Sequence[str | Pause | asyncio.Event | Exception]
    conversations: list[Sequence[Remark]] = field(default_factory=list)
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    taken: int = 0

    @property
    def prompts(self) -> list[str]:
        return [remarks[-1].text for remarks in self.conversations]

    async def write(self, remarks: Sequence[Remark]) -> AsyncGenerator[str | Pause]:
        self.conversations.append(remarks)
        try:
            for step in self.steps:
                match step:
                    case asyncio.Event():
                        await step.wait()
                    case Exception():
                        raise step
                    case _:
                        self.taken += 1
                        yield step
        finally:
            self.closed.set()


async def collect(events: AsyncGenerator[AgentEvent]) -> list[AgentEvent]:
    """All events, within a bound."""
    async with asyncio.timeout(PATIENCE_S):
        return [event async for event in events]


async def within[T](awaitable: Awaitable[T]) -> T:
    """The result, within a bound."""
    async with asyncio.timeout(PATIENCE_S):
        return await awaitable


def services(
    text: ScriptedText,
    queued_events: int = 64,
    clock: Callable[[], float] = time.monotonic,
    alive_s: float = 20.0,
) -> Services:
    return Services(text.write, clock, queued_events, Timing(retry_s=0.001, alive_s=alive_s))


def conversation_with(voice: ScriptedVoice, exchanges: int = 20) -> Conversation:
    return Conversation(Memory(exchanges), voice.kept())


def ask_bidi(
    text: ScriptedText, voice: ScriptedVoice, request: AgentRequest = ASK, **options: Any
) -> AsyncGenerator[AgentEvent]:
    """The events of one answer in a conversation of its own."""
    return run_bidi(request, conversation_with(voice), services(text, **options), request_id="turn-1").events()


def audio_of(events: Sequence[AgentEvent]) -> bytes:
    return b"".join(event.data for event in events if isinstance(event, AudioChunk))


def text_of(events: Sequence[AgentEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def types_of(events: Sequence[AgentEvent]) -> list[str]:
    """The types in order, runs of one type as one."""
    return [event_type for event_type, _ in itertools.groupby(event.type for event in events)]


def last_of[E](events: Sequence[AgentEvent], kind: type[E]) -> E:
    """The only event of its kind, which ends the stream."""
    assert [event for event in events if isinstance(event, kind)] == [events[-1]]
    assert isinstance(events[-1], kind)
    return events[-1]
