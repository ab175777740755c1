"""Case 14: the memory of a server that is asked for one length after the other levels off."""

import itertools
import os
import random
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.behaviour.served import Served, served

pytestmark = [pytest.mark.load, pytest.mark.timeout(7200)]

MEBIBYTE = 1024 * 1024
WORDS = "the kettle is on and it will take a minute or two so sit down "
LENGTHS = 2000
SHAPES = int(os.environ.get("CASE_14_SHAPES", "250"))
"""Of the real voice, at most 2000, which takes two cores ten minutes."""


async def test_memory_levels_off_over_2000_texts_of_2000_lengths(tmp_path: Path) -> None:
    texts = [(WORDS * (length // len(WORDS) + 1))[: length - 1] + "a" for length in range(1, LENGTHS + 1)]
    assert {len(text) for text in texts} == set(range(1, LENGTHS + 1))
    async with served(tmp_path / "log", "tone", look_ahead_s=3600) as server:
        resident = await resident_while_speaking(server, [(text, 2.0) for text in texts])
    assert growth_bytes(resident) < 8 * MEBIBYTE
    assert server.faults() == []


@pytest.mark.weights
async def test_memory_levels_off_with_the_real_voice_over_many_shapes(tmp_path: Path) -> None:
    texts = [" ".join(WORDS.split()[:words]) for words in range(1, 5)]
    speeds = [1.5 + 0.001 * step for step in range(500)]
    shapes = list(itertools.product(texts, speeds))
    assert len(set(shapes)) == 2000
    async with served(tmp_path / "log", "onnx", threads=2, look_ahead_s=3600) as server:
        resident = await resident_while_speaking(server, random.Random(14).sample(shapes, SHAPES))
    assert growth_bytes(resident) < 24 * MEBIBYTE
    assert server.faults() == []


async def resident_while_speaking(server: Served, requests: Iterable[tuple[str, float]]) -> list[int]:
    """Speak texts at their speeds, in random order, each in a session of its own: the resident bytes after each."""
    resident = []
    shuffled = list(requests)
    random.Random(14).shuffle(shuffled)
    for text, speed in shuffled:
        async with server.session() as listener:
            assert (await listener.ask(text=text, speed=speed)).end["type"] == "synthesis_complete"
        resident.append(server.resident_bytes)
    return resident


def growth_bytes(resident: list[int]) -> int:
    """By how much the highest level of the second half is above that of the first."""
    half = len(resident) // 2
    return max(resident[half:]) - max(resident[:half])
