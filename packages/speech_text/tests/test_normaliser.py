"""Each language has its table; Japanese and Chinese have none."""

import pytest
from speech_text.normaliser import normaliser
from speech_text.traced import Traced


@pytest.mark.parametrize(
    ("language", "read"),
    [("en-us", "5 kilometers"), ("es", "5 kilómetros"), ("hi", "5 किलोमीटर"), ("ja", "5 km"), ("zh", "5 km")],
)
def test_the_language_decides(language: str, read: str) -> None:
    assert normaliser(language)(Traced.of("5 km")).text == read
