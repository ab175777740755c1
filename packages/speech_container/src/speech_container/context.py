"""One context: text as it is written comes in, sentences with their place in it go out. No I/O, no clock.

The chunker returns verbatim pieces in order, with white space trimmed between them; so a piece stands where it is first
found after the one before. That is looked for only when a piece comes, which keeps the cost linear in the text however
small the deltas are. A code block may reach over many pieces; what of them lies inside it is not spoken.
"""

from dataclasses import dataclass

from speech_protocol import ErrorCode
from speech_text import IncrementalSentenceChunker, SpeakableFilter

from .errors import Refusal


@dataclass(frozen=True, slots=True)
class Sentence:
    """A piece of a request's text that is spoken in one go, and where in that text it begins."""

    text: str
    start_char: int = 0


class TextContext:
    """`chunker` cuts the text, which has at most `max_chars` characters."""

    def __init__(self, chunker: IncrementalSentenceChunker, max_chars: int) -> None:
        self._chunker = chunker
        self._max_chars = max_chars
        self._filter = SpeakableFilter()
        self._cut: list[str] = []
        self._uncut: list[str] = []
        self._chars = 0
        self._cut_chars = 0

    @property
    def text(self) -> str:
        """All that has come."""
        return "".join((*self._cut, *self._uncut))

    def feed(self, delta: str, *, cut: bool = False) -> list[Sentence]:
        """The sentences that `delta` completes. Raises `Refusal`, and takes none of it, past the limit.

        `cut`: what has come ends here, so all that was held back comes out, and what follows begins anew.
        """
        if self._chars + len(delta) > self._max_chars:
            raise Refusal(
                ErrorCode.TEXT_TOO_LONG,
                f"a context has at most {self._max_chars} characters; what came before is spoken, the rest is not",
            )
        self._chars += len(delta)
        self._uncut.append(delta)
        pieces = self._chunker.feed(delta)
        return self._place(pieces + self._chunker.flush() if cut else pieces)

    def flush(self) -> list[Sentence]:
        """The text is over: what is left of it."""
        return self._place(self._chunker.flush())

    def _place(self, pieces: list[str]) -> list[Sentence]:
        if not pieces:
            return []
        uncut = "".join(self._uncut)
        end = 0
        sentences: list[Sentence] = []
        for piece in pieces:
            start = uncut.index(piece, end)
            end = start + len(piece)
            if spoken := self._filter.outside_code(piece):
                inside = max(0, piece.find(spoken))  # of a piece around a whole block, parts are joined: its beginning
                sentences.append(Sentence(spoken, self._cut_chars + start + inside))
        self._cut.append(uncut[:end])
        self._cut_chars += end
        self._uncut = [uncut[end:]]
        return sentences
