"""The agent's two faces on the local AgentCore plane: boto3's `invoke_agent_runtime`, and a WebSocket on `/ws`."""

import asyncio
import dataclasses
import io
import sys
from typing import Any

import av
import pytest
from local_cloud.answer import Answer
from local_cloud.errors import AnswerFailed
from local_cloud.socket_caller import SocketCaller
from local_cloud.stack import LocalStack

from tests.conftest import SCRIPT
from tests.wire_tap import WireTap, tapped

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.weights, pytest.mark.slow]

QUESTION = "What is this?"
MIB = 1024 * 1024


async def by_events(stack: LocalStack, audio_format: str) -> tuple[Answer, WireTap]:
    assert stack.agentcore is not None
    async with tapped(stack.agentcore.url) as tap:
        caller = dataclasses.replace(stack.caller(), endpoint_url=tap.url)
        return await caller.ask(QUESTION, mode="bidi", audio_format=audio_format), tap


async def by_socket(stack: LocalStack, audio_format: str) -> tuple[Answer, WireTap]:
    assert stack.agentcore is not None
    async with tapped(stack.agentcore.url) as tap:
        caller = dataclasses.replace(stack.caller(), endpoint_url=tap.url)
        async with SocketCaller.connect(caller) as socket:
            return await socket.ask(QUESTION, mode="bidi", audio_format=audio_format), tap


@pytest.mark.parametrize("audio_format", ["pcm", "mp3", "opus", "aac"])
async def test_both_faces_give_the_same_audio_and_the_socket_spares_a_quarter_of_the_bytes(
    audio_format: str, tone_stack: LocalStack, capsys: pytest.CaptureFixture[str]
) -> None:
    (events, sse), (socket, ws) = await by_events(tone_stack, audio_format), await by_socket(tone_stack, audio_format)
    assert unserialised(events) == unserialised(socket)
    assert events.text == socket.text == SCRIPT
    size = len(events.audio)
    with capsys.disabled():
        sys.stdout.write(
            f"\n{audio_format}: {size:,} bytes of audio; on the wire {sse.down_bytes:,} as server-sent events "
            f"({sse.down_bytes / size:.2f}), {ws.down_bytes:,} on the WebSocket ({ws.down_bytes / size:.2f})\n"
        )
    beside_audio = 12_000  # events as text, and the heads of HTTP and frames
    assert size <= ws.down_bytes < size + beside_audio
    assert sse.down_bytes > size * 4 / 3
    assert sse.down_bytes - ws.down_bytes >= size / 3


def unserialised(answer: Answer) -> bytes:
    """The audio, without the serial number that every Ogg stream is given anew."""
    return answer.audio if answer.format != "opus" else samples(answer)


def samples(answer: Answer) -> bytes:
    with av.open(io.BytesIO(answer.audio), "r") as container:
        return b"".join(frame.to_ndarray().tobytes() for frame in container.decode(audio=0))


@pytest.mark.parametrize("audio_format", ["wav", "mp3", "opus", "aac"])
async def test_an_answer_of_three_sentences_is_one_stream_that_plays(audio_format: str, tone_stack: LocalStack) -> None:
    answer = await tone_stack.caller().ask(QUESTION, mode="bidi", audio_format=audio_format)
    with av.open(io.BytesIO(answer.audio), "r") as container:
        rate_hz = container.streams.audio[0].rate
        heard = sum(frame.samples for frame in container.decode(audio=0))
    assert heard / rate_hz == pytest.approx(answer.duration_s, abs=0.1)
    assert len(answer.sentences) == 3


@pytest.mark.parametrize("breaks_at", [0.2, 0.6, 0.95])
async def test_a_speech_session_that_dies_in_mid_answer_is_not_heard(breaks_at: float, tone_stack: LocalStack) -> None:
    undisturbed = await tone_stack.caller().ask(QUESTION, mode="bidi")
    faults = tone_stack.bidirectional.faults
    faults.breaks, faults.after_bytes = 1, int(breaks_at * len(undisturbed.audio))
    disturbed = await tone_stack.caller().ask(QUESTION, mode="bidi")
    assert faults.breaks == 0
    assert disturbed.audio == undisturbed.audio
    assert disturbed.duration_s == undisturbed.duration_s


async def test_a_second_death_is_one_typed_error_and_the_text_is_whole(tone_stack: LocalStack) -> None:
    events: list[dict[str, Any]] = []
    faults = tone_stack.bidirectional.faults
    faults.breaks, faults.after_bytes = 2, 60_000
    async with SocketCaller.connect(tone_stack.caller()) as socket:
        with pytest.raises(AnswerFailed, match="speech_failed"):
            await socket.ask(QUESTION, mode="bidi", on_event=events.append)
    assert faults.breaks == 0
    assert events[-1]["code"] == "speech_failed"
    assert any(event["type"] == "audio_stream_end" for event in events)


async def test_several_questions_on_a_socket_share_one_speech_session(tone_stack: LocalStack) -> None:
    before = len(tone_stack.bidirectional.active)
    async with SocketCaller.connect(tone_stack.caller()) as socket:
        for _ in range(3):
            answer = await socket.ask(QUESTION, mode="bidi")
            assert answer.text == SCRIPT
        assert len(tone_stack.bidirectional.active) == before + 1


async def test_a_barge_in_tells_what_was_heard_and_the_next_answer_is_clean(tone_stack: LocalStack) -> None:
    whole = await tone_stack.caller().ask(QUESTION, mode="bidi")
    async with SocketCaller.connect(tone_stack.caller()) as socket:
        cancelling: list[asyncio.Task[None]] = []

        def on_event(event: dict[str, Any]) -> None:
            if event["type"] == "audio_chunk" and not cancelling:
                cancelling.append(asyncio.ensure_future(socket.cancel(played_s=0.4)))

        interrupted = await socket.ask(QUESTION, mode="bidi", on_event=on_event)
        await cancelling[0]
        assert interrupted.spoken is not None
        assert SCRIPT.startswith(interrupted.spoken)
        assert 0 < len(interrupted.spoken) < len("Hello there.")
        assert (await socket.ask(QUESTION, mode="bidi")).audio == whole.audio


async def test_a_socket_that_may_not_is_one_line(tone_stack: LocalStack) -> None:
    stranger = dataclasses.replace(tone_stack.caller(), secret_access_key="guess")
    with pytest.raises(AnswerFailed, match="could not be opened"):
        async with SocketCaller.connect(stranger):
            pass
