"""The process around the application: its socket, its signals, its two lines on stdout.

SIGTERM (or Ctrl-C) means drain: `/ping` turns 503 at once, new requests get `shutting_down`, running ones have
`DRAIN_S` to finish, and the exit code is 0; a second signal ends at once. uvicorn alone would close running sessions
first.

Where the weights cannot be loaded, a server on a laptop ends, with one line that says why. SageMaker would start it
again and again, and nobody would read the line: there it stays, with `/ping` at 503, until it is stopped, and then ends
with that line and an error.

The socket is bound before anything is loaded, so that a port in use is known at once and clients may connect
meanwhile. Sent bytes are buffered for about five seconds of pcm and no more: what a listener has not taken, a cancel
can still take back. There are no server-side WebSocket pings: behind minutes of audio that a paced client has yet to
read they would go unanswered in time; TCP keep-alive finds peers that are gone.
"""

import asyncio
import errno
import logging
import os
import socket
import sys
import time
from typing import Final, TextIO

import uvicorn

from .app import build_app
from .connections import PatientConfig
from .errors import PortUnavailable
from .limits import allow_descriptors
from .service import Service, State
from .settings import Settings
from .start_failure import TOLD, code_of, sentence_of
from .studio import PLATFORM_WEIGHTS, given_weights

logger = logging.getLogger(__name__)

DRAIN_S: Final = 25.0  # SageMaker kills 30 s after SIGTERM
SEND_BUFFER_BYTES: Final = 256 * 1024
STARTUP_ERRORS: Final = TOLD
_OTHER_DESCRIPTORS: Final = 200  # connections that are no sessions, files, the listener
_LAST_WORDS_S: Final = 0.5  # for telling requests that were given up
_CLOSING_S: Final = 2  # after draining: how long uvicorn waits for connections to close


def bind(host: str, port: int) -> socket.socket:
    """A listening socket on `host`. Raises `PortUnavailable`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named as TCP, or asyncio does not see that it is and leaves Nagle's algorithm on.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(
            socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1
        )  # sockets that are accepted inherit both of these
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        listener.bind((host, port))
        listener.listen(1024)
    except OSError as error:
        listener.close()
        advice = "give an address of this machine with --host"
        if error.errno in (errno.EADDRINUSE, errno.EACCES):
            advice = "stop what uses it, or choose another with --port"
        raise PortUnavailable(f"cannot listen on {host} port {port} ({error.strerror}); {advice}") from error
    listener.setblocking(False)
    return listener


class SpeechServer(uvicorn.Server):
    """One service on one socket. `announce` gets the two lines that a supervisor waits for.

    `stay_up`: whether it goes on, not ready, where the service cannot be loaded.
    """

    def __init__(self, service: Service, announce: TextIO | None = None, *, stay_up: bool = False) -> None:
        self.service = service
        self.drain_s = DRAIN_S
        """After a signal: how many seconds running requests have to finish."""
        self._stay_up = stay_up
        self._announce = announce
        self._began_s = time.monotonic()
        self._drain_until_s: float | None = None
        super().__init__(
            PatientConfig(
                build_app(self.service, self._loaded),
                patience_s=service.settings.send_timeout_s,
                log_config=None,
                access_log=False,
                lifespan="on",
                ws_max_size=service.settings.max_message_bytes,
                ws_ping_interval=None,
                ws_per_message_deflate=False,
                timeout_graceful_shutdown=_CLOSING_S,
            )
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """uvicorn's hook: say where we listen once connections are taken."""
        await super().startup(sockets)
        if sockets:
            host, port = sockets[0].getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            self._say(f"listening on http://{shown}:{port}")

    async def on_tick(self, counter: int) -> bool:
        """uvicorn's hook, ten times a second: exit when everything that ran has finished, or had its time."""
        if self._drain_until_s is not None:
            late_s = time.monotonic() - self._drain_until_s
            if late_s > 0:
                self.service.abandon()
            if not self.service.running or late_s > _LAST_WORDS_S:
                self.should_exit = True
        return await super().on_tick(counter)

    def handle_exit(self, sig: int, frame: object) -> None:
        """uvicorn's hook for SIGTERM and SIGINT, in the main thread."""
        if self._drain_until_s is None:
            self.drain()
        else:
            self.should_exit = self.force_exit = True

    def drain(self) -> None:
        """Take nothing new, let what runs finish, then exit."""
        self.service.drain()
        self._drain_until_s = time.monotonic() + self.drain_s

    def _loaded(self, error: BaseException | None) -> None:
        if error is not None:
            if self._stay_up or not isinstance(error, STARTUP_ERRORS):  # those are told when it ends, in one line
                known = isinstance(error, STARTUP_ERRORS)
                text = f"not ready: {sentence_of(error)}"
                logger.error(text, extra={"fields": {"code": code_of(error)}}, exc_info=None if known else error)
            self.should_exit = self.should_exit or not self._stay_up
        elif self.service.state is State.READY:
            ready = self.service.capabilities()
            took_s = time.monotonic() - self._began_s
            self._say(f"ready ({ready.engine}, {len(ready.voices)} voices, {took_s:.1f} s)")

    def _say(self, line: str) -> None:
        if self._announce is not None:
            print(f"speech-container: {line}", file=self._announce, flush=True)


def serve(settings: Settings, *, stay_up: bool | None = None) -> None:
    """Serve until told to stop. Raises one of `STARTUP_ERRORS` where the server cannot start.

    `stay_up`: whether it waits for that, not ready, where the weights cannot be loaded. None: where they are the
    platform's.
    """
    needed = settings.max_sessions + _OTHER_DESCRIPTORS
    if (allowed := allow_descriptors(needed)) < needed:
        text = "this process may have %d open files, too few for %d sessions; raise `ulimit -n` or lower the limit"
        logger.warning(text, allowed, settings.max_sessions)
    listener = bind(settings.host, settings.port)
    if stay_up is None:
        stay_up = given_weights(settings) == PLATFORM_WEIGHTS
    server = SpeechServer(Service(settings), announce=sys.stdout, stay_up=stay_up)
    with asyncio.Runner(loop_factory=server.config.get_loop_factory()) as runner:
        runner.run(server.serve(sockets=[listener]))
        failure = server.service.failure
        if failure is None and server.service.is_working:
            # Nobody waits for what these threads do, and a library must not be torn down under them.
            logging.shutdown()
            os._exit(0)
    if failure is not None:
        raise failure
