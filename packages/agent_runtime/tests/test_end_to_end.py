"""The agent on the local cloud's Bedrock plane, which checks signatures and fails as Bedrock does."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Sequence

import pytest
from agent_runtime.bidi import run_bidi
from agent_runtime.events import AgentErrorEvent, AgentEvent, AudioChunk
from agent_runtime.model import BedrockWriter
from agent_runtime.request import AgentRequest
from agent_runtime.turn import Services
from local_cloud.bedrock import Bedrock
from local_cloud.language_model import Conversation
from local_cloud.signatures import Credentials

from packages.agent_runtime.tests.conftest import (
    audio_of,
    collect,
    conversation_with,
    make_settings,
    text_of,
    types_of,
    within,
)
from packages.agent_runtime.tests.scripted_voice import ScriptedVoice, sound_of

ASK = AgentRequest("Why?")
FIRST, SECOND = "The sky is blue.", "The sea is green."


class Reciter:
    """A language model that says its pieces, and knows what it was asked and when it was stopped."""

    def __init__(self, *pieces: str | asyncio.Event) -> None:
        self.pieces: Sequence[str | asyncio.Event] = pieces
        self.conversations: list[Conversation] = []
        self.ended = asyncio.Event()

    async def stream(self, conversation: Conversation) -> AsyncGenerator[str]:
        self.conversations.append(conversation)
        try:
            for piece in self.pieces:
                if isinstance(piece, asyncio.Event):
                    await piece.wait()
                else:
                    yield piece
        finally:
            self.ended.set()

    async def prepare(self) -> None:
        """Nothing to load."""

    async def close(self) -> None:
        """Nothing to give back."""


@contextlib.asynccontextmanager
async def plane(model: Reciter, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Bedrock, BedrockWriter]]:
    """Bedrock with `model` behind it, and a writer that has its credentials."""
    credentials = Credentials.generate()
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", credentials.access_key_id)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", credentials.secret_access_key)
    async with Bedrock(model, credentials=credentials) as bedrock:
        yield bedrock, BedrockWriter(make_settings(bedrock.url, tools=()), retry_delay_s=0.001)


def ask(writer: BedrockWriter, voice: ScriptedVoice) -> AsyncGenerator[AgentEvent]:
    return run_bidi(ASK, conversation_with(voice), Services(writer.write)).events()


async def test_a_prompt_becomes_text_and_speech(monkeypatch: pytest.MonkeyPatch) -> None:
    model, voice = Reciter("The sky", " is blue. The sea", " is green."), ScriptedVoice()
    async with plane(model, monkeypatch) as (_, writer):
        events = await collect(ask(writer, voice))
    assert [turn.text for turn in model.conversations[0].turns] == ["Why?"]
    assert text_of(events) == f"{FIRST} {SECOND}"
    assert audio_of(events) == sound_of(FIRST) + sound_of(SECOND)
    assert events[-1].type == "agent_end"


async def test_a_throttle_before_the_first_token_is_not_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    async with plane(Reciter(FIRST), monkeypatch) as (bedrock, writer):
        bedrock.faults.throttle_requests = 2
        events = await collect(ask(writer, ScriptedVoice()))
        assert bedrock.requests == 3
    assert text_of(events) == FIRST
    assert events[-1].type == "agent_end"


async def test_a_failure_after_the_first_token_is_one_error_after_the_audio(monkeypatch: pytest.MonkeyPatch) -> None:
    async with plane(Reciter(f"{FIRST} The", " sea"), monkeypatch) as (bedrock, writer):
        bedrock.faults.fail_after_tokens = 1
        events = await collect(ask(writer, ScriptedVoice()))
        assert bedrock.requests == 1
    assert audio_of(events) == sound_of(FIRST)
    assert types_of(events)[-2:] == ["audio_stream_end", "error"]
    assert [event.code for event in events if isinstance(event, AgentErrorEvent)] == ["model_failed"]


async def test_an_empty_answer_ends_clearly(monkeypatch: pytest.MonkeyPatch) -> None:
    async with plane(Reciter(), monkeypatch) as (_, writer):
        events = await collect(ask(writer, ScriptedVoice()))
    assert types_of(events) == ["agent_start", "agent_end"]


async def test_hanging_up_stops_the_model_behind_bedrock(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Reciter(f"{FIRST} The", asyncio.Event())
    async with plane(model, monkeypatch) as (bedrock, writer):
        for _ in range(10):
            voice = ScriptedVoice(hold={FIRST: asyncio.Event()})
            events = ask(writer, voice)
            async for event in events:
                if isinstance(event, AudioChunk):
                    break
            await within(events.aclose())
            await within(model.ended.wait())
            model.ended.clear()
            assert voice.closed.is_set()
            assert bedrock.active == 0
