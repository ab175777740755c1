"""A scheduler's day without a server: a clock that is a number, an engine, and listeners."""

from collections.abc import Iterator
from typing import Any

from speech_container.listener import Piece
from speech_container.scheduler import Scheduler, Step, Wake

PHONEMES = 30  # in every segment, where a test does not say
FOR_EVER_S = 1e9


class Desk:
    """A scheduler with a clock, an engine that takes `step_s` a step, and listeners that take everything at once."""

    def __init__(self, *, audio_s: float = 1.0, step_s: float = 0.1, **limits: Any) -> None:
        self.scheduler = Scheduler(**{"max_batch": 1, "max_waiting": 100, "look_ahead_s": 10.0, **limits})
        self.now_s = 0.0
        self.audio_s = audio_s
        self.step_s = step_s

    def submit(
        self, listener: int, segments: int, *, paced: bool = True, phonemes: int = PHONEMES, in_chunks: bool = False
    ) -> int:
        return self.scheduler.submitted(listener, [phonemes] * segments, self.now_s, paced=paced, in_chunks=in_chunks)

    def tick(self) -> Step | Wake:
        return self.scheduler.tick(self.now_s)

    def begin(self) -> tuple[Piece, ...]:
        """The pieces of a step that begins now; none where there is no step."""
        decision = self.tick()
        return decision.pieces if isinstance(decision, Step) else ()

    def finish(self, pieces: tuple[Piece, ...], *, deliver: bool = True) -> None:
        self.now_s += self.step_s
        self.scheduler.step_finished([self.audio_s] * len(pieces), self.now_s)
        for piece in pieces if deliver else ():
            self.scheduler.delivered(piece.job, self.audio_s, self.now_s)

    def run(self, *, deliver: bool = True) -> tuple[Piece, ...]:
        """A whole step."""
        pieces = self.begin()
        if pieces:
            self.finish(pieces, deliver=deliver)
        return pieces

    def run_chunk(self, audio_s: float, *to_come_s: float) -> Piece:
        """A whole step of one piece, of which so much audio comes now and so much in each chunk after it."""
        (piece,) = self.begin()
        self.now_s += self.step_s
        self.scheduler.step_finished([audio_s], self.now_s, [to_come_s])
        self.scheduler.delivered(piece.job, audio_s, self.now_s)
        return piece

    def run_all(self, until_s: float = FOR_EVER_S) -> Iterator[tuple[float, tuple[Piece, ...]]]:
        """Step after step, each with when it began, for as long as there is anything to wait for."""
        while self.now_s < until_s:
            decision = self.tick()
            if isinstance(decision, Step):
                yield self.now_s, decision.pieces
                self.finish(decision.pieces)
            elif decision.at_s is None:
                return
            else:
                self.now_s = min(decision.at_s, until_s)
