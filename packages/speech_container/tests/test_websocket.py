"""The session edge, through real sockets. Numbers in brackets are the behaviour cases."""

import json
from typing import Any

import pytest


async def test_text_and_binary_frames_are_answered_alike(start: Any) -> None:  # [1]
    running = await start()
    message = json.dumps({"type": "synthesize", "text": "Hello there.", "request_id": "r"})
    async with running.session() as socket:
        await socket.send(message)
        as_text = await socket.answer()
        await socket.send(message.encode())
        as_binary = await socket.answer()
    assert [event["type"] for event in as_text.events] == ["synthesis_start", "synthesis_complete"]
    assert as_text.audio
    assert as_text.audio == as_binary.audio
    assert as_text.events[0] == as_binary.events[0]
    assert as_text.end["audio_bytes"] == len(as_text.audio)


BROKEN = [
    ('{"text": "a"', "invalid_json"),
    ("[]", "invalid_message"),
    ('"x"', "invalid_message"),
    ("{}", "invalid_message"),
    ('{"type": "zzz"}', "unknown_type"),
    (b'{"text": "\xff"}', "invalid_json"),
    ("{" * (1 << 20), "invalid_json"),
    ('{"text": "Hi.", "voice": "af_hearth"}', "voice_unknown"),
    ('{"text": "Hi.", "speed": 3}', "speed_out_of_range"),
    ('{"text": "Hi.", "format": "flac"}', "format_unsupported"),
    ('{"text": "Hi.", "sample_rate": 44100}', "sample_rate_unsupported"),
    ('{"text": "Hi.", "language": "tlh"}', "language_unsupported"),
    ('{"text": " \\n"}', "text_empty"),
    ('{"text": "?! ..."}', "text_empty"),
    ('{"type": "text", "delta": "Hi."}', "invalid_message"),
    ('{"type": "text", "context_id": "c", "delta": 7}', "invalid_message"),
    ('{"type": "text", "context_id": "c", "delta": "Hi.", "voice": "nobody"}', "voice_unknown"),
    ('{"type": "text", "context_id": "c", "delta": "Hi.", "language": "tlh"}', "language_unsupported"),
    ('{"type": "text", "context_id": "c", "delta": "?!", "flush": true}', "text_empty"),
    ('{"type": "text", "context_id": "c", "flush": true}', "text_empty"),
]


@pytest.mark.parametrize(("message", "code"), BROKEN, ids=[code + str(i) for i, (_, code) in enumerate(BROKEN)])
async def test_a_bad_message_costs_one_error(start: Any, message: str | bytes, code: str) -> None:  # [2]
    running = await start()
    async with running.session() as socket:
        await socket.send(message)
        refused = await socket.answer()
        good = await socket.ask(text="Good.")
    assert [event["code"] for event in refused.events] == [code]
    assert not refused.audio
    assert good.end["type"] == "synthesis_complete"


async def test_a_text_frame_that_is_not_utf8_fails_its_connection_and_no_other(start: Any) -> None:  # [2]
    running = await start()
    async with running.session() as socket, running.session() as other:
        await socket.socket.send(b'{"text": "\xff"}', text=True)
        assert await socket.closed() == 1007, "RFC 6455, 8.1"
        assert (await other.ask(text="Good.")).end["type"] == "synthesis_complete"


async def test_six_answers_come_in_order_and_never_interleaved(start: Any) -> None:  # [3]
    running = await start()
    texts = [f"Sentence number {number}. And a second one." for number in range(3)]
    async with running.session() as socket:
        apart = [await socket.ask(text=text, request_id=text) for text in texts]
        for text in texts:
            await socket.send(text=text, request_id=text)
        together = [await socket.answer() for _ in texts]
    assert [whole.audio for whole in apart] == [whole.audio for whole in together]
    assert len({whole.audio for whole in apart}) == 3
    for whole, text in zip(apart + together, texts * 2, strict=True):
        kinds = [frame["type"] if isinstance(frame, dict) else "audio" for frame in whole.frames]
        assert [kinds[0], kinds[-1]] == ["synthesis_start", "synthesis_complete"]
        assert set(kinds[1:-1]) == {"audio"}
        assert {event["request_id"] for event in whole.events} == {text}


async def test_a_faulty_message_is_answered_in_its_place(start: Any) -> None:
    running = await start()
    async with running.session() as socket:
        for text, speed in (("One.", 1), ("Two.", 9), ("Three.", 1)):
            await socket.send(text=text, speed=speed, request_id=text)
        ends = [(await socket.answer()).end for _ in range(3)]
    assert [(end["request_id"], end["type"]) for end in ends] == [
        ("One.", "synthesis_complete"),
        ("Two.", "error"),
        ("Three.", "synthesis_complete"),
    ]


async def test_cancel_stops_a_running_and_a_queued_request(start: Any) -> None:
    running = await start()
    text = "One is here. Two is here. Three is here."
    async with running.session() as socket:
        running.engine.hold()
        for name in ("running", "queued", "kept"):
            await socket.send(text=text, request_id=name)
        await running.engine.busy()
        for name in ("running", "queued"):
            await socket.send(type="cancel", request_id=name)
        assert (await socket.ask(type="ping", id="p")).frames[-1] == {"type": "pong", "id": "p"}
        running.engine.release()
        stopped = [await socket.answer() for _ in range(2)]
        kept = await socket.answer()
    for whole, name in zip(stopped, ("running", "queued"), strict=True):
        assert whole.end["type"] == "synthesis_cancelled"
        assert whole.end["request_id"] == name
        assert not whole.audio
        assert whole.end["text_spoken"] + whole.end["text_remaining"] == text
    assert kept.end["type"] == "synthesis_complete"
    assert len(running.engine.batches) == 1 + 3, "one line was in hand, and nothing of the cancelled ones came after it"


async def test_cancel_says_what_was_heard(start: Any) -> None:
    running = await start(look_ahead_s=0.1)
    text = "One is here. Two is here. Three is here."
    async with running.session() as socket:
        await socket.send(text=text, request_id="r")
        await running.engine.busy()
        running.engine.hold()
        await running.engine.busy()
        await socket.send(type="cancel")
        whole = await socket.answer()
        running.engine.release()
    spoken = whole.end["text_spoken"]
    assert spoken.startswith("One is here.")
    assert spoken + whole.end["text_remaining"] == text
    assert whole.end["text_remaining"].endswith("Three is here.")
    assert len(whole.audio) == round(whole.end["audio_s"] * 48_000)


async def test_a_cancel_that_comes_too_late_is_no_error(start: Any) -> None:
    running = await start()
    async with running.session() as socket:
        await socket.ask(text="Hello.", request_id="r")
        await socket.send(type="cancel", request_id="r")
        assert (await socket.ask(text="Again.")).end["type"] == "synthesis_complete"


SPEAKABLE = ["a", "word" * 2500, "x" * 600, "null\0byte", "\u202eright to left\u202c", "😀 and words"]


@pytest.mark.parametrize("text", SPEAKABLE, ids=["letter", "no space", "window", "null", "marks", "emoji"])
async def test_odd_texts_are_spoken_whole(start: Any, text: str) -> None:  # [10]
    running = await start(look_ahead_s=3600)  # nobody listens in real time
    async with running.session() as socket:
        whole = await socket.ask(text=text)
    assert whole.end["type"] == "synthesis_complete"
    spoken = sum(len(utterance.token_ids) for batch in running.engine.batches for utterance in batch)
    assert spoken >= sum(character.isalnum() for character in text)


@pytest.mark.parametrize("text", ["", "   ", "😀", "\u202e"], ids=["empty", "spaces", "emoji", "mark"])
async def test_nothing_to_say_is_a_clear_error(start: Any, text: str) -> None:  # [10]
    running = await start()
    async with running.session() as socket:
        assert (await socket.ask(text=text)).end["code"] == "text_empty"


async def test_a_text_that_is_too_long_is_refused(start: Any) -> None:  # [10]
    running = await start(max_text_chars=100)
    async with running.session() as socket:
        assert (await socket.ask(text="a" * 101)).end["code"] == "text_too_long"
        assert (await socket.ask(text="a" * 100)).end["type"] == "synthesis_complete"


async def test_close_finishes_the_answer_in_hand_and_cancels_the_rest(start: Any) -> None:
    running = await start()
    async with running.session() as socket:
        running.engine.hold()
        await socket.send(text="In hand. Still.", request_id="in hand")
        await socket.send(text="Behind.", request_id="behind")
        await running.engine.busy()
        await socket.send(type="close")
        await socket.send(text="Too late.")
        async with running.session() as other:
            while running.service.jobs > 1:
                await other.ask(type="ping")
        running.engine.release()
        in_hand, behind, closed = [await socket.answer() for _ in range(3)]
        assert await socket.closed() == 1000
    assert in_hand.end["type"] == "synthesis_complete"
    assert behind.end == {
        "type": "synthesis_cancelled",
        "request_id": "behind",
        "text_spoken": "",
        "text_remaining": "Behind.",
        "audio_s": 0.0,
    }
    assert closed.end == {"type": "session_closed"}


async def test_a_message_past_the_bound_closes_the_socket(start: Any) -> None:
    running = await start(max_message_bytes=1024)
    async with running.session() as socket:
        await socket.send("x" * 2000)
        assert await socket.closed() == 1009


async def test_an_engine_failure_is_an_error_without_its_words(start: Any) -> None:
    running = await start()
    running.engine.broken_tokens = {1 + ord("z")}
    async with running.session() as socket:
        failed = await socket.ask(text="Fizz.", request_id="r")
        assert (await socket.ask(text="Fine.")).end["type"] == "synthesis_complete"
    assert failed.end["code"] == "synthesis_failed"
    assert failed.end["request_id"] == "r"
    assert "words" not in failed.end["message"]


async def test_a_stale_request_is_refused(start: Any) -> None:
    running = await start()
    async with running.session() as socket:
        assert (await socket.ask(text="Hi.", request_timestamp=1_000_000_000)).end["code"] == "request_stale"
