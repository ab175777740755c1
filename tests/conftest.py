"""Whole stacks for the tests that cross packages: one for a module, with the beeps or with Kokoro.

`VOICE_TEST_SPEECH_URL` puts them in front of a speech server that runs already, with the engine that the tests want: so
`make test-images` passes the contract to a container.
"""

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import pytest_asyncio
from local_cloud.script_model import ScriptModel
from local_cloud.stack import LocalStack, StackSettings

SCRIPT = "Hello there. This is a streamed answer, not a prepared recording. It has three sentences."


@contextmanager
def silent_step(_what: str) -> Iterator[None]:
    """Nobody watches the tests' stacks start."""
    yield


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def tone_stack(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LocalStack]:
    """Everything, with beeps for a voice and a script of 40 tokens a second for a language model."""
    async with start(tmp_path_factory.mktemp("logs"), "tone", ScriptModel(SCRIPT, 40)) as stack:
        yield stack


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def kokoro_stack(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LocalStack]:
    """The real voice, without an agent."""
    async with start(tmp_path_factory.mktemp("logs"), "auto", None) as stack:
        yield stack


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def torch_stack(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LocalStack]:
    """The real voice on kokoro's own modules, without an agent."""
    async with start(tmp_path_factory.mktemp("logs"), "torch", None) as stack:
        yield stack


def start(logs: Path, engine: str, model: ScriptModel | None) -> LocalStack:
    """A stack to be entered."""
    served = os.environ.get("VOICE_TEST_SPEECH_URL")
    return LocalStack(StackSettings(model=model, engine=engine, logs=logs, speech_url=served), silent_step)
