"""Where the clients of a run go, and how long they wait there."""

from dataclasses import dataclass
from typing import Final

from tests.load.reading import Limits
from tests.load.record import Record

SESSION_PATH: Final = "/invocations-bidirectional-stream"
PATIENCE_S: Final = 150.0  # an answer that takes longer has been forgotten


@dataclass(frozen=True, slots=True)
class Target:
    """A server, what it allows, and where its clients write down what they see."""

    url: str
    limits: Limits
    max_message_bytes: int
    gives_up_s: float
    """How long the server waits for a client that does not read or does not finish what it says."""
    record: Record

    @property
    def session_url(self) -> str:
        """Of its WebSocket."""
        return self.url.replace("http", "ws", 1) + SESSION_PATH

    @property
    def address(self) -> tuple[str, int]:
        """Its host and port."""
        host, _, port = self.url.removeprefix("http://").rpartition(":")
        return host, int(port)
