"""An HTTP connection that does not wait for ever for a request's headers (uvicorn would).

A client that sends them a byte at a time, or connects and says nothing, holds a socket and costs nobody anything, until
there are thousands of it. So whatever comes while no request is being answered has to become a whole head in time. The
body's time is `invocations`' to count, a WebSocket's life begins where its head ends, and uvicorn itself closes what is
idle between two requests.
"""

import asyncio
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState


class Connection(HttpToolsProtocol):
    """`head_timeout_s`: how long a request may take to say what it is."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        head_timeout_s: float,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._head_timeout_s = head_timeout_s
        self._head_due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """asyncio's callback."""
        super().connection_made(transport)
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        """asyncio's callback. What comes after an answer is the next head, however little of it this is."""
        if self._head_due is None and (self.cycle is None or self.cycle.response_complete):
            self._expect_head()
        super().data_received(data)

    def on_headers_complete(self) -> None:
        """httptools' callback."""
        self._head_came()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """asyncio's callback."""
        self._head_came()
        super().connection_lost(exc)

    def _expect_head(self) -> None:
        self._head_due = self.loop.call_later(self._head_timeout_s, self.transport.close)

    def _head_came(self) -> None:
        if self._head_due is not None:
            self._head_due.cancel()
            self._head_due = None
