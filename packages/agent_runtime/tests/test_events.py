import base64
import dataclasses
import json
from typing import get_args

import pytest
from agent_runtime.events import (
    MAX_WEBSOCKET_FRAME_BYTES,
    AgentCancelled,
    AgentEnd,
    AgentErrorEvent,
    AgentEvent,
    AgentStart,
    AudioChunk,
    AudioStreamEnd,
    AudioStreamStart,
    SentenceTimes,
    SentenceTimestamps,
    TextDelta,
    event_fields,
    render_frames,
    render_sse,
)
from speech_protocol import SseDecoder, WordTime

EVENTS: list[AgentEvent] = [
    AgentStart("turn-1", "bidi"),
    TextDelta(0, 'Caf\u00e9 \u2014\n\n"data: x" \U0001f600'),
    AudioStreamStart("pcm", 24_000),
    AudioChunk(0, bytes(range(256)) * 3),
    SentenceTimestamps(0, (WordTime("Caf\u00e9", 0.0, 0.5, 0, 4),)),
    AudioStreamEnd(1, 0.016),
    AgentEnd(12.5, None, 99.0, (SentenceTimes("Caf\u00e9.", 12.5, 13.0),)),
    AgentCancelled("turn-1", "Caf\u00e9", ".", 0.5),
    AgentErrorEvent("busy", "try again"),
]


def test_every_kind_of_event_is_in_the_list_of_these_tests() -> None:
    assert {type(event) for event in EVENTS} == set(get_args(AgentEvent))


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.type)
def test_an_event_s_fields_are_its_type_and_its_own(event: AgentEvent) -> None:
    fields = event_fields(event)
    assert list(fields) == ["type", *(field.name for field in dataclasses.fields(event) if field.compare)]
    assert fields["type"] == event.type


def test_audio_is_base64_in_json() -> None:
    assert base64.b64decode(event_fields(AudioChunk(3, b"\x00\xff{}"))["data"]) == b"\x00\xff{}"


def test_sse_cut_at_every_byte_gives_the_same_events() -> None:
    stream = b"".join(render_sse(event) for event in EVENTS)
    expected = [json.loads(json.dumps(event_fields(event))) for event in EVENTS]
    for at in range(len(stream) + 1):
        decoder = SseDecoder()
        assert decoder.feed(stream[:at]) + decoder.feed(stream[at:]) == expected
    decoder = SseDecoder()
    assert [event for byte in stream for event in decoder.feed(bytes([byte]))] == expected


def test_an_sse_frame_is_one_data_line_and_a_blank_one() -> None:
    assert render_sse(AgentErrorEvent("busy", "a\nb")) == (
        b'data: {"type": "error", "code": "busy", "message": "a\\nb"}\n\n'
    )


def test_websocket_frames_carry_audio_bare_and_all_else_as_text() -> None:
    assert render_frames(AudioChunk(0, b"\x01\x02")) == [b"\x01\x02"]
    (text,) = render_frames(EVENTS[1])
    assert isinstance(text, str)
    assert json.loads(text) == event_fields(EVENTS[1])


@pytest.mark.parametrize("limit", [MAX_WEBSOCKET_FRAME_BYTES, 101])
def test_websocket_audio_frames_are_bounded_and_hold_whole_samples(limit: int) -> None:
    data = bytes(range(250)) * 400
    frames = [frame for frame in render_frames(AudioChunk(0, data), limit) if isinstance(frame, bytes)]
    assert b"".join(frames) == data
    assert all(len(frame) <= limit and len(frame) % 2 == 0 for frame in frames)


@pytest.mark.parametrize("sentences", [0, 3, 2_000])
def test_a_long_end_is_shortened_until_it_fits_a_frame(sentences: int) -> None:
    end = AgentEnd(1.0, 2.0, 3.0, (SentenceTimes("\u20ac45 \U0001f600 more.", 1.0),) * sentences)
    (frame,) = render_frames(end)
    assert isinstance(frame, str)
    assert len(frame.encode()) <= MAX_WEBSOCKET_FRAME_BYTES
    kept = len(json.loads(frame)["sentences"])
    assert kept == sentences if sentences < 100 else 50 < kept < sentences


def test_a_long_interruption_keeps_the_text_around_its_cut() -> None:
    spoken, remaining = "".join(map(str, range(9_000))), "".join(map(str, range(5_000)))
    (frame,) = render_frames(AgentCancelled("turn-1", spoken, remaining, 1.0))
    fields = json.loads(frame)
    assert len(frame) <= MAX_WEBSOCKET_FRAME_BYTES
    assert spoken.endswith(fields["text_spoken"])
    assert remaining.startswith(fields["text_remaining"])
    assert min(len(fields["text_spoken"]), len(fields["text_remaining"])) > 5_000


def test_what_cannot_be_shortened_is_sent_as_it_is() -> None:
    (frame,) = render_frames(TextDelta(0, "x" * 200), 101)
    assert json.loads(frame)["text"] == "x" * 200
