"""Waiting until CloudFormation is done with a stack, saying what it is at."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from infra_common.errors import StillGoing
from infra_common.stack_events import STACK_TYPE, StackEvent, events_since
from infra_common.stack_state import StackState, describe_stack

POLL_S: Final = 3.0
LONGEST_S: Final = 4500.0
"""An hour of blue/green, which the endpoint's own deployment limit bounds, and a quarter for what is around it."""


class StackWatch:
    """Follows one stack from now on. `clock` and `pause` are for tests."""

    def __init__(
        self,
        cloudformation: Any,
        name: str,
        *,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._cloudformation = cloudformation
        self._name = name
        self._clock = clock
        self._pause = pause
        state = describe_stack(cloudformation, name)
        self._target = name if state is None else state.stack_id
        known = [] if state is None else events_since(cloudformation, self._target, None)
        self._last_id = known[-1].event_id if known else None
        self.seen: list[StackEvent] = []
        """Everything since this watch was made."""

    def look(self) -> list[StackEvent]:
        """What has happened since the last look."""
        state = describe_stack(self._cloudformation, self._target)
        if state is None and self._target == self._name:
            return []
        if state is not None:
            self._target = state.stack_id
        fresh = events_since(self._cloudformation, self._target, self._last_id)
        if fresh:
            self._last_id = fresh[-1].event_id
            self.seen += fresh
        return fresh

    def settled(self, say: Callable[[str], None], limit_s: float = LONGEST_S) -> StackState | None:
        """Wait until nothing goes on; None where the stack is gone. Raises StillGoing after `limit_s`."""
        deadline = self._clock() + limit_s
        while True:
            phrase = phase(self.look())
            if phrase:
                say(phrase)
            state = describe_stack(self._cloudformation, self._target)
            if state is None or state.standing != "busy":
                return state
            if self._clock() > deadline:
                raise StillGoing(
                    f"stack {self._name} is still in {state.status} after {limit_s / 60:.0f} minutes; "
                    "CloudFormation goes on without us"
                )
            self._pause(POLL_S)


def phase(events: Sequence[StackEvent]) -> str:
    """The last event in a few words; empty where there is none."""
    if not events:
        return ""
    last = events[-1]
    name = "the stack" if last.type == STACK_TYPE else f"{last.logical_id} ({last.type.removeprefix('AWS::')})"
    return f"{name}: {last.status.lower().replace('_', ' ')}"
