"""Which words espeak can say."""

import pytest
from speech_text.scripts import is_readable


@pytest.mark.parametrize("word", ["café", "नमस्ते", "Ωmega", "1º", "—", "x9"])
def test_a_script_is_readable(word: str) -> None:
    assert is_readable(word)


@pytest.mark.parametrize("word", ["你好", "สวัสดี", "שלום", "x你"])
def test_a_script_is_not(word: str) -> None:
    assert not is_readable(word)
