"""Deciding whether bytes are a JSON object, on both sides of the audio/control rule.

The reader and the writer ask different questions. The reader wants the object, or nothing. The writer of audio wants to
know whether *any* reader could see an object, so it answers yes for what this parser gives up on but another would take
(nesting beyond Python's recursion limit, integers beyond its digit limit, NaN).
"""

import json
from typing import Any

WHITESPACE = b" \t\n\r"  # RFC 8259 section 2; bytes.strip() alone would also take \v and \f


def parse_object(data: bytes | str) -> dict[str, Any] | None:
    """The JSON object that `data` is as a whole, or None. Never raises, whatever the bytes are."""
    try:
        value = parse_value(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def parse_value(data: bytes | str) -> Any:
    """The JSON value that `data` is, without NaN and Infinity. Raises ValueError or RecursionError where none is."""
    text = data if isinstance(data, str) else data.decode("utf-8")
    return json.loads(text, parse_constant=_refuse_constant)


def could_be_object(data: bytes) -> bool:
    """Whether some reader could take `data` as a whole for a JSON object."""
    core = data.strip(WHITESPACE)
    if not (core.startswith(b"{") and core.endswith(b"}")):
        return False
    try:
        value = json.loads(core.decode("utf-8"), parse_int=float)
    except RecursionError:
        return True
    except ValueError:
        return False
    return isinstance(value, dict)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
