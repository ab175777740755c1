"""Word times, over a session and over HTTP. Numbers in brackets are the behaviour cases."""

from itertools import pairwise
from typing import Any

from speech_protocol import SseDecoder

from packages.speech_container.tests.conftest import TEXT, kinds, words_of

WORDS = TEXT.split()


async def test_word_times_go_before_the_audio_they_belong_to(start: Any) -> None:  # [21]
    running = await start()
    async with running.session() as socket:
        answer = await socket.ask(text=TEXT, timestamps=True)
        plain = await socket.ask(text=TEXT)
    words = words_of(answer)
    assert kinds(answer) == ["synthesis_start", *["timestamps", "audio"] * 3, "synthesis_complete"]
    assert [word["word"] for word in words] == WORDS
    assert [TEXT[word["start_char"] : word["end_char"]] for word in words] == WORDS
    assert all(word["start_s"] < word["end_s"] for word in words)
    assert all(one["end_s"] <= other["start_s"] for one, other in pairwise(words))
    assert words[-1]["end_s"] <= answer.end["total_duration_s"] == len(answer.audio) / 48_000
    sent_s = 0.0
    for frame in answer.frames:
        if isinstance(frame, bytes):
            sent_s += len(frame) / 48_000
        elif frame["type"] == "timestamps":
            assert frame["words"][0]["start_s"] >= sent_s
    assert kinds(plain) == ["synthesis_start", "audio", "synthesis_complete"]
    assert plain.audio == answer.audio


async def test_events_over_http_carry_word_times_when_asked(start: Any) -> None:  # [21]
    running = await start()
    async with running.session() as socket:
        words = words_of(await socket.ask(text=TEXT, timestamps=True))
    for stream in (True, False):
        reply = await running.invoke(text=TEXT, transport="sse", stream=stream, timestamps=True, request_id="r")
        events = SseDecoder().feed(reply.body)
        times = [event for event in events if event["type"] == "timestamps"]
        assert [word for event in times for word in event["words"]] == words
        assert {event["request_id"] for event in times} == {"r"}
        assert [event["type"] for event in events[:3]] == [
            "audio_stream_start",
            "timestamps",
            "audio_chunk" if stream else "timestamps",
        ]
    plain = await running.invoke(text=TEXT, transport="sse")
    assert "timestamps" not in {event["type"] for event in SseDecoder().feed(plain.body)}
    binary = await running.invoke(text=TEXT, format="pcm")
    assert (await running.invoke(text=TEXT, format="pcm", timestamps=True)).body == binary.body
