"""What a session and its edge say to each other: a turn is a request or a context, an effect is what to do for one."""

from dataclasses import dataclass

from speech_protocol import ErrorEvent, KnownEvent, Synthesize

from .context import Sentence, TextContext


@dataclass(slots=True, eq=False)
class Turn:
    """A request or a context that waits for its answer, or is being answered."""

    request_id: str
    synthesize: Synthesize
    """The request; of a context, all but the text."""
    context: TextContext | None = None
    cancelled: bool = False
    played_s: float | None = None
    """With the cancel: how much of the audio was heard."""
    fault: ErrorEvent | None = None
    """What ends the answer in place of `synthesis_complete`."""

    @property
    def text(self) -> str:
        """All that is to be spoken, as far as it has come."""
        return self.synthesize.text if self.context is None else self.context.text


@dataclass(frozen=True, slots=True)
class Send:
    """Send this event now, between whatever else is sent."""

    event: KnownEvent


@dataclass(frozen=True, slots=True)
class Speak:
    """Prepare and synthesise more of this turn, or the first of it; its answer is sent when it comes to the head.

    `is_all`: nothing more will come.
    """

    turn: Turn
    sentences: tuple[Sentence, ...]
    is_all: bool


@dataclass(frozen=True, slots=True)
class Stop:
    """Make no more audio for this turn, and send none."""

    turn: Turn


@dataclass(frozen=True, slots=True)
class Hush:
    """The listener plays none of what was sent any more, so whatever it asks for next is urgent."""


Effect = Send | Speak | Stop | Hush
