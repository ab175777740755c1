import struct
import zlib

import pytest
from botocore.eventstream import EventStreamBuffer
from hypothesis import given
from hypothesis import strategies as st
from local_cloud.errors import MalformedFrame
from local_cloud.event_stream import (
    FrameDecoder,
    decode_frame,
    encode_error,
    encode_event,
    encode_exception,
    encode_json_event,
)


def test_botocore_reads_what_is_encoded() -> None:
    reader = EventStreamBuffer()
    reader.add_data(encode_event("PayloadPart", b"\x00\xff", headers={"DataType": "BINARY"}))
    reader.add_data(encode_exception("ModelStreamError", {"Message": "gone"}))
    reader.add_data(encode_error("InvalidSignatureException", "no"))
    event, exception, error = list(reader)
    assert event.payload == b"\x00\xff"
    assert event.headers == {
        ":event-type": "PayloadPart",
        ":content-type": "application/octet-stream",
        ":message-type": "event",
        "DataType": "BINARY",
    }
    assert exception.headers[":exception-type"] == "ModelStreamError"
    assert exception.payload == b'{"Message": "gone"}'
    assert error.headers == {
        ":message-type": "error",
        ":error-code": "InvalidSignatureException",
        ":error-message": "no",
    }


@given(st.lists(st.binary(max_size=60), max_size=6), st.data())
def test_frames_cut_anywhere_come_out_whole_and_in_order(payloads: list[bytes], data: st.DataObject) -> None:
    wire = b"".join(encode_event("PayloadPart", payload) for payload in payloads)
    decoder = FrameDecoder()
    got: list[bytes] = []
    start = 0
    while start < len(wire):
        end = data.draw(st.integers(start + 1, len(wire)))
        got += [frame.payload for frame in decoder.feed(wire[start:end])]
        start = end
    decoder.finish()
    assert got == payloads
    assert decoder.buffered_bytes == 0


@given(st.integers(min_value=0), st.integers(1, 255))
def test_no_flipped_bits_go_unnoticed(position: int, flip: int) -> None:
    wire = bytearray(encode_json_event("messageStart", {"role": "assistant"}))
    wire[position % len(wire)] ^= flip
    with pytest.raises(MalformedFrame):
        decode_frame(bytes(wire))


@given(st.binary(max_size=200))
def test_no_bytes_do_anything_but_decode_or_be_refused(wire: bytes) -> None:
    decoder = FrameDecoder()
    try:
        list(decoder.feed(wire))
    except MalformedFrame:
        return
    assert decoder.buffered_bytes == len(wire)


def _frame(headers: bytes, payload: bytes = b"") -> bytes:
    prelude = struct.pack("!II", 16 + len(headers) + len(payload), len(headers))
    message = prelude + struct.pack("!I", zlib.crc32(prelude)) + headers + payload
    return message + struct.pack("!I", zlib.crc32(message))


@pytest.mark.parametrize(
    "headers",
    [
        b"\x01a\x63",  # a type that does not exist
        b"\x05abc",  # a name longer than what is there
        b"\x01a\x07\x00\x01\xff",  # a string that is not UTF-8
        b"\x01a\x08" + b"\x7f" * 8,  # a moment far beyond the calendar
        b"\x01a\x00\x01a\x00",  # the same header twice
        b"\x01a\x04\x00",  # half an integer
    ],
)
def test_unreadable_headers_are_refused(headers: bytes) -> None:
    with pytest.raises(MalformedFrame):
        decode_frame(_frame(headers))


def test_a_length_above_the_limit_is_refused_before_it_is_buffered() -> None:
    wire = encode_event("PayloadPart", bytes(1000))
    with pytest.raises(MalformedFrame, match="limit of 500"):
        list(FrameDecoder(max_frame_bytes=500).feed(wire[:12]))


def test_a_length_that_cannot_hold_its_headers_is_refused() -> None:
    prelude = struct.pack("!II", 20, 100)
    with pytest.raises(MalformedFrame, match="cannot hold"):
        list(FrameDecoder().feed(prelude + struct.pack("!I", zlib.crc32(prelude))))


def test_the_end_inside_a_frame_is_refused() -> None:
    decoder = FrameDecoder()
    assert list(decoder.feed(encode_event("PayloadPart", b"audio")[:-1])) == []
    with pytest.raises(MalformedFrame, match="ended inside a frame"):
        decoder.finish()


def test_two_frames_are_not_one() -> None:
    wire = encode_event("PayloadPart", b"audio")
    with pytest.raises(MalformedFrame):
        decode_frame(wire + wire)
    with pytest.raises(MalformedFrame):
        decode_frame(b"")


def test_the_frames_before_a_broken_one_are_not_lost() -> None:
    good, bad = encode_event("PayloadPart", b"good"), bytearray(encode_event("PayloadPart", b"bad"))
    bad[-1] ^= 1
    frames = FrameDecoder().feed(good + bytes(bad))
    assert next(frames).payload == b"good"
    with pytest.raises(MalformedFrame):
        next(frames)
