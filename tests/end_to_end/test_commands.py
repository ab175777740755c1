"""What people type, run as they run it: the results that it leaves, and one line for whatever goes wrong."""

import asyncio
import json
import shutil
import socket
import subprocess
import sys
import wave
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from kokoro_weights import prepare

from tests.hearing import heard, samples, word_errors, words

pytestmark = [pytest.mark.weights, pytest.mark.slow, pytest.mark.timeout(600)]

TEN_SENTENCES = Path(__file__).with_name("ten_sentences.txt")
MOST_OF_BATCH = 0.35  # bidi's first audio, of batch's, at 20 tokens a second; AWS reported 0.42 for its sample, locally


def run(command: str, *arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A console script of this environment, in an empty directory."""
    script = Path(sys.executable).with_name(command)
    return subprocess.run([script, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, check=False)


def read_wav(path: Path) -> bytes:
    with wave.open(str(path)) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, 24_000)
        pcm: bytes = file.readframes(file.getnframes())
    assert len(pcm) + 44 == path.stat().st_size, "the sizes in the header are true"
    return pcm


def assert_sounds_like_speech(pcm: bytes) -> None:
    loudness = np.abs(samples(pcm))
    assert 0.05 < loudness.max() < 0.999, "it is neither silent nor clipped"
    assert 0.005 < np.sqrt(np.mean(loudness**2)) < 0.5


def assert_one_line(result: subprocess.CompletedProcess[str], *says: str) -> None:
    """It failed, and the last line on standard error says why; what came before are ticked steps."""
    *steps, reason = result.stderr.strip().splitlines()
    assert result.returncode not in (0, 2), result
    assert all(step.startswith("✓") for step in steps), result.stderr
    assert "Traceback" not in result.stderr
    for part in says:
        assert part in reason


def test_ask_speaks_far_sooner_in_bidi_than_in_batch(tmp_path: Path) -> None:
    model = f"script:{TEN_SENTENCES}"
    result = run("voice-local", "ask", "Tea?", "--model", model, "--rate", "20", "--runs", "3", "--json", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert report["first_audio_ratio"] <= MOST_OF_BATCH
    assert [answer["mode"] for answer in report["answers"]] == ["bidi", "batch"] * 3
    text = TEN_SENTENCES.read_text(encoding="utf-8").strip()
    assert {answer["text"] for answer in report["answers"]} == {text}
    assert [len(answer["sentences"]) for answer in report["answers"]] == [10, 1] * 3

    pcm = read_wav(tmp_path / "out" / "answer.wav")
    assert_sounds_like_speech(pcm)
    said = words(text)
    assert word_errors(said, heard(pcm)) <= len(said) / 10
    assert (tmp_path / "out" / "timeline.png").read_bytes().startswith(b"\x89PNG")


def test_say_writes_what_it_was_told_to_say(tmp_path: Path) -> None:
    result = run("voice-local", "say", "The kettle is on the stove.", "-o", "new/kettle.wav", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    pcm = read_wav(tmp_path / "new" / "kettle.wav")
    assert_sounds_like_speech(pcm)
    assert word_errors(words("The kettle is on the stove."), heard(pcm)) <= 1


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    """A copy of the prepared weights, to be spoiled."""
    copy = tmp_path / "weights"
    shutil.copytree(prepare().path, copy)
    return copy


def test_a_wrong_hash_is_named(tmp_path: Path, weights: Path) -> None:
    model = weights / "model.int8.onnx"
    data = bytearray(model.read_bytes())
    data[5000] ^= 1
    model.write_bytes(data)
    for command in (["voice-local", "say", "Hi.", "-o", "hi.wav"], ["speech-container", "serve", "--port", "0"]):
        result = run(*command, "--weights", weights, cwd=tmp_path)
        assert_one_line(result, "model.int8.onnx", "sha256")
    assert not (tmp_path / "hi.wav").exists()


def test_a_missing_voice_is_named(tmp_path: Path, weights: Path) -> None:
    (weights / "voices" / "af_heart.bin").unlink()
    for command in (["voice-local", "say", "Hi.", "-o", "hi.wav"], ["speech-container", "serve", "--port", "0"]):
        assert_one_line(run(*command, "--weights", weights, cwd=tmp_path), "voices/af_heart.bin")


def test_an_unknown_voice_is_refused_with_close_ones(tmp_path: Path) -> None:
    result = run("voice-local", "say", "Hi.", "-o", "hi.wav", "--voice", "af_hart", "--engine", "tone", cwd=tmp_path)
    assert_one_line(result, "voice_unknown", "af_hart", "af_heart")


@pytest.fixture
def taken_port() -> Iterator[str]:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        yield str(holder.getsockname()[1])


@pytest.mark.parametrize(
    "command",
    [
        ["voice-local", "serve", "--engine", "tone", "--speech-port"],
        ["voice-local", "serve", "--engine", "tone", "--model", f"script:{TEN_SENTENCES}", "--agent-port"],
        ["voice-local", "serve", "--engine", "tone", "--model", f"script:{TEN_SENTENCES}", "--agentcore-port"],
        ["speech-container", "serve", "--engine", "tone", "--port"],
    ],
)
def test_a_port_in_use_is_named(tmp_path: Path, taken_port: str, command: list[str]) -> None:
    assert_one_line(run(*command, taken_port, cwd=tmp_path), taken_port)


def test_a_wrong_model_and_an_unwritable_place_are_one_line_each(tmp_path: Path) -> None:
    assert_one_line(run("voice-local", "ask", "Hi.", "--model", "gpt", cwd=tmp_path), "'gpt'", "script:FILE")
    (tmp_path / "file").write_text("", encoding="utf-8")
    result = run("voice-local", "say", "Hi.", "-o", "file/hi.wav", "--engine", "tone", cwd=tmp_path)
    assert_one_line(result, "file")


async def test_serve_serves_until_it_is_told_to_end(tmp_path: Path) -> None:
    script = Path(sys.executable).with_name("voice-local")
    arguments = ["serve", "--engine", "tone", "--model", f"script:{TEN_SENTENCES}"]
    serving = await asyncio.create_subprocess_exec(
        script, *arguments, cwd=tmp_path, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    assert serving.stdout is not None
    addresses = {}
    while "certificate authority" not in addresses:
        line = (await serving.stdout.readline()).decode()
        assert line, "it ended before it served"
        name, _, value = line.partition("  ")
        addresses[name.strip()] = value.strip()
    assert addresses["speech container"].startswith("http://127.0.0.1:")
    assert addresses["SageMaker, bidirectional"].startswith("https://127.0.0.1:")
    serving.terminate()
    assert await serving.wait() == 130
    host, port = addresses["speech container"].removeprefix("http://").split(":")
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(host, int(port))
