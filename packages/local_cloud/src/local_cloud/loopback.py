"""Sockets and HTTP servers of the planes: on 127.0.0.1 only, bound before anybody is told the address.

uvicorn runs in the loop of its caller and installs no signal handlers: Ctrl-C belongs to whoever owns the loop.
"""

import asyncio
import contextlib
import errno
import logging
import socket
from collections.abc import Generator
from typing import Self

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from local_cloud.errors import AddressInUse

log = logging.getLogger(__name__)

HOST = "127.0.0.1"
STOP_TIMEOUT_S = 3
BACKLOG = 128


def bind_loopback(port: int, what: str) -> socket.socket:
    """A socket that listens on 127.0.0.1 and `port`, or on a free port where `port` is 0. `what` names its owner.

    It listens from the start, so whoever connects early waits for an answer and is not refused; and only then is the
    port safe from others: Linux lets two sockets with SO_REUSEADDR bind the same port while neither listens.

    Raises:
        AddressInUse: somebody else holds the port.
    """
    # Named as TCP, or asyncio does not see that it is, and leaves Nagle's algorithm on: 30 ms and more a session.
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((HOST, port))
        sock.listen(BACKLOG)
        sock.setblocking(False)
    except OSError as error:
        sock.close()
        if error.errno in (errno.EADDRINUSE, errno.EACCES):
            reason = "is in use" if error.errno == errno.EADDRINUSE else "may not be used"
            raise AddressInUse(
                f"port {port} of {HOST} {reason}, so {what} cannot listen there; choose another, or 0 for a free one"
            ) from error
        raise
    return sock


def port_of(sock: socket.socket) -> int:
    """The port that a bound socket got."""
    return int(sock.getsockname()[1])


class AppServer:
    """An ASGI app served on loopback; `async with` is its life, and `url` its address from the start."""

    def __init__(self, app: ASGIApp, *, port: int = 0, what: str, ws_max_bytes: int = 1024 * 1024) -> None:
        self._app = app
        self._port = port
        self._what = what
        self._ws_max_bytes = ws_max_bytes
        self._requests: set[asyncio.Task[object]] = set()
        self._stopping = False
        self.url = ""

    async def __aenter__(self) -> Self:
        sock = bind_loopback(self._port, self._what)
        self.url = f"http://{HOST}:{port_of(sock)}"
        config = uvicorn.Config(
            self._serve_request,
            interface="asgi3",
            log_config=None,
            log_level="critical",  # What fails inside an app is logged here, once, by its own name.
            access_log=False,
            lifespan="off",
            server_header=False,
            ws="websockets-sansio",
            ws_max_size=self._ws_max_bytes,
            timeout_graceful_shutdown=STOP_TIMEOUT_S - 1,
            timeout_keep_alive=30,
        )
        self._server = _Server(config)
        self._task = asyncio.create_task(self._server.serve(sockets=[sock]), name=self._what)
        started = asyncio.create_task(self._server.ready.wait())
        await asyncio.wait({self._task, started}, return_when=asyncio.FIRST_COMPLETED)
        if self._task.done():
            started.cancel()
            self._task.result()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stopping = True
        self._server.should_exit = True
        for request in list(self._requests):
            request.cancel()
        await asyncio.wait({self._task}, timeout=STOP_TIMEOUT_S)
        if not self._task.done():
            log.warning("%s did not stop within %d s", self._what, STOP_TIMEOUT_S)
            self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _serve_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - uvicorn runs every request in a task of its own
        self._requests.add(task)
        try:
            await self._app(scope, receive, send)
        except asyncio.CancelledError:
            if not self._stopping:
                raise
        except Exception:  # a fault of one request must not end the plane, and is logged here, once
            log.exception("%s failed to answer %s", self._what, scope.get("path"))
        finally:
            self._requests.discard(task)


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield
