"""What one request came to, for whoever counts, logs or traces it."""

from dataclasses import dataclass
from typing import Final, Literal

from speech_protocol import ErrorCode

Face = Literal["websocket", "invocations", "openai"]
Outcome = Literal["complete", "cancelled", "refused", "failed", "dropped"]

_FAILURES: Final = {ErrorCode.SYNTHESIS_FAILED, ErrorCode.SHUTTING_DOWN}


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """One request, when nothing more is done for it. Times are in seconds from its arrival.

    `outcome`: complete; cancelled (its client asked for that); refused (the client may do something about it); failed
    (it may not); dropped (its client went away or did not read). `code` is there for refused and failed.
    """

    face: Face
    outcome: Outcome
    request_id: str | None = None
    code: str | None = None
    text: str = ""
    format: str | None = None
    voice: str | None = None
    queue_s: float | None = None
    """Until the engine began with it; None where it never did."""
    first_audio_s: float | None = None
    """Until the first encoded byte; None where there was none."""
    elapsed_s: float | None = None
    audio_s: float = 0.0
    audio_bytes: int = 0
    underruns: int = 0
    silent_s: float = 0.0


def outcome_of(code: str) -> Outcome:
    """What a request has come to that was answered with this error."""
    return "failed" if code in _FAILURES else "refused"
