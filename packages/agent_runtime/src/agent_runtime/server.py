"""Serving the app on one socket that is bound here, so that a port in use is one clear line and port 0 can be reported.

`BedrockAgentCoreApp.run` is not used: it guesses the host (every interface, when it believes to be in a container) and
cannot say which port it got.
"""

import asyncio
import errno
import gc
import signal
import socket
from collections.abc import Awaitable, Callable
from types import FrameType
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from .errors import SettingsError

SHUTDOWN_S: Final = 25.0  # AgentCore and SageMaker kill 30 s after SIGTERM
_CUT_S: Final = 2  # for connections whose turns have not ended in that time
_WATCH_S: Final = 0.1
_MAX_MESSAGE_BYTES: Final = 256 * 1024  # of a WebSocket caller, whose frames AgentCore holds to 32 KiB
_BACKLOG: Final = 2048


def bind(host: str, port: int) -> socket.socket:
    """A listening TCP socket. Raises `SettingsError` where the address cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named as TCP, or asyncio does not see that it is and leaves Nagle's algorithm on.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            reason = "another program uses it; stop that one, or choose a port with --port (0 takes a free one)"
        else:
            reason = (error.strerror or "it cannot be had").lower()
        raise SettingsError(f"cannot listen on {host} port {port}: {reason}") from error
    return listener


Drain = Callable[[float], Awaitable[None]]


def serve(app: ASGIApp, listener: socket.socket, listening: Callable[[str], None], drain: Drain) -> None:
    """Serve until SIGINT or SIGTERM; then `drain` has `SHUTDOWN_S`. `listening` is told the URL once it works."""
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="on",
        ws="websockets-sansio",
        ws_max_size=_MAX_MESSAGE_BYTES,
        ws_per_message_deflate=False,  # audio does not shrink
        timeout_graceful_shutdown=_CUT_S,
    )
    # uvicorn raises the signal that ended it once more when all is closed; a stop that was asked for is no failure.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave)
    _Server(config, lambda: listening(_url(listener)), drain).run(sockets=[listener])


def forget_what_stays() -> None:
    """Let the garbage collector look no more at what is there now.

    Strands, boto3 and what they bring are 110,000 objects that live as long as the process. A full collection that goes
    through them holds the event loop for 80 ms and more, with every caller's audio.
    """
    gc.collect()
    gc.freeze()


def _leave(number: int, frame: FrameType | None) -> None:
    raise SystemExit(0)


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, started: Callable[[], None], drain: Drain) -> None:
        super().__init__(config)
        self._announce = started
        self._drain = drain

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            forget_what_stays()
            self._announce()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """uvicorn's own closes WebSockets first of all, in mid answer."""
        for server in self.servers:
            server.close()
        draining = asyncio.ensure_future(self._drain(SHUTDOWN_S))
        while not draining.done() and not self.force_exit:  # a second Ctrl-C
            await asyncio.wait({draining}, timeout=_WATCH_S)
        draining.cancel()
        await super().shutdown(sockets)


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if listener.family == socket.AF_INET6 else f"http://{host}:{port}"
