"""The README's lines, taken from the README and run against a container of our own."""

import asyncio
import json
import re
import subprocess
from pathlib import Path

import pytest
from local_cloud.stack import LocalStack

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.weights, pytest.mark.slow]

ROOT = Path(__file__).parents[2]


def curl_lines(port: int) -> list[str]:
    """The commands of the README's shell blocks that call this port, without their comments."""
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    lines = [line.partition("  #")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if f"localhost:{port}" in line]


async def test_the_curl_lines_do_what_they_say(tone_stack: LocalStack, tmp_path: Path) -> None:
    address = tone_stack.speech.url.removeprefix("http://")
    outputs = []
    for line in curl_lines(8080):
        command = line.replace("localhost:8080", address)
        done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, check=True)  # noqa: ASYNC221 - nothing else runs
        outputs.append(done.stdout)
    _ping, voices, *_, events, _fast, refused = outputs
    assert "af_heart" in voices.decode()
    for name in ("hello.wav", "whole.wav", "fast.wav"):
        assert (tmp_path / name).read_bytes().startswith(b"RIFF")
    assert len((tmp_path / "hello.pcm").read_bytes()) % 2 == 0
    assert (tmp_path / "whole.wav").stat().st_size > (tmp_path / "fast.wav").stat().st_size
    kinds = [json.loads(frame.removeprefix("data: "))["type"] for frame in events.decode().strip().split("\n\n")]
    assert kinds[0] == "audio_stream_start"
    assert kinds[-1] == "audio_stream_end"
    assert "audio_chunk" in kinds
    assert json.loads(refused)["error"]["code"] == "voice_unknown"


async def test_the_agent_s_curl_lines_are_answered(tone_stack: LocalStack, tmp_path: Path) -> None:
    assert tone_stack.agent is not None
    address = tone_stack.agent.url.removeprefix("http://")
    lines = curl_lines(8081)
    assert len(lines) == 2
    for line in lines:
        command = line.replace("localhost:8081", address)
        # in a thread: Bedrock's and SageMaker's stand-ins run in this loop
        done = await asyncio.to_thread(
            subprocess.run, ["sh", "-c", command], cwd=tmp_path, capture_output=True, check=True
        )
        assert b'"type": "agent_end"' in done.stdout


async def test_the_commands_of_the_readme_exist() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(voice-local|speech-container|agent-runtime|kokoro-weights) (\w+)", text))
    assert {command for command, _ in named} == {"voice-local", "speech-container", "agent-runtime", "kokoro-weights"}
    for command, verb in named:
        help_text = subprocess.run(  # noqa: ASYNC221 - nothing else runs
            [ROOT / ".venv" / "bin" / command, verb, "--help"], capture_output=True, text=True, check=True
        ).stdout
        assert "Usage" in help_text
