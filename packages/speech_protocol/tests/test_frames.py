"""Telling control from audio, for every byte string and for every audio that a server could frame."""

import itertools
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from speech_protocol import Audio, AudioFramer, Control, FragmentError, FragmentJoiner, Malformed, classify
from speech_protocol.frames import MAX_MESSAGE_BYTES

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)
json_objects = st.dictionaries(st.text(), json_values, max_size=4)
spaces = st.text(" \t\r\n", max_size=5).map(str.encode)
# Audio that is mostly braces, quotes and white space finds the corners of the rule that random bytes never would.
hostile_audio = st.lists(
    st.sampled_from([b"{", b"}", b'"', b" ", b"\n", b":", b"1", b"a", b"{}", b'{"a":1}', b"\0"])
).map(b"".join)


def test_text_frames_are_control_and_binary_objects_too() -> None:
    assert classify('{"type": "pong"}') == Control({"type": "pong"})
    assert classify(b'{"type": "pong"}') == Control({"type": "pong"})
    assert classify(b'{"type": "pong"}', is_text=True) == Control({"type": "pong"})


def test_a_text_frame_without_an_object_is_malformed_not_audio() -> None:
    assert classify("[]") == Malformed(b"[]")
    assert classify(b"\xff", is_text=True) == Malformed(b"\xff")


def test_pcm_that_begins_with_a_brace_is_audio() -> None:
    pcm = b"\x7b\x00" * 100
    assert classify(pcm) == Audio(pcm)


@given(st.binary())
@example(b"\xff\xfe{\x00}\x00")
@example(b"{" * 100_000)
@example(b'{"a":' * 100_000)
@example(b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}")
@example(b'{"a":' + b"9" * 5_000 + b"}")
@example(b'{"a":NaN}')
@example(b"\xef\xbb\xbf{}")
def test_every_byte_string_is_classified(data: bytes) -> None:
    assert isinstance(classify(data), Control | Audio)
    assert isinstance(classify(data, is_text=True), Control | Malformed)


@given(json_objects, spaces, spaces)
def test_every_object_in_binary_is_control(fields: dict[str, object], before: bytes, after: bytes) -> None:
    assert classify(before + json.dumps(fields).encode() + after) == Control(fields)


@given(st.lists(st.binary() | hostile_audio), st.sampled_from([1, 2]), st.integers(4, 40))
@example([b"{}"], 2, 4)
@example([b"{}  "], 2, 4)
@example([b"  {}"], 2, 4)
@example([b'{"a":{}}'], 2, 16)
@example([b'{"a":1}'], 1, 16)
@example([b'{"a":NaN}'], 1, 16)
def test_no_framed_audio_is_ever_taken_for_control(pieces: list[bytes], sample_bytes: int, max_bytes: int) -> None:
    framer = AudioFramer(max_bytes, sample_bytes)
    frames = [frame for piece in pieces for frame in framer.feed(piece)] + framer.flush()
    assert all(isinstance(classify(frame), Audio) for frame in frames)
    assert all(0 < len(frame) <= max_bytes and len(frame) % sample_bytes == 0 for frame in frames)
    sent, audio = b"".join(frames), b"".join(pieces)
    audio += b"\0" * (-len(audio) % sample_bytes)
    assert len(sent) == len(audio)
    # A byte differs only where a sample `{}` could not be parted from white space: { became z.
    assert all(a == b or (a, b) == (ord("z"), ord("{")) for a, b in zip(sent, audio, strict=True))


@given(st.binary(min_size=2, max_size=2000))
def test_ordinary_audio_goes_out_unchanged_and_at_once(pcm: bytes) -> None:
    pcm = b"\0\0" + pcm[: len(pcm) - len(pcm) % 2]
    framer = AudioFramer(max_bytes=64)
    assert b"".join(framer.feed(pcm)) == pcm
    assert framer.flush() == []


@pytest.mark.parametrize(
    "audio",
    [
        b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",  # deeper than Python reads, not than others do
        b'{"a":' + b"9" * 5_000 + b"}",  # more digits than Python converts
        b'{"a": NaN}',  # not JSON, but Python's parser takes it
    ],
)
def test_what_only_another_parser_would_take_is_cut_too(audio: bytes) -> None:
    assert len(AudioFramer(max_bytes=1 << 20, sample_bytes=1).feed(audio)) == 2


def test_a_lone_sample_that_spells_an_object_loses_its_lowest_bit() -> None:
    assert AudioFramer().feed(b"{}") == [b"z}"]


def test_a_half_sample_waits_for_its_other_half() -> None:
    framer = AudioFramer()
    assert framer.feed(b"\x01") == []
    assert framer.feed(b"\x02\x03") == [b"\x01\x02"]
    assert framer.flush() == [b"\x03\x00"]
    assert framer.flush() == []


def test_frames_are_cut_at_whole_samples() -> None:
    assert [len(frame) for frame in AudioFramer(max_bytes=7).feed(b"\1" * 20)] == [6, 6, 6, 2]


@pytest.mark.parametrize(("max_bytes", "sample_bytes"), [(3, 2), (1, 1), (8, 0)])
def test_a_frame_too_small_for_two_samples_is_refused(max_bytes: int, sample_bytes: int) -> None:
    with pytest.raises(ValueError, match="at least two samples"):
        AudioFramer(max_bytes, sample_bytes)


@given(json_objects, st.data())
def test_fragments_cut_anywhere_are_joined_before_they_are_read(fields: dict[str, object], data: st.DataObject) -> None:
    whole = json.dumps(fields, ensure_ascii=False).encode("utf-8", "surrogatepass")
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=4)))
    joiner = FragmentJoiner()
    bounds = [0, *cuts, len(whole)]
    pieces = [whole[a:b] for a, b in itertools.pairwise(bounds)]
    results = [joiner.feed(piece, final=index == len(pieces) - 1) for index, piece in enumerate(pieces)]
    assert results[:-1] == [None] * (len(pieces) - 1)
    assert results[-1] == classify(whole)


def test_a_cut_inside_a_character_is_harmless() -> None:
    whole = '{"text": "日本"}'.encode()
    inside = whole.index("日".encode()) + 1
    joiner = FragmentJoiner()
    assert joiner.feed(whole[:inside], is_text=True, final=False) is None
    assert joiner.feed(whole[inside:], is_text=True) == Control({"text": "日本"})


def test_the_first_fragment_says_whether_a_message_is_text() -> None:
    joiner = FragmentJoiner()
    joiner.feed(b"no", is_text=True, final=False)
    assert joiner.feed(b"pe", is_text=False) == Malformed(b"nope")
    assert joiner.feed(b"nope") == Audio(b"nope")


def test_an_endless_message_is_refused_and_the_next_one_is_read() -> None:
    joiner = FragmentJoiner(max_bytes=8)
    joiner.feed(b"12345", final=False)
    with pytest.raises(FragmentError, match="at most 8 bytes"):
        joiner.feed(b"6789", final=False)
    assert joiner.feed(b"{}") == Control({})
    assert MAX_MESSAGE_BYTES == 6 * 1024 * 1024
