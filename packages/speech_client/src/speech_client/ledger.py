"""Which request each frame belongs to, and when waiting for the next one has lasted too long.

Audio frames carry no request id: they belong to the request of the last `synthesis_start`, because requests are
answered one at a time and in order. The ledger is told what was sent and what came, with the time on the caller's
clock, and answers with attributed events and the next deadline. It does no I/O and reads no clock.
"""

import itertools
import secrets
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from speech_protocol import (
    Audio,
    ErrorEvent,
    SynthesisCancelled,
    SynthesisComplete,
    SynthesisStart,
    Timestamps,
)

from .errors import SpeechProtocolError, SpeechTimeoutError, WaitingFor

SpeechEvent = SynthesisStart | Audio | Timestamps | SynthesisComplete | SynthesisCancelled
RequestPart = SpeechEvent | ErrorEvent


@dataclass(frozen=True, slots=True)
class Deadlines:
    """How long a session waits, in seconds, each greater than 0.

    `connect_s`: for the connection and the server's first answer. `first_audio_s`: for a request's first audio, from
    when it was sent or, if later, from when the one before it was done. `silence_s`: for the next frame once audio
    flows, and for the answer to `hello` and `ping`. `close_s`: for the server's goodbye. Time in which the caller
    does not read events is not counted.
    """

    connect_s: float = 10.0
    first_audio_s: float = 30.0
    silence_s: float = 15.0
    close_s: float = 2.0

    def __post_init__(self) -> None:
        for name in ("connect_s", "first_audio_s", "silence_s", "close_s"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} is a number of seconds greater than 0; {getattr(self, name)!r} came")


@dataclass(frozen=True, slots=True)
class RequestEvent:
    """An event and the request it belongs to; `request_id` is None for an error that names no request."""

    request_id: str | None
    event: RequestPart


@dataclass(frozen=True, slots=True)
class Due:
    """The next deadline: when it passes, on the caller's clock, and what was waited for."""

    at_s: float
    waiting_for: WaitingFor
    limit_s: float
    request_id: str | None = None

    def error(self) -> SpeechTimeoutError:
        """The complaint for when it has passed."""
        where = f" of request {self.request_id}" if self.request_id else ""
        message = (
            f"no {self.waiting_for}{where} within {self.limit_s:g} s: the server is overloaded, stuck or gone; "
            f"open a new session, or allow more in Deadlines"
        )
        return SpeechTimeoutError(self.waiting_for, self.limit_s, message, self.request_id)


class RequestLedger:
    """The requests of one session that are not yet answered, oldest first."""

    def __init__(self, deadlines: Deadlines, now_s: float) -> None:
        self._deadlines = deadlines
        self._waiting: dict[str, None] = {}  # an ordered set
        self._open: set[str] = set()  # of these, the contexts whose text is still being written
        self._current: str | None = None
        self._head_since_s = now_s
        self._heard_audio = False
        self._questions: deque[float] = deque()
        self._last_frame_s = now_s
        self._paused = False

    @property
    def in_flight(self) -> tuple[str, ...]:
        """The requests that are not yet answered, in the order they were sent."""
        return tuple(self._waiting)

    def __contains__(self, request_id: str) -> bool:
        return request_id in self._waiting

    def sent(self, request_id: str, now_s: float, *, is_open: bool = False) -> None:
        """A request is on its way; `is_open`: a context, of which more will be written."""
        if not self._waiting:
            self._next_head(now_s)
        self._waiting[request_id] = None
        if is_open:
            self._open.add(request_id)

    def written(self, request_id: str, now_s: float) -> None:
        """All of a context's text is on its way, or no more of it is wanted: from now on its audio is waited for."""
        if request_id in self._open:
            self._open.discard(request_id)
            self._head_since_s = max(self._head_since_s, now_s)
            self._last_frame_s = max(self._last_frame_s, now_s)

    def asked(self, now_s: float) -> None:
        """A `hello` or `ping` is on its way."""
        self._questions.append(now_s)

    def answered(self) -> None:
        """A `capabilities` or `pong` came."""
        if self._questions:
            self._questions.popleft()

    def frame_came(self, now_s: float) -> None:
        """Something came from the server, be it half a message."""
        self._last_frame_s = now_s

    def paused(self) -> None:
        """The caller reads no events, so nothing is read from the server: its silence is our doing."""
        self._paused = True

    def resumed(self, now_s: float) -> None:
        """Reading goes on; every wait starts anew."""
        self._paused = False
        self._last_frame_s = now_s
        self._head_since_s = max(self._head_since_s, now_s)

    def absorb(self, event: RequestPart, now_s: float) -> RequestEvent:
        """Attribute an event. Raises `SpeechProtocolError` where it cannot belong to any request."""
        match event:
            case Audio():
                if self._current is None:
                    raise SpeechProtocolError(
                        "audio came outside of any request; the server breaks the order of the contract"
                    )
                self._heard_audio = True
                return RequestEvent(self._current, event)
            case SynthesisStart():
                self._start(event.request_id)
            case SynthesisComplete() if event.request_id not in self._waiting:
                raise SpeechProtocolError(f"the server completed request {event.request_id!r}, which is not waiting")
            case SynthesisComplete() | SynthesisCancelled() | ErrorEvent():
                self._done(event.request_id, now_s)
        return RequestEvent(event.request_id, event)

    def due(self) -> Due | None:
        """The next deadline, or None while nothing is waited for."""
        if self._paused:
            return None
        limits = self._deadlines
        dues = []
        head = next(iter(self._waiting), None)
        if head is not None and head not in self._open:
            if self._heard_audio:
                dues.append(Due(self._last_frame_s + limits.silence_s, "next frame", limits.silence_s, head))
            else:
                dues.append(Due(self._head_since_s + limits.first_audio_s, "first audio", limits.first_audio_s, head))
        if self._questions:
            since_s = max(self._questions[0], self._last_frame_s)
            dues.append(Due(since_s + limits.silence_s, "answer", limits.silence_s))
        return min(dues, key=lambda due: due.at_s, default=None)

    def _start(self, request_id: str) -> None:
        head = next(iter(self._waiting), None)
        if request_id != head or self._current is not None:
            raise SpeechProtocolError(
                f"the server began request {request_id!r} while {head!r} was to be answered first"
            )
        self._current = request_id

    def _done(self, request_id: str | None, now_s: float) -> None:
        if request_id is None or request_id not in self._waiting:
            return  # an error of the session, or a cancel that came after the end
        was_head = request_id == next(iter(self._waiting))
        del self._waiting[request_id]
        self._open.discard(request_id)
        if was_head:
            self._next_head(now_s)

    def _next_head(self, now_s: float) -> None:
        self._current = None
        self._heard_audio = False
        self._head_since_s = now_s


def request_ids() -> Iterator[str]:
    """Ids that are unique among all clients' and show their order in logs."""
    prefix = secrets.token_hex(6)
    return (f"{prefix}-{number}" for number in itertools.count(1))
