"""The packaged model itself, where it can run: what it says, that it stops, and how its file is made."""

import asyncio
import importlib.util
import re
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest
from local_cloud.errors import ModelUnavailable
from local_cloud.language_model import Conversation, Turn
from local_cloud.llama_model import HANDOVER_TOKENS, LlamaModel, assemble_model

from packages.local_cloud.tests.conftest import eventually, soon

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not LlamaModel().available()[0], reason="local-cloud[llama] is not installed"),
]


SKY = "Why is the sky blue?"


def asked(question: str) -> Conversation:
    return Conversation("You are helpful.", (Turn("user", question),))


@pytest.fixture(scope="module")
def model() -> Iterator[LlamaModel]:
    made = LlamaModel()
    asyncio.run(made.prepare())
    yield made
    asyncio.run(made.close())


async def answer(model: LlamaModel, question: str) -> str:
    return "".join([piece async for piece in model.stream(asked(question))])


@pytest.fixture(scope="module")
def sky(model: LlamaModel) -> str:
    """The answer to `SKY`."""
    return asyncio.run(answer(model, SKY))


@pytest.mark.parametrize("question", ["What makes a good cup of tea?", "hello"])
async def test_an_answer_is_a_few_whole_sentences_on_one_line(model: LlamaModel, question: str) -> None:
    text = await answer(model, question)
    assert 3 <= len(re.findall(r"[.!?](?=\s|$)", text)) <= 8
    assert re.fullmatch(r"[^\s].*[.!?][\"”’)]*", text)


async def test_an_answer_given_up_stops_and_the_same_question_has_the_same_answer(model: LlamaModel, sky: str) -> None:
    stream = model.stream(asked(SKY))
    assert sky.startswith(await anext(stream))
    await stream.aclose()
    assert await soon(answer(model, SKY)) == sky


async def test_answers_wait_for_each_other_and_waiting_can_be_given_up(model: LlamaModel, sky: str) -> None:
    writing: AsyncGenerator[str] = model.stream(asked(SKY))
    text = await anext(writing)
    waits = asyncio.create_task(answer(model, SKY))
    gives_up = asyncio.create_task(answer(model, "What is the moon?"))
    await asyncio.sleep(0)
    gives_up.cancel()
    text += "".join([piece async for piece in writing])
    assert text == sky
    assert await soon(waits) == sky


async def test_a_reader_that_stops_reading_stops_the_model(model: LlamaModel) -> None:
    stream = model.stream(asked("Why is the sky blue?"))
    await anext(stream)
    handover = model._writing
    assert handover is not None
    await eventually(lambda: handover._pieces.qsize() == HANDOVER_TOKENS)
    assert model._writing is handover
    await stream.aclose()
    await eventually(lambda: model._writing is None)
    assert handover._pieces.qsize() <= HANDOVER_TOKENS + 1


async def test_a_closed_model_says_so() -> None:
    made = LlamaModel()
    await made.close()
    made = LlamaModel()
    made._closed = True
    with pytest.raises(ModelUnavailable, match="closed"):
        await answer(made, "Why?")


async def test_a_model_file_that_does_not_load_is_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"not a model")
    monkeypatch.setattr("local_cloud.llama_model.assemble_model", lambda _directory: broken)
    made = LlamaModel()
    with pytest.raises(ModelUnavailable, match=r"does not load here.*script:FILE"):
        await answer(made, "Why?")
    await made.close()


def test_without_its_packages_the_model_says_which_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "cyllama" else object())
    assert LlamaModel().available() == (False, "the package cyllama is not installed (extra local-cloud[llama])")
    with pytest.raises(ModelUnavailable, match=r"cyllama is not installed.*script:FILE"):
        LlamaModel().check_available()


def test_the_model_file_is_made_once_and_made_again_where_it_is_broken(tmp_path: Path) -> None:
    directory = tmp_path / "cache"
    made = assemble_model(directory)
    size, written = made.stat().st_size, made.stat().st_mtime_ns
    assert assemble_model(directory) == made
    assert made.stat().st_mtime_ns == written
    with made.open("r+b") as file:
        file.write(b"????")
    assert assemble_model(directory) == made
    assert made.stat().st_size == size
    assert made.open("rb").read(4) == b"GGUF"
    assert [path.name for path in directory.iterdir()] == [made.name]
