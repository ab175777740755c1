"""A text as a person gives it: on the command line, or through standard input for `-`.

Python decodes both by the locale, and hides bytes that do not fit in half surrogate pairs, which no service takes. So
the bytes are read as what they almost always are, UTF-8, and a person is told where they are not.
"""

import os
from typing import BinaryIO

from local_cloud.errors import TextUnreadable


def typed_text(argument: str) -> str:
    """The text of a command line's argument. Raises `TextUnreadable`."""
    return _decode(os.fsencode(argument), "the text")


def piped_text(standard_input: BinaryIO | None) -> str:
    """All of standard input, which is None where it is closed. Raises `TextUnreadable`."""
    if standard_input is None:
        raise TextUnreadable(
            "expected the text on standard input, which is closed; pipe it in, or give it instead of -"
        )
    return _decode(standard_input.read(), "standard input")


def _decode(data: bytes, what: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        byte = f"its byte {error.start + 1} (0x{data[error.start]:02x}) is not"
        raise TextUnreadable(f"expected {what} in UTF-8; {byte}: convert it, with iconv for example") from None
