"""Telling control frames from audio on one bidirectional stream.

SageMaker delivers one PayloadPart per WebSocket frame: DataType UTF8 is a text frame, BINARY or none a binary one, and
CompletionState PARTIAL … COMPLETE are fragments of one message. Where a transport says text, a frame is control. Where
it does not, a chunk that parses as a whole as a JSON object is control and anything else is audio; the first byte
decides nothing, because PCM may begin with 0x7b. The writer keeps the rule exact: `AudioFramer` never emits a frame
that parses so.
"""

from dataclasses import dataclass
from typing import Any

from .errors import FragmentError
from .json_object import could_be_object, parse_object

DEFAULT_FRAME_BYTES = 16 * 1024  # AgentCore's WebSocket takes frames of 32 KiB; half of it leaves room for base64
MAX_MESSAGE_BYTES = 6_291_456  # the largest body that SageMaker passes to a container


@dataclass(frozen=True, slots=True)
class Control:
    """A control frame; `fields` is the JSON object it holds."""

    fields: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Audio:
    """A piece of encoded audio: for pcm, whole 16-bit little-endian mono samples."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Malformed:
    """A frame that its transport calls text, but that holds no JSON object."""

    data: bytes


Frame = Control | Audio | Malformed


def classify(data: bytes | str, *, is_text: bool = False) -> Frame:
    """What one whole message of the stream is. A `str` always came as text. Never raises."""
    fields = parse_object(data)
    if fields is not None:
        return Control(fields)
    if isinstance(data, str):
        return Malformed(data.encode("utf-8", "surrogatepass"))
    return Malformed(data) if is_text else Audio(data)


class FragmentJoiner:
    """Joins the fragments of a message before anybody asks what it is (a cut may fall inside a multi-byte character).

    `max_bytes` bounds one message; `FragmentError` ends the join and drops what was collected, so the next message
    starts clean.
    """

    def __init__(self, max_bytes: int = MAX_MESSAGE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._parts: list[bytes] = []
        self._size = 0
        self._is_text = False

    def feed(self, data: bytes, *, is_text: bool = False, final: bool = True) -> Frame | None:
        """One fragment in; the frame out if it was the last. The first fragment's type counts, as in RFC 6455 5.4."""
        if not self._parts:
            self._is_text = is_text
        self._parts.append(data)
        self._size += len(data)
        if self._size > self._max_bytes:
            size, self._parts, self._size = self._size, [], 0
            raise FragmentError(f"a message is at most {self._max_bytes} bytes; {size} came before it was complete")
        if not final:
            return None
        joined, self._parts, self._size = b"".join(self._parts), [], 0
        return classify(joined, is_text=self._is_text)


class AudioFramer:
    """Cuts encoded audio into frames that nobody can take for control.

    `max_bytes`: the largest frame. `sample_bytes`: a frame is a whole multiple of it, 2 for pcm, 1 for encoded formats.
    Every whole sample goes out in the `feed` that brought it; a half one waits for the next.
    """

    def __init__(self, max_bytes: int = DEFAULT_FRAME_BYTES, sample_bytes: int = 2) -> None:
        if sample_bytes < 1 or max_bytes < 2 * sample_bytes:
            raise ValueError(f"a frame holds at least two samples of {sample_bytes} bytes; max_bytes is {max_bytes}")
        self._max_bytes = max_bytes - max_bytes % sample_bytes
        self._sample_bytes = sample_bytes
        self._half_sample = b""

    def feed(self, data: bytes) -> list[bytes]:
        """The frames that `data` completes, in order."""
        data = self._half_sample + data
        usable = len(data) - len(data) % self._sample_bytes
        self._half_sample = data[usable:]
        frames: list[bytes] = []
        for start in range(0, usable, self._max_bytes):
            frames += self._safe(data[start : min(start + self._max_bytes, usable)])
        return frames

    def flush(self) -> list[bytes]:
        """At the end: a sample of which only a part came, filled up with zeros."""
        held, self._half_sample = self._half_sample, b""
        return self._safe(held.ljust(self._sample_bytes, b"\0")) if held else []

    def _safe(self, frame: bytes) -> list[bytes]:
        """`frame` as it is or cut in two, so that no piece could be an object.

        A part of a JSON object is not itself an object as long as more than white space was cut off, so the first cut
        inside the object will do. One kind has no such cut: the sample `{}` (0x7d7b) among samples of white space
        (0x2020, 0x0a0d …). There the lowest bit of that sample is cleared: 1/32768 of full scale, once.
        """
        if not could_be_object(frame):
            return [frame]
        for cut in range(self._sample_bytes, len(frame), self._sample_bytes):
            head, tail = frame[:cut], frame[cut:]
            if not could_be_object(head) and not could_be_object(tail):
                return [head, tail]
        return [frame.replace(b"{", b"z", 1)]
