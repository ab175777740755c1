"""The server that ours is compared with: one lock around each whole message, as in the public sample.

    python -m benchmarks.rig.one_lock_server [--engine onnx] [--port 0]

It is our server with the lock put in: the same process, ASGI stack, socket options, front end, engine thread, encoder
and framing, so that the difference is the scheduling and nothing else. Whoever has the lock is synthesised and sent
sentence by sentence, as fast as the engine can; the next message of whichever session waits until the last byte is out,
first come, first served. It answers `synthesize`, `hello`, `ping` and `close`, one message of a session at a time;
there is no cancelling.
"""

import argparse
import asyncio
import contextlib
import sys
import time
import uuid
from typing import Final, cast

from speech_container import log
from speech_container.delivery import Delivery
from speech_container.errors import Refusal
from speech_container.pcm import SAMPLE_BYTES
from speech_container.server import SpeechServer, bind
from speech_container.service import Service
from speech_container.settings import Settings
from speech_protocol import (
    AudioFramer,
    Close,
    ErrorCode,
    ErrorEvent,
    Hello,
    KnownEvent,
    MessageError,
    Ping,
    Pong,
    SessionClosed,
    Synthesize,
    parse_message,
    render_event,
)
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

_UNSUPPORTED: Final = "this server takes synthesize, hello, ping and close"


class OneLock:
    """An ASGI application: WebSocket sessions behind one lock, and `app` for all else."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service
        self._lock = asyncio.Lock()  # wakes its waiters in the order in which they came
        self.messages = 0
        """Those that have the lock or wait for it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the ASGI specification."""
        if scope["type"] != "websocket":
            await self._app(scope, receive, send)
            return
        websocket = WebSocket(scope, receive, send)
        await websocket.accept()
        with contextlib.suppress(WebSocketDisconnect):
            await self._converse(websocket)

    async def _converse(self, websocket: WebSocket) -> None:
        listener = self._service.new_listener()
        while True:
            try:
                match parse_message(await websocket.receive_text()):
                    case Synthesize() as request:
                        await self._when_free(websocket, listener, request)
                    case Hello():
                        await _tell(websocket, self._service.capabilities())
                    case Ping(name):
                        await _tell(websocket, Pong(name))
                    case Close():
                        await _tell(websocket, SessionClosed())
                        await websocket.receive()  # until the peer has closed
                        return
                    case _:
                        await _tell(websocket, ErrorEvent.of(ErrorCode.UNKNOWN_TYPE, _UNSUPPORTED))
            except MessageError as error:
                await _tell(websocket, ErrorEvent.of(error.code, error.message, error.request_id))

    async def _when_free(self, websocket: WebSocket, listener: int, request: Synthesize) -> None:
        arrived_s = time.monotonic()
        self.messages += 1
        try:
            async with self._lock:
                await self._speak(websocket, listener, request, arrived_s)
        finally:
            self.messages -= 1

    async def _speak(self, websocket: WebSocket, listener: int, request: Synthesize, arrived_s: float) -> None:
        """One message, from its phonemes to its last byte, while nobody else is served."""
        request_id = request.request_id or uuid.uuid4().hex
        options = request.options
        framer = AudioFramer(self._service.settings.frame_bytes, SAMPLE_BYTES if options.format == "pcm" else 1)
        waited_s = time.monotonic() - arrived_s
        try:
            delivery = Delivery(request_id, options, arrived_s=arrived_s)
            with await self._service.recite(listener, request, paced=False) as recitation:
                await _tell(websocket, delivery.start())
                async for spoken in recitation:
                    times = delivery.begin(spoken)
                    if times is not None:
                        await _tell(websocket, times)
                    for piece in delivery.pieces(spoken):
                        for frame in framer.feed(await delivery.encode(piece)):
                            await websocket.send_bytes(frame)
                    recitation.delivered(spoken.waveform.duration_s)
                for frame in framer.feed(await delivery.flush()) + framer.flush():
                    await websocket.send_bytes(frame)
                await _tell(websocket, delivery.complete(waited_s + (recitation.queue_s or 0.0)))
        except Refusal as refusal:
            await _tell(websocket, refusal.event(request_id))


async def _tell(websocket: WebSocket, event: KnownEvent) -> None:
    await websocket.send_text(render_event(event))


def main() -> None:
    """Serve until SIGTERM."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", default="onnx")
    parser.add_argument("--port", type=int, default=0)
    arguments = parser.parse_args()
    settings = Settings.from_environment(engine=arguments.engine, port=arguments.port)
    log.configure(settings.log_level)
    server = SpeechServer(Service(settings), announce=sys.stdout)
    server.config.app = OneLock(cast(ASGIApp, server.config.app), server.service)
    server.run(sockets=[bind(settings.host, settings.port)])


if __name__ == "__main__":
    main()
