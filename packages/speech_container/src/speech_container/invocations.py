"""POST /invocations: one request, one answer, streamed or whole, as audio or as server-sent events.

Nothing is sent before the first line of speech exists, so what goes wrong until then has its proper status. After
that an audio stream that cannot be finished is cut off (no final chunk), because a short file that ends cleanly would
pass for a whole one; an event stream says `error`. A client that hangs up stops its work before the engine's next
step.
"""

import asyncio
import base64
import json
import logging
import math
import time
import uuid
from collections.abc import AsyncIterator, Iterable
from dataclasses import asdict
from typing import Final

from speech_protocol import ErrorCode, ErrorEvent, Invocation, MessageError, encode_sse, parse_invocation
from starlette.types import Receive, Scope, Send

from .delivery import Delivery
from .encoders import CONTENT_TYPES
from .errors import Hangup, Refusal
from .service import Service
from .synthesis import Recitation
from .websocket import log_end

logger = logging.getLogger(__name__)

_DISCARD_FACTOR: Final = 4  # how many times the limit is read and thrown away, so that the client gets to see the 413
_Headers = list[tuple[bytes, bytes]]


class Invocations:
    """The ASGI application behind the route."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request; whichever ends first, the answer or the client's patience, ends the other."""
        exchange = _Exchange(self._service, send, time.monotonic())
        try:
            body = await read_body(receive, self._service.settings.max_message_bytes)
        except Hangup:
            return
        except Refusal as refusal:
            await exchange.refuse(refusal.event(exchange.request_id))
            return
        answer = asyncio.create_task(exchange.answer(body), name="invocation")
        hangup = asyncio.create_task(_until_hangup(receive), name="invocation-hangup")
        try:
            await asyncio.wait({answer, hangup}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            hangup.cancel()
            answer.cancel()
            await asyncio.wait({answer, hangup})
        if not answer.cancelled():
            answer.result()


class _Exchange:
    """One request and its answer on `send`."""

    def __init__(self, service: Service, send: Send, arrived_s: float) -> None:
        self.request_id = uuid.uuid4().hex
        self._service = service
        self._send_timeout_s = service.settings.send_timeout_s
        self._frame_bytes = service.settings.frame_bytes
        self._send = send
        self._arrived_s = arrived_s
        self._streaming = False

    async def answer(self, body: bytes) -> None:
        """Parse, speak, deliver; every refusal becomes its status."""
        try:
            invocation = parse_invocation(body, max_text_chars=self._service.settings.max_text_chars)
            self.request_id = invocation.synthesize.request_id or self.request_id
            self._service.require_open()
            with self._service.admitted():
                recitation = await self._service.recite(self._service.new_listener(), invocation.synthesize)
                with recitation:
                    await self._deliver(invocation, recitation)
        except MessageError as error:
            await self.refuse(ErrorEvent.of(error.code, error.message, error.request_id or self.request_id))
        except Refusal as refusal:
            await self.refuse(refusal.event(self.request_id))
        except TimeoutError:
            logger.warning(
                "the client does not read; answer dropped", extra={"fields": {"request_id": self.request_id}}
            )

    async def refuse(self, event: ErrorEvent) -> None:
        """The error body with the code's status. Where audio has begun there is no status left: see `_deliver`."""
        logger.info("request refused", extra={"fields": {"request_id": event.request_id, "code": event.code}})
        error = {"code": event.code, "message": event.message, "request_id": event.request_id}
        headers: _Headers = []
        if event.retry_after_s is not None:
            headers.append((b"retry-after", str(math.ceil(event.retry_after_s)).encode()))
        body = json.dumps({"error": error}).encode()
        await self._respond(ErrorCode(event.code).http_status, b"application/json", body, headers)

    async def _deliver(self, invocation: Invocation, recitation: Recitation) -> None:
        request = invocation.synthesize
        delivery = Delivery(self.request_id, request.text, request.options, arrived_s=self._arrived_s)
        pieces = _pieces(delivery, recitation)
        if not invocation.stream:
            pieces = _one(await delivery.as_file(b"".join([piece async for piece in pieces])))
        try:
            if invocation.transport == "sse":
                await self._send_events(delivery, pieces)
            elif invocation.stream:
                await self._send_stream(CONTENT_TYPES[request.options.format].encode(), pieces)
            else:
                audio = b"".join([piece async for piece in pieces])
                await self._respond(200, CONTENT_TYPES[request.options.format].encode(), audio, [])
        except Refusal as refusal:
            if not self._streaming:
                raise
            fields = {"request_id": self.request_id, "code": refusal.code}
            logger.warning("an answer was cut off", extra={"fields": fields})
            return
        log_end(delivery, len(request.text))

    async def _send_stream(self, content_type: bytes, pieces: AsyncIterator[bytes]) -> None:
        """Audio in chunks. Returns without a final chunk where the engine fails, and the server cuts the connection."""
        async for piece in pieces:
            await self._begin(content_type)
            for chunk in _cut(piece, self._frame_bytes):
                await self._write(chunk)
        await self._write(b"", more=False)

    async def _send_events(self, delivery: Delivery, pieces: AsyncIterator[bytes]) -> None:
        start = delivery.start()
        sent = 0
        try:
            async for piece in pieces:
                if not self._streaming:
                    await self._begin(b"text/event-stream")
                    await self._write(encode_sse({**asdict(start), "type": "audio_stream_start"}))
                for chunk in _cut(piece, self._frame_bytes):
                    data = base64.b64encode(chunk).decode()
                    await self._write(encode_sse({"type": "audio_chunk", "seq": sent, "data": data}))
                    sent += 1
        except Refusal as refusal:
            if not self._streaming:
                raise
            event = {"type": "error", "request_id": self.request_id, "code": refusal.code, "message": refusal.message}
            await self._write(encode_sse(event), more=False)
            raise
        end = {"type": "audio_stream_end", "total_chunks": sent, "duration_s": round(delivery.duration_s, 6)}
        await self._write(encode_sse(end), more=False)

    async def _begin(self, content_type: bytes) -> None:
        if not self._streaming:
            self._streaming = True
            headers = [(b"content-type", content_type), (b"x-request-id", _header_value(self.request_id))]
            headers.append((b"cache-control", b"no-store"))
            await self._send({"type": "http.response.start", "status": 200, "headers": headers})

    async def _respond(self, status: int, content_type: bytes, body: bytes, extra: _Headers) -> None:
        headers = [(b"content-type", content_type), (b"content-length", str(len(body)).encode())]
        headers += [(b"x-request-id", _header_value(self.request_id)), *extra]
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
        await self._write(body, more=False)

    async def _write(self, body: bytes, *, more: bool = True) -> None:
        async with asyncio.timeout(self._send_timeout_s):
            await self._send({"type": "http.response.body", "body": body, "more_body": more})


async def read_body(receive: Receive, limit_bytes: int) -> bytes:
    """The request's body. Raises `Refusal` (413) past the limit, `Hangup` where the client went away."""
    body = bytearray()
    size = 0
    more = True
    while more and size <= limit_bytes * _DISCARD_FACTOR:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Hangup
        chunk = message.get("body", b"")
        size += len(chunk)
        more = message.get("more_body", False)
        if size <= limit_bytes:
            body += chunk
    if size > limit_bytes:
        raise Refusal(ErrorCode.TEXT_TOO_LONG, f"a body has at most {limit_bytes} bytes; more came")
    return bytes(body)


async def _until_hangup(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _pieces(delivery: Delivery, recitation: Recitation) -> AsyncIterator[bytes]:
    """The encoded bytes piece by piece; a line counts as delivered when the next one is asked for."""
    async for spoken in recitation:
        for piece in delivery.pieces(spoken):
            if encoded := await delivery.encode(piece):
                yield encoded
        delivery.delivered(spoken)
        recitation.delivered(spoken.waveform.duration_s)
    if rest := await delivery.flush():
        yield rest


async def _one(piece: bytes) -> AsyncIterator[bytes]:
    yield piece


def _cut(data: bytes, size: int) -> Iterable[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


def _header_value(request_id: str) -> bytes:
    """A client's id may hold any character; a header may not."""
    return request_id.encode("ascii", "replace") if request_id.isprintable() else b"-"
