"""POST /invocations and /v1/audio/speech: one request, one answer, streamed or whole, as audio or as events.

Nothing is sent before the first line of speech exists, so what goes wrong until then has its proper status. After
that an audio stream that cannot be finished is cut off (no final chunk), because a short file that ends cleanly would
pass for a whole one; an event stream says `error`. A client that hangs up stops its work before the engine's next
step; one that does not read is hung up on (`connections`).
"""

import asyncio
import base64
import contextlib
import json
import math
import uuid
from collections.abc import AsyncIterator, Iterable
from dataclasses import asdict
from typing import Final

from speech_protocol import ErrorCode, ErrorEvent, Invocation, MessageError, Timestamps, encode_sse
from starlette.types import Receive, Scope, Send

from .account import Outcome, outcome_of
from .delivery import Delivery
from .dialect import Dialect
from .encoders import CONTENT_TYPES
from .errors import Hangup, Refusal
from .service import Service
from .synthesis import Recitation
from .telemetry import Observer

_DISCARD_FACTOR: Final = 4  # how many times the limit is read and thrown away, so that the client gets to see the 413
_Part = Timestamps | bytes
_Headers = list[tuple[bytes, bytes]]


class Invocations:
    """The ASGI application behind a route, speaking its `dialect`."""

    def __init__(self, service: Service, dialect: Dialect) -> None:
        self._service = service
        self._dialect = dialect

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request; whichever ends first, the answer or the client's patience, ends the other."""
        observer = self._service.telemetry.observer(self._dialect.face, scope["headers"])
        exchange = _Exchange(self._service, self._dialect, observer, send, self._service.clock())
        with contextlib.ExitStack() as admission:
            settings = self._service.settings
            try:
                admission.enter_context(self._service.session(self._dialect.face))
                body = await read_body(receive, settings.max_message_bytes, settings.send_timeout_s)
            except Hangup:
                return
            except Refusal as refusal:
                await exchange.refuse(refusal.event(exchange.request_id), hang_up=True)
                return
            await self._answer(exchange, body, receive)

    async def _answer(self, exchange: "_Exchange", body: bytes, receive: Receive) -> None:
        answer = asyncio.create_task(exchange.answer(body), name="invocation")
        hangup = asyncio.create_task(_until_hangup(receive), name="invocation-hangup")
        try:
            await asyncio.wait({answer, hangup}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            hangup.cancel()
            answer.cancel()
            await asyncio.wait({answer, hangup})
        if answer.cancelled():
            exchange.dropped()
        else:
            answer.result()


class _Exchange:
    """One request and its answer on `send`."""

    def __init__(self, service: Service, dialect: Dialect, observer: Observer, send: Send, arrived_s: float) -> None:
        self.request_id = uuid.uuid4().hex
        self._service = service
        self._dialect = dialect
        self._observer = observer
        self._frame_bytes = service.settings.frame_bytes
        self._send = send
        self._arrived_s = arrived_s
        self._streaming = False
        self._is_accounted = False
        self._heard: tuple[Delivery, Recitation] | None = None

    async def answer(self, body: bytes) -> None:
        """Parse, speak, deliver; every refusal becomes its status."""
        try:
            invocation = self._dialect.parse(body, self._service.settings.max_text_chars)
            self.request_id = invocation.synthesize.request_id or self.request_id
            self._service.require_open()
            with self._service.admitted():
                listener = self._service.new_listener()
                recitation = await self._service.recite(listener, invocation.synthesize, paced=invocation.stream)
                with recitation:
                    await self._deliver(invocation, recitation)
        except MessageError as error:
            await self.refuse(ErrorEvent.of(error.code, error.message, error.request_id or self.request_id))
        except Refusal as refusal:
            await self.refuse(refusal.event(self.request_id))

    def dropped(self) -> None:
        """The client went away before it had all of its answer."""
        if self._is_accounted:
            return
        self._is_accounted = True
        if self._streaming and self._heard is not None:
            self._ended(*self._heard, "dropped")
        else:
            self._observer.unheard(self.request_id, "dropped")

    async def refuse(self, event: ErrorEvent, *, hang_up: bool = False) -> None:
        """The error body with the code's status. Where audio has begun there is no status left: see `_deliver`.

        `hang_up`: close the connection, because what the request still sends is not read.
        """
        self._is_accounted = True
        self._observer.sent(event)
        headers: _Headers = [(b"connection", b"close")] if hang_up else []
        if event.retry_after_s is not None:
            headers.append((b"retry-after", str(math.ceil(event.retry_after_s)).encode()))
        body = json.dumps(self._dialect.error(event)).encode()
        await self._respond(ErrorCode(event.code).http_status, b"application/json", body, headers)

    async def _deliver(self, invocation: Invocation, recitation: Recitation) -> None:
        request = invocation.synthesize
        delivery = Delivery(self.request_id, request.options, arrived_s=self._arrived_s, clock=self._service.clock)
        self._heard = (delivery, recitation)
        parts = _parts(delivery, recitation)
        if not invocation.stream:
            times, encoded = await _gather(parts)
            parts = _each([*times, await delivery.as_file(encoded)])
        try:
            if invocation.transport == "sse":
                await self._send_events(delivery, recitation, parts)
            elif invocation.stream:
                await self._send_stream(CONTENT_TYPES[request.options.format].encode(), parts)
            else:
                _, audio = await _gather(parts)
                await self._respond(200, CONTENT_TYPES[request.options.format].encode(), audio, [])
        except Refusal as refusal:
            if not self._streaming:
                raise
            self._ended(delivery, recitation, outcome_of(refusal.code), refusal.code)
            return
        self._ended(delivery, recitation, "complete")

    def _ended(self, delivery: Delivery, recitation: Recitation, outcome: Outcome, code: str | None = None) -> None:
        self._is_accounted = True
        self._observer.ended(delivery, recitation.script.text, outcome, queue_s=recitation.queue_s, code=code)

    async def _send_stream(self, content_type: bytes, parts: AsyncIterator[_Part]) -> None:
        """Audio in chunks. Returns without a final chunk where the engine fails, and the server cuts the connection."""
        async for part in parts:
            if isinstance(part, Timestamps):
                continue
            await self._begin(content_type)
            for chunk in _cut(part, self._frame_bytes):
                await self._write(chunk)
        await self._write(b"", more=False)

    async def _send_events(self, delivery: Delivery, recitation: Recitation, parts: AsyncIterator[_Part]) -> None:
        dialect = self._dialect
        start = dialect.started(delivery.start())
        sent = 0
        try:
            async for part in parts:
                if not self._streaming:
                    await self._begin(b"text/event-stream")
                    if start is not None:
                        await self._write(encode_sse(start))
                if isinstance(part, Timestamps):
                    await self._write(encode_sse({"type": part.type, **asdict(part)}))
                    continue
                for chunk in _cut(part, self._frame_bytes):
                    data = base64.b64encode(chunk).decode()
                    await self._write(encode_sse(dialect.chunk(sent, data)))
                    sent += 1
        except Refusal as refusal:
            if not self._streaming:
                raise
            await self._write(encode_sse(dialect.failed(refusal.event(self.request_id))), more=False)
            raise
        await self._write(encode_sse(dialect.finished(recitation.script, sent, delivery.duration_s)), more=False)

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
        await self._send({"type": "http.response.body", "body": body, "more_body": more})


async def read_body(receive: Receive, limit_bytes: int, patience_s: float) -> bytes:
    """The request's body. Raises `Refusal` past the limit (413) or its time (408), `Hangup` if the client is gone."""
    try:
        async with asyncio.timeout(patience_s):
            return await _read_body(receive, limit_bytes)
    except TimeoutError:
        text = f"the body did not come within {patience_s:g} s of its request"
        raise Refusal(ErrorCode.REQUEST_STALE, text) from None


async def _read_body(receive: Receive, limit_bytes: int) -> bytes:
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


async def _parts(delivery: Delivery, recitation: Recitation) -> AsyncIterator[_Part]:
    """Word times, if asked for, and encoded bytes in pieces; a line is delivered when the next one is asked for."""
    recitation.playback = delivery.playback
    async for spoken in recitation:
        if times := delivery.begin(spoken):
            yield times
        for piece in delivery.pieces(spoken):
            if encoded := await delivery.encode(piece):
                yield encoded
        recitation.delivered(spoken.waveform.duration_s)
    if rest := await delivery.flush():
        yield rest


async def _gather(parts: AsyncIterator[_Part]) -> tuple[list[Timestamps], bytes]:
    times: list[Timestamps] = []
    audio = bytearray()
    async for part in parts:
        if isinstance(part, Timestamps):
            times.append(part)
        else:
            audio += part
    return times, bytes(audio)


async def _each(parts: Iterable[_Part]) -> AsyncIterator[_Part]:
    for part in parts:
        yield part


def _cut(data: bytes, size: int) -> Iterable[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


def _header_value(request_id: str) -> bytes:
    """A client's id may hold any character; a header may not."""
    return request_id.encode("ascii", "replace") if request_id.isprintable() else b"-"
