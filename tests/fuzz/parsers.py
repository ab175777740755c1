"""What reads bytes of a stranger's, on any bytes: each takes them or refuses them in its own words, and nothing else.

The first byte says whose turn it is, the rest is what it reads.
"""

import json
from collections.abc import Callable
from typing import Final

from speech_container.openai_dialect import OpenAiDialect
from speech_protocol import (
    Audio,
    AudioFramer,
    Control,
    EventError,
    FragmentError,
    FragmentJoiner,
    Invocation,
    MessageError,
    SseDecoder,
    UnknownEvent,
    classify,
    encode_sse,
    parse_invocation,
    parse_message,
    read_frame,
    render_event,
    render_message,
)

MAX_TEXT_CHARS: Final = 200
_CUT_BYTES: Final = 5
_FRAME_BYTES: Final = 16


def read(data: bytes) -> None:
    """Raises AssertionError, or whatever a parser lets through."""
    if data:
        _READERS[data[0] % len(_READERS)](data[1:])


def _message(data: bytes) -> None:
    """A message means the same in a binary frame and in a text frame, and after it was written anew."""
    found = _parsed(lambda: parse_message(data, max_text_chars=MAX_TEXT_CHARS))
    try:
        text = data.decode()
    except UnicodeDecodeError:
        assert found is None, f"{data!r} is no UTF-8, and was read as {found}"
        return
    assert found == _parsed(lambda: parse_message(text, max_text_chars=MAX_TEXT_CHARS))
    if found is not None:
        assert parse_message(render_message(found), max_text_chars=MAX_TEXT_CHARS) == found


def _invocation(data: bytes) -> None:
    found = _parsed(lambda: parse_invocation(data, max_text_chars=MAX_TEXT_CHARS))
    assert found is None or len(found.synthesize.text) <= MAX_TEXT_CHARS


def _openai(data: bytes) -> None:
    found: Invocation | None = _parsed(lambda: OpenAiDialect().parse(data, MAX_TEXT_CHARS))
    assert found is None or len(found.synthesize.text) <= MAX_TEXT_CHARS


def _event(data: bytes) -> None:
    """A server's frame: an event, audio, or an `EventError`; an event that is written anew is the same."""
    try:
        event = read_frame(classify(data))
    except EventError:
        return
    if not isinstance(event, Audio | UnknownEvent):
        assert read_frame(classify(render_event(event))) == event


def _fragments(data: bytes) -> None:
    """However a message is cut, it is the same one."""
    joiner = FragmentJoiner(max_bytes=1000)
    cuts = [data[start : start + _CUT_BYTES] for start in range(0, len(data), _CUT_BYTES)] or [b""]
    try:
        frames = [joiner.feed(cut, final=number == len(cuts) - 1) for number, cut in enumerate(cuts)]
    except FragmentError:
        assert len(data) > 1000
        return
    assert frames[-1] == classify(data)
    assert frames[:-1] == [None] * (len(cuts) - 1)


def _audio(data: bytes) -> None:
    """No audio reads as control, and none is lost but where a whole frame could not be told apart."""
    for sample_bytes in (1, 2):
        framer = AudioFramer(_FRAME_BYTES, sample_bytes)
        frames = framer.feed(data[:_CUT_BYTES]) + framer.feed(data[_CUT_BYTES:]) + framer.flush()
        assert not any(isinstance(classify(frame), Control) for frame in frames)
        assert all(0 < len(frame) <= _FRAME_BYTES and len(frame) % sample_bytes == 0 for frame in frames)
        sent = b"".join(frames)
        assert len(sent) - len(data) in range(sample_bytes)
        changed = [(before, after) for before, after in zip(data, sent, strict=False) if before != after]
        assert all(change == (ord("{"), ord("z")) for change in changed)


def _sse(data: bytes) -> None:
    """However a stream of events is cut, they are the same; and what we write we can read."""
    try:
        whole = SseDecoder(1000).feed(data)
    except FragmentError:
        return
    decoder = SseDecoder(1000)
    assert [event for start in range(len(data)) for event in decoder.feed(data[start : start + 1])] == whole
    assert [SseDecoder().feed(encode_sse(event)) for event in whole] == [[event] for event in whole]


def _parsed[T](parse: Callable[[], T]) -> T | None:
    try:
        return parse()
    except MessageError as error:
        json.dumps([error.code, error.message, error.request_id, error.context_id]).encode()
        error.message.encode()
        return None


_READERS: Final[tuple[Callable[[bytes], None], ...]] = (
    _message,
    _invocation,
    _openai,
    _event,
    _fragments,
    _audio,
    _sse,
)
