"""Transcripts in a document: a block for each command, and what of its text stays the same from run to run.

`tools/operations.py` writes them from real output; the test of an endpoint's whole life compares their shape with what
the commands say today.
"""

import re
from typing import Final

_BLOCK: Final = r"<!-- {name} -->\n```text\n(?P<text>.*?)\n```\n<!-- /{name} -->"
_VARIES: Final = re.compile(r"(?:sha-|sha256:)?\b[0-9a-f]{12,}(?:…)?|[0-9]+(?:[.,:T-][0-9]+)*|under \$|\$")
_MOVES: Final = "  "
"""How a line begins that says how far a step is: which of them are seen is a matter of time."""


def block(document: str, name: str) -> str:
    """The text between the markers of `name`. Raises LookupError where there are none."""
    found = re.search(_BLOCK.format(name=name), document, re.DOTALL)
    if found is None:
        raise LookupError(f"expected a block <!-- {name} --> ... <!-- /{name} -->")
    return found["text"]


def with_block(document: str, name: str, text: str) -> str:
    """The document with other text between the markers."""
    block(document, name)
    lines = "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")
    whole = f"<!-- {name} -->\n```text\n{lines}\n```\n<!-- /{name} -->"
    return re.sub(_BLOCK.format(name=name), lambda _found: whole, document, flags=re.DOTALL)


def shape(text: str) -> list[str]:
    """The lines without figures, digests, spaces and the phases of a step."""
    lines = [line for line in text.splitlines() if line.strip() and not _is_phase(line)]
    return [re.sub(r"[\s─]+", " ", _VARIES.sub("#", line)).strip() for line in lines]


def _is_phase(line: str) -> bool:
    return line.startswith(_MOVES) and not line.lstrip().startswith(("✓", "✗", "fix:"))
