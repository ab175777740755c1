"""What a listener who plays a request's audio as it comes would have heard: whether it ran dry, and for how long.

Playing begins with the first piece, or when the listener's last request has been heard, and goes on in real time. An
underrun is a moment at which everything that came so far has been played and the next piece is not there *because it
was not made yet*: a piece that waited for the listener to read, or that came while the text of the next one was still
being written, is no failure of the server's. So a gap counts only for as long as the server itself kept the listener
waiting.
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(slots=True)
class Playback:
    """The state of one listener. All times are seconds on one clock that never goes back."""

    underruns: int = 0
    silent_s: float = 0.0
    """How long the underruns lasted together."""
    _dry_at_s: float | None = None

    def followed(self) -> "Playback":
        """Of the next request of the same listener, which is heard when this one has been."""
        return Playback(_dry_at_s=self._dry_at_s)

    def interrupted(self) -> None:
        """The listener hears no more of what came; whatever comes next is heard at once."""
        self._dry_at_s = None

    def resumed(self, at_s: float) -> None:
        """What comes next could not be made before `at_s`: whoever had heard everything by then begins anew."""
        if self._dry_at_s is not None and self._dry_at_s < at_s:
            self._dry_at_s = None

    def arrived(self, at_s: float, audio_s: float, waited_s: float) -> None:
        """A piece of `audio_s` seconds came at `at_s`, for which the server let its listener wait for `waited_s`."""
        if self._dry_at_s is None:
            self._dry_at_s = at_s + audio_s
            return
        gap_s = min(at_s - self._dry_at_s, waited_s)
        if gap_s > 0:
            self.underruns += 1
            self.silent_s += gap_s
        self._dry_at_s = max(self._dry_at_s, at_s) + audio_s


def underruns(arrivals: Iterable[tuple[float, float]]) -> tuple[int, float]:
    """How often, and for how many seconds together, a listener ran dry whose pieces came as `(at_s, audio_s)`."""
    playback = Playback()
    for at_s, audio_s in arrivals:
        playback.arrived(at_s, audio_s, waited_s=float("inf"))
    return playback.underruns, playback.silent_s
