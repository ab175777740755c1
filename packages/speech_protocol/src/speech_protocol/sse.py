"""Server-sent events as both HTTP faces use them: one JSON object a frame, `data: {json}` and a blank line.

The decoder takes bytes as transports cut them (anywhere, also inside a character or between CR and LF) and yields an
event only at its blank line, following the WHATWG algorithm for event streams.
"""

import json
from collections.abc import Mapping
from typing import Any

from .errors import FragmentError
from .json_object import parse_object

MAX_EVENT_BYTES = 4 * 1024 * 1024  # a base64 audio chunk is 22 KiB; a caption list of a long answer under 1 MiB


def encode_sse(fields: Mapping[str, Any]) -> bytes:
    """One frame. JSON escapes line breaks, so the object is always one `data:` line."""
    return b"data: " + json.dumps(fields).encode("ascii") + b"\n\n"


class SseDecoder:
    """Bytes in, JSON objects out.

    `feed` raises `FragmentError` when an event grows past `max_bytes`. Frames whose data is not a JSON object are
    passed over, as are comments and events that never see their blank line.
    """

    def __init__(self, max_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_bytes = max_bytes
        self._line = bytearray()
        self._data: list[bytes] = []
        self._size = 0
        self._after_cr = False

    def feed(self, chunk: bytes) -> list[dict[str, Any]]:
        """The events that `chunk` completes, in order."""
        events: list[dict[str, Any]] = []
        for piece in chunk.splitlines(keepends=True):
            events += self._piece(piece)
        return events

    def _piece(self, piece: bytes) -> list[dict[str, Any]]:
        """One line, or the part of one that is there. bytes.splitlines knows just \\n, \\r and \\r\\n, as SSE does."""
        if self._after_cr:
            self._after_cr = False
            if piece == b"\n":  # the second half of a CR LF that was cut in two
                return []
        body = piece.rstrip(b"\r\n")
        self._line += body
        self._size += len(body)
        if self._size > self._max_bytes:
            raise FragmentError(f"an event is at most {self._max_bytes} bytes; more came before its blank line")
        if len(body) == len(piece):
            return []
        self._after_cr = piece.endswith(b"\r")
        line, self._line = bytes(self._line), bytearray()
        return self._take_line(line)

    def _take_line(self, line: bytes) -> list[dict[str, Any]]:
        if not line:
            data, self._data, self._size = b"\n".join(self._data), [], 0
            event = parse_object(data)
            return [] if event is None else [event]
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
        return []
