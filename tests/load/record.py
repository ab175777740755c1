"""What all clients of a run did and saw, and whether the server's log tells the same story."""

import zlib
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Final

from tests.load.reading import Ended
from tests.load.server import Log, Logged

_PROBLEMS_KEPT: Final = 50
_SHOWN: Final = 5
_STALL_S: Final = 0.5
_LOGGED_AS: Final = {"complete": {"complete"}, "cancelled": {"cancelled"}, "error": {"refused", "failed"}}


@dataclass(slots=True)
class Record:
    """One run's. `sent`: every request that had an id of its client's, with how it ended, if the client saw that."""

    sent: dict[str, Ended | None] = field(default_factory=dict)
    begun: set[str] = field(default_factory=set)
    """Requests of which the client heard something, so the server has taken them."""
    did: Counter[str] = field(default_factory=Counter)
    """How often each thing was done."""
    endings: Counter[str] = field(default_factory=Counter)
    """How requests ended: complete, cancelled, an error's code, or unknown to the client."""
    problems: list[str] = field(default_factory=list)
    nameless_sent: int = 0
    nameless_ended: int = 0
    _stalls: list[tuple[float, float]] = field(default_factory=list)
    _digests: dict[Hashable, tuple[int, str]] = field(default_factory=dict)

    def complain(self, problem: str) -> None:
        """Something that must not be."""
        if len(self.problems) < _PROBLEMS_KEPT:
            self.problems.append(problem)

    def note_stall(self, at_s: float, stalled_s: float) -> None:
        """The clients themselves were held up until `at_s`, for so long."""
        if stalled_s > _STALL_S:
            self._stalls.append((at_s, stalled_s))

    def stalled_since(self, begun_s: float) -> float:
        """The longest that the clients were held up since then, in seconds."""
        return max((stalled_s for at_s, stalled_s in self._stalls if at_s >= begun_s), default=0.0)

    @property
    def longest_stall_s(self) -> float:
        """Of the whole run."""
        return self.stalled_since(0.0)

    def saw(self, ended: Ended) -> None:
        """An answer came to its end."""
        self.endings[ended.code or ended.outcome] += 1
        if ended.request_id is None:
            self.nameless_ended += 1
        elif ended.request_id in self.sent:
            if self.sent[ended.request_id] is not None:
                self.complain(f"{ended} is a second answer, after {self.sent[ended.request_id]}")
            self.sent[ended.request_id] = ended

    def heard(self, what: Hashable, audio: bytes, who: str) -> None:
        """A whole answer's audio. The same request must always sound the same, whoever else is served meanwhile."""
        digest = zlib.crc32(audio)
        first, by = self._digests.setdefault(what, (digest, who))
        if first != digest:
            self.complain(f"{who} and {by} heard different audio for the same request {what}")


def differences(record: Record, log: Log) -> list[str]:
    """Where the server's account of its requests is not what their clients saw; call it when all is over."""
    found: list[str] = []
    for name, ended in record.sent.items():
        logged = log.requests.get(name, [])
        if len(logged) > 1:
            found.append(f"request {name} has ended {len(logged)} times: {logged}")
        elif not logged and (ended is not None or name in record.begun):
            found.append(f"request {name} ({ended}) is not in the server's log")
        elif logged and ended is not None and not _tell_the_same(ended, logged[0]):
            found.append(f"request {name}: its client saw {ended}, the log says {logged[0]}")
    strangers = {name: len(logged) for name, logged in log.requests.items() if name not in record.sent}
    nameless = len(log.nameless) + len(strangers)  # without an id of the client's, HTTP requests get one
    if any(count > 1 for count in strangers.values()):
        found.append("requests with ids of the server's have ended more than once")
    if not record.nameless_ended <= nameless <= record.nameless_sent:
        found.append(
            f"{record.nameless_sent} messages without an id were sent and {record.nameless_ended} answered; "
            f"the log has {nameless}"
        )
    return found[:_SHOWN] + ([f"and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else [])


def _tell_the_same(ended: Ended, logged: Logged) -> bool:
    return logged.outcome in _LOGGED_AS[ended.outcome] and logged.code == ended.code
