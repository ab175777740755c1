"""Framing of application/vnd.amazon.eventstream, on both sides of every streaming data plane here.

A frame is a 12-byte prelude (total length, headers length, CRC-32 of the two), headers, payload, and a CRC-32 of all
of it. Bytes and values of one frame are turned into each other by smithy-aws-event-stream, the code of the AWS SDK
itself; what is added here is what a server needs besides: frames cut at any byte, and a length that is refused
before it is buffered."""

import json
import struct
import zlib
from collections.abc import Iterator, Mapping
from io import BytesIO

from smithy_aws_event_stream.events import Event, EventMessage
from smithy_aws_event_stream.exceptions import EventError

from local_cloud.errors import MalformedFrame

CONTENT_TYPE = "application/vnd.amazon.eventstream"
PRELUDE_BYTES = 12
SMALLEST_FRAME_BYTES = 16
MAX_FRAME_BYTES = 1024 * 1024 + 64 * 1024
"""SageMaker's PayloadPart holds at most 1 MiB; the rest is for headers and the signed frame around it."""


class FrameDecoder:
    """Bytes in, whole frames out. Holds less than one frame, and no more than `max_frame_bytes`.

    After `MalformedFrame` the stream has no known frame boundary any more, and the decoder must be thrown away.
    """

    def __init__(self, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self._max_frame_bytes = max_frame_bytes
        self._buffer = bytearray()

    @property
    def buffered_bytes(self) -> int:
        """Bytes of a frame that has begun and is not complete."""
        return len(self._buffer)

    def feed(self, data: bytes) -> Iterator[EventMessage]:
        """Take the next bytes; what is returned yields the frames that are complete now, in order.

        Raises (while iterating, after the frames before it):
            MalformedFrame: a checksum differs, a header cannot be read, or a length is impossible or above the limit.
        """
        self._buffer += data
        return self._frames()

    def _frames(self) -> Iterator[EventMessage]:
        while (length := self._frame_length()) is not None and len(self._buffer) >= length:
            frame = bytes(self._buffer[:length])
            del self._buffer[:length]
            yield _decode(frame)

    def finish(self) -> None:
        """Say that no more bytes will come.

        Raises:
            MalformedFrame: a frame was cut short.
        """
        if self._buffer:
            raise MalformedFrame(f"the event stream ended inside a frame, {len(self._buffer)} bytes after its start")

    def _frame_length(self) -> int | None:
        """Total length of the frame that the buffer begins with, or None while its prelude is incomplete."""
        if len(self._buffer) < PRELUDE_BYTES:
            return None
        total, headers, crc = struct.unpack_from("!III", self._buffer)
        if zlib.crc32(self._buffer[:8]) != crc:
            raise MalformedFrame("expected an event-stream frame; the checksum of its first 8 bytes differs")
        if total > self._max_frame_bytes:
            raise MalformedFrame(f"a frame of {total} bytes is above the limit of {self._max_frame_bytes}")
        if total < SMALLEST_FRAME_BYTES + headers:
            raise MalformedFrame(f"a frame of {total} bytes cannot hold {headers} bytes of headers")
        return int(total)


def decode_frame(frame: bytes) -> EventMessage:
    """The one frame that `frame` is, whole.

    Raises:
        MalformedFrame: it is none, or is followed by something else.
    """
    decoder = FrameDecoder(max_frame_bytes=max(len(frame), SMALLEST_FRAME_BYTES))
    frames = list(decoder.feed(frame))
    decoder.finish()
    if len(frames) != 1:
        raise MalformedFrame(f"expected one event-stream frame, got {len(frames)}")
    return frames[0]


def encode_event(
    event_type: str,
    payload: bytes,
    content_type: str = "application/octet-stream",
    headers: Mapping[str, str] | None = None,
) -> bytes:
    """A modelled event, such as SageMaker's PayloadPart. `headers` are the event's own header members."""
    named = {":event-type": event_type, ":content-type": content_type, ":message-type": "event"}
    return EventMessage(headers={**named, **(headers or {})}, payload=payload).encode()


def encode_json_event(event_type: str, payload: Mapping[str, object]) -> bytes:
    """A modelled event whose members travel as one JSON object, as Bedrock's do."""
    return encode_event(event_type, _json(payload), content_type="application/json")


def encode_exception(exception_type: str, payload: Mapping[str, object]) -> bytes:
    """A modelled exception in mid stream. `exception_type` is the member name in the stream's union."""
    headers = {":exception-type": exception_type, ":content-type": "application/json", ":message-type": "exception"}
    return EventMessage(headers=headers, payload=_json(payload)).encode()


def encode_error(code: str, message: str) -> bytes:
    """An unmodelled error in mid stream, for what the operation's own model has no exception for."""
    return EventMessage(headers={":message-type": "error", ":error-code": code, ":error-message": message}).encode()


def _json(payload: Mapping[str, object]) -> bytes:
    return json.dumps(payload, ensure_ascii=False).encode()


def _decode(frame: bytes) -> EventMessage:
    try:
        event = Event.decode(BytesIO(frame))
    # Beside its own errors the SDK's decoder lets through what struct, a dict and datetime say of unreadable headers.
    except (EventError, struct.error, KeyError, ValueError, OverflowError, OSError) as error:
        raise MalformedFrame(f"expected an event-stream frame; {type(error).__name__} while reading it") from error
    if event is None:
        raise MalformedFrame("expected an event-stream frame, got nothing")
    return event.message
