"""Server-sent events, however a transport cuts them."""

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from speech_protocol import FragmentError, SseDecoder, encode_sse

EVENTS: list[dict[str, Any]] = [{"type": "text_delta", "seq": 1, "text": "Größe\n“x”"}, {"type": "agent_end"}]
STREAM = b"".join(encode_sse(event) for event in EVENTS)


def decode(*chunks: bytes) -> list[dict[str, Any]]:
    decoder = SseDecoder()
    return [event for chunk in chunks for event in decoder.feed(chunk)]


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_a_cut_at_every_byte_gives_the_same_events(line_end: bytes) -> None:
    stream = STREAM.replace(b"\n", line_end) + b": the end" + line_end
    for cut in range(len(stream) + 1):
        assert decode(stream[:cut], stream[cut:]) == EVENTS
    assert decode(*(bytes([byte]) for byte in stream)) == EVENTS


@given(st.lists(st.dictionaries(st.text(), st.text() | st.integers() | st.none())), st.data())
def test_any_events_in_any_cuts(events: list[dict[str, Any]], data: st.DataObject) -> None:
    stream = b"".join(encode_sse(event) for event in events)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    bounds = [0, *cuts, len(stream)]
    assert decode(*(stream[a:b] for a, b in itertools.pairwise(bounds))) == events


@given(st.lists(st.binary()))
def test_no_bytes_raise(chunks: list[bytes]) -> None:
    decode(*chunks)


def test_an_event_counts_only_at_its_blank_line() -> None:
    assert decode(STREAM[:-1]) == EVENTS[:1]


def test_data_over_several_lines_is_one_event_and_other_fields_are_passed_over() -> None:
    assert decode(b'event: x\nid: 4\ndata: {"a":\ndata:1}\n\n') == [{"a": 1}]


def test_data_that_is_no_object_is_passed_over() -> None:
    assert decode(b"data: [1]\n\ndata: x\n\n\n\n" + STREAM) == EVENTS


def test_an_endless_event_is_refused() -> None:
    decoder = SseDecoder(max_bytes=10)
    decoder.feed(b"data: 1234")
    with pytest.raises(FragmentError, match="at most 10 bytes"):
        decoder.feed(b"5")
