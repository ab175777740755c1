"""What was typed is what is spoken, whatever the locale; what cannot be read is said in one sentence."""

import io
import os

import pytest
from local_cloud.errors import TextUnreadable
from local_cloud.typed_text import piped_text, typed_text


@pytest.mark.parametrize("text", ["Grüße 😀", "", "null\0byte"])
def test_text_is_utf8_from_either_place(text: str) -> None:
    assert piped_text(io.BytesIO(text.encode())) == text
    assert typed_text(os.fsdecode(text.encode())) == text


def test_an_argument_that_the_locale_could_not_decode_is_utf8_all_the_same() -> None:
    assert typed_text("Grüße".encode().decode("ascii", "surrogateescape")) == "Grüße"


def test_other_bytes_are_named() -> None:
    with pytest.raises(TextUnreadable, match=r"standard input .* byte 2 \(0xff\)"):
        piped_text(io.BytesIO(b"h\xff"))
    with pytest.raises(TextUnreadable, match="the text in UTF-8"):
        typed_text(os.fsdecode(b"h\xff"))


def test_a_closed_input_is_named() -> None:
    with pytest.raises(TextUnreadable, match="standard input, which is closed"):
        piped_text(None)
