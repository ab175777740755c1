"""How long steps tell whoever started them how far they are, without knowing about terminals."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called as a step advances, from the thread that called `prepare`.

    `step` is a short phrase ("join the model"), the same for every call of one step. `done_bytes` never goes back
    within a step. `total_bytes` is None where the source does not say how much is coming.
    """

    def __call__(self, step: str, done_bytes: int, total_bytes: int | None) -> None: ...


def silent(step: str, done_bytes: int, total_bytes: int | None) -> None:
    """The Progress of callers that do not ask for one."""
