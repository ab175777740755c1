"""How much one client, and all of them, may take: requests a minute, sessions, and the process's memory.

The rest of the limits follow from what holds the thing that is limited: a text's length from its parser, a message's
size from its socket, waiting segments from the scheduler. With those, what one session can hold is bounded, so a bound
on sessions bounds them all; what the arithmetic does not see (a library's caches, fragmentation) is caught by looking
at the memory that the process really uses.
"""

import os
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Final

MEMORY_SHARE: Final = 0.9  # of what the process may use, in RAM; past it nothing new is taken
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
_STATM: Final = Path("/proc/self/statm")
_MEMINFO: Final = Path("/proc/meminfo")
_CGROUP_LIMITS: Final = (
    Path("/sys/fs/cgroup/memory.max"),  # version 2, as seen from inside a container
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),  # version 1
)


class RequestRate:
    """A bucket that holds one minute's requests and fills steadily: a burst is fine, a flood is not."""

    def __init__(self, per_minute: int, now_s: float) -> None:
        self._per_minute = per_minute
        self._left = float(per_minute)
        self._at_s = now_s

    def take(self, now_s: float) -> float:
        """Count one request: 0.0 where it may run, else the seconds until one may."""
        filled = (now_s - self._at_s) * self._per_minute / 60
        self._left = min(float(self._per_minute), self._left + filled)
        self._at_s = now_s
        if self._left >= 1:
            self._left -= 1
            return 0.0
        return (1 - self._left) * 60 / self._per_minute


class Memory:
    """What this process uses and may use, in bytes. `resident_bytes` None: this system does not tell, no limit."""

    def __init__(
        self, allowed_bytes: int | None = None, resident_bytes: "Callable[[], int | None] | None" = None
    ) -> None:
        self.allowed_bytes = read_allowed_bytes() if allowed_bytes is None else allowed_bytes
        self._resident_bytes = resident_bytes or read_resident_bytes

    @property
    def is_full(self) -> bool:
        """Whether nothing new should be taken. Costs one read from the kernel: 20 microseconds."""
        if self.allowed_bytes is None:
            return False
        resident = self._resident_bytes()
        return resident is not None and resident > MEMORY_SHARE * self.allowed_bytes


def allow_descriptors(count: int) -> int:
    """Let this process have so many descriptors, or as many as the system allows; how many it may have now.

    A session is a descriptor, and the soft limit that shells and containers set is often 1024.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = count if hard == resource.RLIM_INFINITY else min(count, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
        return allowed
    return soft if soft != resource.RLIM_INFINITY else count


def read_resident_bytes(statm: Path = _STATM) -> int | None:
    """The memory in RAM that is this process's; None where the system does not tell."""
    try:
        return int(statm.read_text("ascii").split()[1]) * _PAGE_BYTES
    except (OSError, ValueError, IndexError):
        return None


def read_allowed_bytes(meminfo: Path = _MEMINFO, limits: tuple[Path, ...] = _CGROUP_LIMITS) -> int | None:
    """The machine's memory, or the container's where that is less; None where the system does not tell."""
    found = [int(text) for path in limits if (text := _read(path)).isdigit()]
    for line in _read(meminfo).splitlines():
        name, _, value = line.partition(":")
        if name == "MemTotal" and value.split()[:1]:
            found.append(int(value.split()[0]) * 1024)
    return min(found, default=None)


def _read(path: Path) -> str:
    try:
        return path.read_text("ascii").strip()
    except OSError:
        return ""
