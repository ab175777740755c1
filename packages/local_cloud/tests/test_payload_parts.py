import datetime as dt

import pytest
from local_cloud.container_socket import Fragment
from local_cloud.errors import MalformedFrame, SignatureRefused
from local_cloud.event_stream import decode_frame, encode_event
from local_cloud.payload_parts import PartReader, render_part
from local_cloud.signatures import ChunkVerifier, Credentials, Signature
from smithy_aws_event_stream.events import EventMessage


class Trusting(ChunkVerifier):
    """Takes any chunk for signed; the chain of signatures has tests of its own."""

    def __init__(self) -> None:
        super().__init__(Credentials("a", "b"), Signature("0" * 64, "r", "s"), lambda: dt.datetime.now(dt.UTC))

    def verify(self, chunk: EventMessage) -> None:
        if chunk.payload == b"unsigned":
            raise SignatureRefused("InvalidSignatureException", "no")


def chunk(data: bytes, **headers: str) -> bytes:
    return EventMessage(payload=encode_event("PayloadPart", data, headers=headers)).encode()


@pytest.mark.parametrize(
    ("headers", "fragment"),
    [
        ({}, Fragment(b"x", text=False, final=True)),
        ({"DataType": "BINARY", "CompletionState": "PARTIAL", "P": "pad"}, Fragment(b"x", text=False, final=False)),
        ({"DataType": "UTF8", "CompletionState": "COMPLETE"}, Fragment(b"x", text=True, final=True)),
    ],
)
def test_a_part_is_a_frame(headers: dict[str, str], fragment: Fragment) -> None:
    assert list(PartReader(Trusting()).feed(chunk(b"x", **headers))) == [fragment]


def test_an_empty_part_is_a_frame_and_not_the_end() -> None:
    reader = PartReader(Trusting())
    assert list(reader.feed(chunk(b""))) == [Fragment(b"", text=False, final=True)]
    assert reader.ended is False


def test_an_empty_chunk_is_the_end_and_nothing_may_follow() -> None:
    reader = PartReader(Trusting())
    assert list(reader.feed(EventMessage().encode())) == []
    assert reader.ended is True
    reader.finish()
    with pytest.raises(SignatureRefused, match="after the end"):
        list(reader.feed(chunk(b"late")))


def test_what_came_before_a_refused_chunk_is_kept() -> None:
    fragments = PartReader(Trusting()).feed(chunk(b"good") + EventMessage(payload=b"unsigned").encode())
    assert next(fragments).data == b"good"
    with pytest.raises(SignatureRefused):
        next(fragments)


def test_a_stream_cut_inside_a_part_is_refused() -> None:
    reader = PartReader(Trusting())
    assert list(reader.feed(chunk(b"data")[:-1])) == []
    with pytest.raises(MalformedFrame):
        reader.finish()


@pytest.mark.parametrize("text", [True, False])
@pytest.mark.parametrize("final", [True, False])
def test_a_frame_rendered_reads_back(text: bool, final: bool) -> None:
    fragment = Fragment(b"\xc3", text=text, final=final)
    event = decode_frame(render_part(fragment))
    assert event.headers[":event-type"] == "PayloadPart"
    assert list(PartReader(Trusting()).feed(EventMessage(payload=render_part(fragment)).encode())) == [fragment]
