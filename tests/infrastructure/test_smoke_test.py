"""`smoke-test` and `invoke` through the real SDK client, a gateway and the real container."""

import json
import wave
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from speech_infra.smoke_test import SENTENCES

from tests.fake_aws.harness import FakeAws
from tests.infrastructure.conftest import Shell, data_plane

pytestmark = [pytest.mark.infra, pytest.mark.weights, pytest.mark.timeout(300)]
NAME = "speech-dev-kokoro-82m-cpu"
STACK = {"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}}
PUBLISHED_S = (1.525, 2.25, 2.05)
"""What AWS published for the three sentences; the int8 weights differ by up to two frames of 25 ms."""


@pytest.fixture(scope="module")
def speaking(running: FakeAws, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """The command at an account with our stack in it, and a container that speaks under the endpoint's name."""
    running.reset()
    tags = [
        {"Key": f"voice-stack:{key}", "Value": value}
        for key, value in (("application", "kokoro-voice-stack"), ("stage", "dev"), ("component", "kokoro-82m-cpu"))
    ]
    cloudformation = running.client("cloudformation")
    cloudformation.create_stack(StackName=f"{NAME}-endpoint", TemplateBody=json.dumps(STACK), Tags=tags)
    with data_plane(NAME, "onnx", tmp_path_factory.mktemp("gateway")) as environment:
        yield Shell(running, running.environment(**environment))


def test_three_sentences_a_broken_message_and_a_close(speaking: Shell, tmp_path: Path) -> None:
    junit = tmp_path / "smoke.xml"
    result = speaking.run("smoke-test", "kokoro-82m-cpu", "--json", "--junit", str(junit)).json
    assert result["passed"] is True
    assert [case["name"] for case in result["cases"]] == [
        "session opens",
        f"text frame: {SENTENCES[0]}",
        "broken message costs one error",
        f"binary frame: {SENTENCES[1]}",
        f"text frame: {SENTENCES[2]}",
        "session closes",
    ]
    spoken = [case["audio_s"] for case in result["cases"] if "audio_s" in case]
    assert spoken == pytest.approx(PUBLISHED_S, abs=0.1)
    suite = ET.parse(junit).getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("6", "0")
    stored = speaking.run("status", "kokoro-82m-cpu", "--json").json["last_smoke_test"]
    assert stored["passed"] is True


def test_invoke_writes_a_wav_of_what_was_said(speaking: Shell, tmp_path: Path) -> None:
    file = tmp_path / "hello.wav"
    said = speaking.run("invoke", SENTENCES[0], "-o", str(file), "--model", "kokoro-82m-cpu", "--json").json
    with wave.open(str(file)) as audio:
        assert (audio.getframerate(), audio.getnchannels(), audio.getsampwidth()) == (24_000, 1, 2)
        assert audio.getnframes() / 24_000 == pytest.approx(said["duration_s"], abs=0.001)


def test_an_endpoint_that_is_not_there_is_an_error_with_a_command(speaking: Shell) -> None:
    done = speaking.run("smoke-test", "kokoro-82m-cpu", code=6, SPEECH_ENDPOINT_URI="https://127.0.0.1:9")
    assert f"{NAME} does not speak as it should: session opens:" in done.err
    assert "fix: speech-infra logs kokoro-82m-cpu" in done.err
    assert speaking.run("status", "kokoro-82m-cpu", "--json").json["last_smoke_test"]["passed"] is False
