"""What a session needs from a wire: two small protocols, so that sessions behave alike over every one of them.

A `Transport` is an address with what it takes to get there (trust, credentials); it opens any number of connections,
so that a session that died can be opened anew. A `Connection` carries whole or fragmentary messages, one PayloadPart
or WebSocket frame each, and knows nothing of what they mean.
"""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Message:
    """One message, or one fragment of it. `is_text`: the wire said so. `is_final`: False where more of it follows."""

    data: bytes
    is_text: bool = False
    is_final: bool = True


class Connection(Protocol):
    """One open stream. One task calls `send`, one calls `receive`; neither call is cancelled before `close`."""

    async def send(self, text: str) -> None:
        """Send one whole control message as text; waits while the peer takes no more. Raises `SpeechError`."""

    async def receive(self) -> Message | None:
        """The next message or fragment, or None once the peer has ended the stream in order. Raises `SpeechError`.

        Nothing is read from the wire beyond a small bounded buffer while nobody calls this.
        """

    async def close(self, grace_s: float) -> None:
        """End the stream and free what it holds; `send` and `receive` in progress return or raise.

        The peer gets at most `grace_s` to end its side, while somebody goes on calling `receive`; 0 means at once.
        """


class Transport(Protocol):
    """Where sessions are opened."""

    async def connect(self) -> Connection:
        """Open one stream. Raises `SpeechConnectError`; when cancelled, it leaves nothing open.

        A transport that only learns from the first answer whether it got through may raise from `Connection.receive`.
        """
