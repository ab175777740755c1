"""What the smoke test catches: a server that does one thing wrong is one failed case with the reason."""

import json
from dataclasses import dataclass, field

import pytest
from speech_client import STAND_IN_CAPABILITIES, Message, SpeechSessionEnded
from speech_infra.smoke_test import SmokeResult, smoke_test
from speech_protocol import render_event

NAME = "speech-dev-kokoro-82m-cpu"


@dataclass
class Recorded:
    """A connection that plays answers of a server that does one thing wrong."""

    answers: list[Message]
    sent: list[bytes] = field(default_factory=list)

    async def send(self, text: str) -> None:
        self.sent.append(text.encode())

    async def send_binary(self, data: bytes) -> None:
        self.sent.append(data)

    async def receive(self) -> Message | None:
        return self.answers.pop(0) if self.answers else None

    async def close(self, grace_s: float) -> None:
        del grace_s


def control(**fields: object) -> Message:
    return Message(json.dumps(fields).encode(), is_text=True)


HELLO = Message(render_event(STAND_IN_CAPABILITIES).encode(), is_text=True)
START = control(type="synthesis_start", request_id="1", format="pcm", sample_rate=24_000, voice="af_heart")


def complete(duration_s: float) -> Message:
    return control(
        type="synthesis_complete", request_id="1", total_duration_s=duration_s, elapsed_s=0.1, queue_s=0.0,
        first_audio_s=0.1, audio_bytes=round(duration_s * 48_000),
    )  # fmt: skip


async def checked(*answers: Message) -> SmokeResult:
    async def connect() -> Recorded:
        return Recorded([HELLO, *answers])

    return await smoke_test(connect, NAME)


@pytest.mark.parametrize(
    ("answers", "failure"),
    [
        ((START, Message(b"\1\2" * 1200), complete(1.0)), "expected 1 s x 48000 = 48000 bytes of audio, got 2400"),
        ((START, Message(bytes(48_000)), complete(1.0)), "expected speech, got silence"),
        ((START, Message(b"\xff\x7f" * 24_000), complete(1.0)), "expected clean speech, got 24000 of 24000 samples"),
        ((control(type="error", request_id="1", code="busy", message="try later", retryable=True),), "the error busy"),
        ((), "the endpoint ended the session"),
    ],
)
async def test_what_is_wrong_with_a_sentence_is_said(answers: tuple[Message, ...], failure: str) -> None:
    result = await checked(*answers)
    assert not result.has_passed
    assert result.cases[0].failure == ""
    assert failure in result.cases[1].failure


async def test_a_session_that_cannot_be_opened_is_one_failed_case() -> None:
    async def connect() -> Recorded:
        raise SpeechSessionEnded("nobody answers")

    result = await smoke_test(connect, NAME)
    assert [(case.name, case.failure) for case in result.cases] == [("session opens", "nobody answers")]
