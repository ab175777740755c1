"""The pieces of one answer on their way through the voice: what is to be written, what has come back, and what is to be
said again when a session is lost. No I/O, no clock.

An answer is one context of the speech server (see docs/protocol.md): one request with one encoder, whose pieces join
without a seam. The server announces each piece by the times of its words, whose places in the context's text say which
piece it is; the audio that follows is that piece's. So the piece in hand is known at any moment. When the session dies,
a new context begins with that piece, from its start: a voice cannot begin in mid sentence. Its audio is made again, and
as much of it as the listener already has is dropped, so nothing is heard twice and nothing is lost. That holds to the
sample for `pcm`, whose samples are the same each time. An encoded stream cannot be entered in the middle: there the
piece is heard again from its start, in a stream of its own.
"""

import dataclasses
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from speech_protocol import WordTime

_BETWEEN = " "  # between two pieces, for a server that does not know `cut`


@dataclass(slots=True, eq=False)
class _Piece:
    place: int
    text: str
    start_char: int | None = None  # in the context's text; None where it is still to be written
    passed_bytes: int = 0  # audio that went on to the listener
    told_words: int = 0


class Recital:
    """One answer. `skips`: whether audio that is made again is the same, so that what the listener has is dropped."""

    def __init__(self, *, skips: bool) -> None:
        self._skips = skips
        self._pieces: deque[_Piece] = deque()  # from the one in hand on
        self._context_chars = 0
        self._came_bytes = 0  # of the piece in hand, in this context
        self._came_words = 0
        self._has_word_times = False
        self._has_audio = False
        self._origin_s = 0.0

    # To the server

    @property
    def is_silent(self) -> bool:
        """Whether nothing is waited for."""
        return not self._pieces

    @property
    def in_hand_bytes(self) -> int:
        """How much audio of the piece in hand the listener has."""
        return self._pieces[0].passed_bytes if self._pieces else 0

    @property
    def can_resume(self) -> bool:
        """Whether the rest can be said in another context without losing or repeating more than the piece in hand."""
        return self._skips or self._has_word_times or not self._has_audio

    def add(self, place: int, text: str) -> None:
        """`text`, of the answer's sentence at `place`, is next."""
        self._pieces.append(_Piece(place, text))

    def begin(self, origin_s: float) -> None:
        """A new context. What was not heard to its end is to be written, from the piece in hand on.

        `origin_s`: where on the answer's clock the context's first sample belongs.
        """
        self._origin_s = origin_s
        self._context_chars = self._came_bytes = self._came_words = 0
        for piece in self._pieces:
            piece.start_char = None
            if not self._skips:
                piece.passed_bytes = piece.told_words = 0

    def unwritten(self) -> str | None:
        """The next piece to write as it is to be written, or None while there is none."""
        piece = self._unwritten()
        return None if piece is None else piece.text + _BETWEEN

    def written(self) -> int:
        """That piece has been written. Returns its place."""
        piece = self._unwritten()
        if piece is None:
            raise ValueError("there was no piece to write")
        piece.start_char = self._context_chars
        self._context_chars += len(piece.text) + len(_BETWEEN)
        return piece.place

    def fits(self, text: str, max_chars: int) -> bool:
        """Whether the context may take `text` as well. A piece that is too long for any context is for the server to
        refuse."""
        return not self._context_chars or self._context_chars + len(text) <= max_chars

    # From the server

    @property
    def place(self) -> int:
        """The place of the piece in hand, to which audio belongs."""
        if not self._pieces:
            raise ValueError("audio came when all pieces had been heard")
        return self._pieces[0].place

    @property
    def text(self) -> str:
        """The text of the piece in hand, in which its words have their places."""
        return self._pieces[0].text

    def reach(self, words: Sequence[WordTime]) -> list[int]:
        """The audio of these words is next. Returns the places that are over by that."""
        self._has_word_times = True
        over: list[int] = []
        while len(self._pieces) > 1 and words and self._is_past_hand(words[0].start_char):
            over.append(self._pieces.popleft().place)
            self._came_bytes = self._came_words = 0
        return over

    def words(self, words: Sequence[WordTime]) -> tuple[WordTime, ...]:
        """Those of the words that the listener has not been told of: on the answer's clock, places in the piece."""
        piece = self._pieces[0]
        before = self._came_words
        self._came_words += len(words)
        fresh = words[max(0, piece.told_words - before) :]
        piece.told_words = max(piece.told_words, self._came_words)
        return tuple(self._placed(word, piece) for word in fresh)

    def audio(self, data: bytes) -> bytes:
        """What of `data`, of the piece in hand, the listener does not have yet."""
        self._has_audio = True
        piece = self._pieces[0]
        known = max(0, piece.passed_bytes - self._came_bytes)
        self._came_bytes += len(data)
        fresh = data[known:]
        piece.passed_bytes += len(fresh)
        return fresh

    def complete(self) -> list[int]:
        """The context is complete. Returns the places that are over by that: all that were written."""
        over: list[int] = []
        while self._pieces and self._pieces[0].start_char is not None:
            over.append(self._pieces.popleft().place)
        return over

    def _unwritten(self) -> _Piece | None:
        return next((piece for piece in self._pieces if piece.start_char is None), None)

    def _is_past_hand(self, start_char: int) -> bool:
        following = self._pieces[1].start_char
        return following is not None and following <= start_char

    def _placed(self, word: WordTime, piece: _Piece) -> WordTime:
        start_char = piece.start_char or 0
        return dataclasses.replace(
            word,
            start_s=round(word.start_s + self._origin_s, 6),
            end_s=round(word.end_s + self._origin_s, 6),
            start_char=word.start_char - start_char,
            end_char=word.end_char - start_char,
        )
