"""Preparing leaves either the whole thing or nothing, whoever else prepares meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from kokoro_weights.digest import Digest
from kokoro_weights.directory import WeightsDirectory
from kokoro_weights.errors import (
    CacheBusy,
    HashMismatch,
    ManifestInvalid,
    NotPrepared,
    SizeMismatch,
    SourceUnknown,
    StorageError,
)
from kokoro_weights.preparation import Place, default_cache, find_whole, prepare, prepare_from, prepared_directories
from kokoro_weights.staging import LOCK_NAME, locked

if TYPE_CHECKING:
    from collections.abc import Callable

MakeSource = Any


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != LOCK_NAME)


def raises(error: BaseException) -> Callable[[], None]:
    def halfway() -> None:
        raise error

    return halfway


def test_the_folder_is_named_by_its_content(prepared: WeightsDirectory, cache: Path) -> None:
    assert names(cache) == [f"weights-{prepared.manifest.content[:16]}"]


def test_the_second_time_the_source_is_not_asked(stand_in: MakeSource, cache: Path) -> None:
    source = stand_in()
    first = prepare_from(source, Place(cache))
    second = prepare_from(source, Place(cache), verify=True)
    assert (second.path, source.fills) == (first.path, 1)


def test_a_prepared_cache_may_become_read_only(prepared: WeightsDirectory, stand_in: MakeSource, cache: Path) -> None:
    (cache / LOCK_NAME).unlink()
    prepare_from(stand_in(), Place(cache))
    assert not (cache / LOCK_NAME).exists()  # found without a lock, so nothing was written


def test_other_inputs_make_another_folder(stand_in: MakeSource, cache: Path) -> None:
    old = prepare_from(stand_in(), Place(cache))
    new = prepare_from(stand_in(inputs="2"), Place(cache))
    assert names(cache) == sorted([old.path.name, new.path.name])
    assert prepared_directories(cache) == sorted([old.path, new.path])


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("bug"), OSError(28, "No space left on device")])
def test_an_interrupted_preparation_leaves_nothing(stand_in: MakeSource, cache: Path, error: BaseException) -> None:
    expected = StorageError if isinstance(error, OSError) else type(error)
    with pytest.raises(expected):
        prepare_from(stand_in(raises(error)), Place(cache))
    assert names(cache) == []
    assert prepare_from(stand_in(), Place(cache)).voice_names == ("af_heart", "bm_george")


def test_a_full_disk_says_what_to_do(stand_in: MakeSource, cache: Path) -> None:
    with pytest.raises(StorageError, match=r"No space left on device.*--cache DIR"):
        prepare_from(stand_in(raises(OSError(28, "No space left on device"))), Place(cache))


@pytest.mark.parametrize(
    ("digest", "error"), [(Digest("0" * 64, 3200), HashMismatch), (Digest("0" * 64, 9999), SizeMismatch)]
)
def test_other_bytes_than_pinned_leave_nothing(
    stand_in: MakeSource, cache: Path, digest: Digest, error: type[Exception]
) -> None:
    with pytest.raises(error, match=r"model\.int8\.onnx"):
        prepare_from(stand_in(model_digest=digest), Place(cache))
    assert names(cache) == []


def run_stand_in(data: Path, *arguments: str | Path) -> subprocess.Popen[str]:
    command = [sys.executable, str(data / "stand_in.py"), *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_what_a_killed_process_left_is_removed(stand_in: MakeSource, cache: Path, data: Path, tmp_path: Path) -> None:
    dead = run_stand_in(data, cache, tmp_path / "log", "die")
    dead.communicate(timeout=60)
    assert dead.returncode == -signal.SIGKILL
    left = names(cache)
    assert len(left) == 1
    assert left[0].startswith(".weights-partial-")
    weights = prepare_from(stand_in(), Place(cache))
    assert names(cache) == [weights.path.name]


def test_two_processes_at_once_prepare_once(cache: Path, data: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    first = run_stand_in(data, cache, log, "wait")
    assert first.stdout is not None
    assert first.stdout.readline() == "filling\n"
    others = [run_stand_in(data, cache, log) for _ in range(2)]
    answer, _ = first.communicate("go on\n", timeout=60)
    answers = [other.communicate(timeout=60)[0] for other in others]
    assert [first.returncode, *(other.returncode for other in others)] == [0, 0, 0]
    assert answers == [answer, answer]
    assert log.read_text() == "fill\n"
    WeightsDirectory.open(Path(answer.strip())).verify()
    assert names(cache) == [Path(answer.strip()).name]


def test_waiting_for_another_process_ends(stand_in: MakeSource, cache: Path) -> None:
    with locked(cache, timeout_s=1), pytest.raises(CacheBusy, match=r"more than 0\.05 s"):
        prepare_from(stand_in(), Place(cache), lock_timeout_s=0.05)


def damage(weights: WeightsDirectory) -> None:
    path = weights.path / "model.int8.onnx"
    path.write_bytes(path.read_bytes()[::-1])


def test_damage_is_refused_when_verified_and_made_anew_by_repair(
    prepared: WeightsDirectory, stand_in: MakeSource, cache: Path
) -> None:
    damage(prepared)
    with pytest.raises(HashMismatch, match="--repair"):
        prepare_from(stand_in(), Place(cache), verify=True)
    repaired = prepare_from(stand_in(), Place(cache), repair=True)
    repaired.verify()
    assert repaired.path == prepared.path
    assert names(cache) == [prepared.path.name]


def test_only_a_whole_directory_is_found_whole(prepared: WeightsDirectory, stand_in: MakeSource, cache: Path) -> None:
    assert find_whole(stand_in(), Place(cache)) == prepared
    assert find_whole(stand_in(inputs="2"), Place(cache)) is None
    damage(prepared)
    assert find_whole(stand_in(), Place(cache)) is None


def test_repair_leaves_a_whole_directory_alone(prepared: WeightsDirectory, stand_in: MakeSource, cache: Path) -> None:
    source = stand_in()
    prepare_from(source, Place(cache), repair=True)
    assert source.fills == 0


def test_a_truncated_file_is_refused_even_without_verifying(
    prepared: WeightsDirectory, stand_in: MakeSource, cache: Path
) -> None:
    os.truncate(prepared.path / "model.int8.onnx", 5)
    with pytest.raises(SizeMismatch, match=r"model\.int8\.onnx"):
        prepare_from(stand_in(), Place(cache))


@pytest.mark.parametrize("text", ["{", "{}"])
def test_a_broken_manifest_is_refused_until_repaired(
    prepared: WeightsDirectory, stand_in: MakeSource, cache: Path, text: str
) -> None:
    (prepared.path / "manifest.json").write_text(text)
    with pytest.raises(ManifestInvalid):
        prepare_from(stand_in(), Place(cache))
    prepare_from(stand_in(), Place(cache), repair=True).verify()


def test_a_folder_of_ours_without_a_manifest_is_made_anew(
    prepared: WeightsDirectory, stand_in: MakeSource, cache: Path
) -> None:
    (prepared.path / "manifest.json").unlink()
    prepare_from(stand_in(), Place(cache)).verify()


def test_a_directory_is_made_at_exactly_the_path_given(stand_in: MakeSource, tmp_path: Path) -> None:
    target = tmp_path / "model"
    target.mkdir()
    source = stand_in()
    weights = prepare_from(source, Place(tmp_path, target))
    assert weights.path == target
    assert names(tmp_path) == ["model"]
    prepare_from(source, Place(tmp_path, target))
    assert source.fills == 1


@pytest.mark.parametrize("repair", [False, True])
def test_what_somebody_else_keeps_at_the_path_is_never_replaced(
    stand_in: MakeSource, tmp_path: Path, repair: bool
) -> None:
    target = tmp_path / "model"
    target.mkdir()
    (target / "manifest.json").write_text('{"name": "a web page"}')
    source = stand_in()
    with pytest.raises(StorageError, match="something else"):
        prepare_from(source, Place(tmp_path, target), repair=repair)
    assert names(target) == ["manifest.json"]
    assert source.fills == 0


def test_a_place_that_cannot_be_made_says_so(stand_in: MakeSource, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError, match="cannot be written here"):
        prepare_from(stand_in(), Place(tmp_path / "file" / "cache"))


def test_the_directory_source_verifies_in_place(prepared: WeightsDirectory) -> None:
    assert prepare("directory", directory=prepared.path).path == prepared.path
    damage(prepared)
    with pytest.raises(HashMismatch):
        prepare("directory", directory=prepared.path)


def test_the_directory_source_needs_a_prepared_directory(tmp_path: Path) -> None:
    with pytest.raises(SourceUnknown, match="--directory DIR"):
        prepare("directory")
    with pytest.raises(NotPrepared):
        prepare("directory", directory=tmp_path)


def test_an_unknown_source_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(SourceUnknown, match="packages, hub, directory, found 'torrent'"):
        prepare("torrent", cache=tmp_path)


def test_the_environment_names_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KOKORO_WEIGHTS_CACHE", str(tmp_path / "here"))
    assert default_cache() == tmp_path / "here"
    monkeypatch.delenv("KOKORO_WEIGHTS_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert default_cache().name == "kokoro-voice-stack"
