"""SageMaker's PayloadPart on a bidirectional stream: event-stream messages on one side, WebSocket frames on the other.

DataType UTF8 is a text frame; BINARY, or none, a binary one. CompletionState PARTIAL is a frame with more of its
message to come, COMPLETE (or none) the last one. One part is one frame, both ways."""

from collections.abc import Iterator

from smithy_aws_event_stream.events import EventMessage

from local_cloud.container_socket import Fragment
from local_cloud.errors import MalformedFrame, SignatureRefused
from local_cloud.event_stream import FrameDecoder, decode_frame, encode_event
from local_cloud.signatures import ChunkVerifier


class PartReader:
    """Takes the bytes of a signed request stream and returns the frames they carry; holds less than one part."""

    def __init__(self, verifier: ChunkVerifier) -> None:
        self._verifier = verifier
        self._decoder = FrameDecoder()
        self.ended = False
        """The signed empty frame that ends the input has come."""

    def feed(self, data: bytes) -> Iterator[Fragment]:
        """Take the next bytes; what is returned yields the frames that are complete now, in order.

        Raises (while iterating, after the frames before it):
            MalformedFrame: the bytes are no event stream, or something other than a PayloadPart.
            SignatureRefused: a chunk does not continue the chain of signatures.
        """
        return self._fragments(self._decoder.feed(data))

    def _fragments(self, chunks: Iterator[EventMessage]) -> Iterator[Fragment]:
        for chunk in chunks:
            self._verifier.verify(chunk)
            if self.ended:
                raise SignatureRefused("InvalidSignatureException", "An event came after the end of the stream.")
            if chunk.payload:
                yield _fragment(decode_frame(chunk.payload))
            else:
                self.ended = True

    def finish(self) -> None:
        """Say that the request body has ended. Raises `MalformedFrame` where that cuts a part short."""
        self._decoder.finish()


def render_part(fragment: Fragment) -> bytes:
    """The PayloadPart event that carries a container's frame."""
    headers = {
        "DataType": "UTF8" if fragment.text else "BINARY",
        "CompletionState": "COMPLETE" if fragment.final else "PARTIAL",
    }
    return encode_event("PayloadPart", fragment.data, headers=headers)


def _fragment(part: EventMessage) -> Fragment:
    event_type = part.headers.get(":event-type")
    if event_type != "PayloadPart":
        raise MalformedFrame(f"expected an event of type PayloadPart, got {event_type!r}")
    data_type = part.headers.get("DataType", "BINARY")
    if data_type not in ("UTF8", "BINARY"):
        raise MalformedFrame(f"expected DataType UTF8 or BINARY, got {data_type!r}")
    state = part.headers.get("CompletionState", "COMPLETE")
    if state not in ("PARTIAL", "COMPLETE"):
        raise MalformedFrame(f"expected CompletionState PARTIAL or COMPLETE, got {state!r}")
    return Fragment(part.payload, text=data_type == "UTF8", final=state == "COMPLETE")
