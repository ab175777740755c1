"""The packages source puts pinned pieces together and refuses every other one by name."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import tarfile
from dataclasses import replace
from importlib import metadata
from typing import TYPE_CHECKING

import numpy as np
import pytest
from kokoro_weights import prepare
from kokoro_weights.digest import Digest
from kokoro_weights.errors import FileMissing, HashMismatch, SizeMismatch, SourceMissing, WeightsError
from kokoro_weights.manifest import VOICE_BYTES
from kokoro_weights.packages_source import PackagesSource, locate_installed
from kokoro_weights.pins import PackageFile, Pins, load
from kokoro_weights.preparation import Place, default_cache, prepare_from

if TYPE_CHECKING:
    from pathlib import Path

VOICE = np.linspace(-1, 1, 510 * 256, dtype="<f4").tobytes()
VOCABULARY = json.dumps({"vocab": {"a": 43}}).encode()


class Registry:
    """Stand-ins for what is installed and for npm: a folder of files, and pins that fit them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.asked: list[str] = []
        parts = {"part-1": b"first half, ", "part-2": b"second half"}
        for name, data in (parts | {"vocabulary": VOCABULARY}).items():
            (root / name).write_bytes(data)
        self.tarball = root / "voices.tgz"
        with tarfile.open(self.tarball, "w:gz") as archive:
            for name in ("af_heart", "bm_george"):
                info = tarfile.TarInfo(f"package/voices/{name}.bin")
                info.size = VOICE_BYTES
                archive.addfile(info, io.BytesIO(VOICE))
        packed = self.tarball.read_bytes()
        real = load()
        files = {
            name: PackageFile(name, "1.0", name, Digest.of(data)) for name, data in (parts | {"v": VOCABULARY}).items()
        }
        self.pins = replace(
            real,
            voices=dict.fromkeys(("af_heart", "bm_george"), Digest.of(VOICE).sha256),
            packages=replace(
                real.packages,
                parts=(files["part-1"], files["part-2"]),
                model=Digest.of(b"first half, second half"),
                vocabulary=replace(files["v"], path="vocabulary"),
                voices=replace(
                    real.packages.voices,
                    size_bytes=len(packed),
                    integrity="sha512-" + base64.b64encode(hashlib.sha512(packed).digest()).decode(),
                ),
            ),
        )
        self.pins = replace(self.pins, config=Digest.of(self.pins.config_bytes({"a": 43})))

    def locate(self, file: PackageFile) -> Path:
        return self.root / file.path

    def fetch(self, specifier: str, into: Path) -> Path:
        self.asked.append(specifier)
        path = into / "kokoro-js-1.2.1.tgz"
        path.write_bytes(self.tarball.read_bytes())
        return path

    def source(self, pins: Pins | None = None) -> PackagesSource:
        source = PackagesSource(pins or self.pins, locate=self.locate, fetch_voices=self.fetch)
        source.name = "stand-in"  # the pinned hashes of the real source do not hold for these bytes
        return source


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    (tmp_path / "registry").mkdir()
    return Registry(tmp_path / "registry")


def refusal(registry: Registry, cache: Path, error: type[WeightsError], pins: Pins | None = None) -> str:
    with pytest.raises(error) as caught:
        prepare_from(registry.source(pins), Place(cache))
    assert [path.name for path in cache.iterdir()] == [".weights.lock"]
    return str(caught.value)


def test_the_pieces_become_the_layout(registry: Registry, cache: Path) -> None:
    steps: set[str] = set()
    weights = prepare_from(registry.source(), Place(cache), progress=lambda step, *_: steps.add(step))
    assert weights.onnx_model is not None
    assert weights.onnx_model.read_bytes() == b"first half, second half"
    assert weights.vocabulary == {"a": 43}
    assert weights.config["n_token"] == 178
    assert weights.voice("bm_george").astype("<f4").tobytes() == VOICE
    assert registry.asked == ["kokoro-js@1.2.1"]
    assert steps == {"join the model", "fetch the voices", "write the voices"}
    origins = {entry.path: (entry.origin, entry.licence) for entry in weights.manifest.files}
    assert origins["voices/af_heart.bin"] == ("npm kokoro-js 1.2.1 package/voices/af_heart.bin", "Apache-2.0")
    assert origins["model.int8.onnx"][1] == "Apache-2.0 AND MIT"
    assert "part-1 1.0, part-2 1.0" in origins["model.int8.onnx"][0]


def test_a_part_with_other_bytes_is_refused_by_name(registry: Registry, cache: Path) -> None:
    (registry.root / "part-2").write_bytes(b"second halF")
    assert "part-2: part-2: expected sha256" in refusal(registry, cache, HashMismatch)


def test_a_truncated_part_is_refused_by_name(registry: Registry, cache: Path) -> None:
    (registry.root / "part-1").write_bytes(b"first")
    assert "part-1: part-1: expected 12 bytes, found 5" in refusal(registry, cache, SizeMismatch)


def test_a_missing_part_is_refused_by_name(registry: Registry, cache: Path) -> None:
    (registry.root / "part-2").unlink()
    assert "part-2: part-2: cannot be read" in refusal(registry, cache, FileMissing)


def test_parts_in_another_order_are_not_the_model(registry: Registry, cache: Path) -> None:
    packages = registry.pins.packages
    pins = replace(registry.pins, packages=replace(packages, parts=packages.parts[::-1]))
    assert "model.int8.onnx: expected sha256" in refusal(registry, cache, HashMismatch, pins)


def test_another_vocabulary_is_refused(registry: Registry, cache: Path) -> None:
    (registry.root / "vocabulary").write_bytes(VOCABULARY.replace(b"43", b"44"))
    assert "vocabulary: expected sha256" in refusal(registry, cache, HashMismatch)


def test_another_configuration_is_refused(registry: Registry, cache: Path) -> None:
    pins = replace(registry.pins, config=replace(registry.pins.config, sha256="0" * 64))
    assert "config.json: expected sha256" in refusal(registry, cache, HashMismatch, pins)


def test_a_tarball_of_the_same_size_and_other_bytes_is_refused(registry: Registry, cache: Path) -> None:
    packed = registry.tarball.read_bytes()
    registry.tarball.write_bytes(packed[:-1] + bytes([packed[-1] ^ 1]))
    assert "expected integrity sha512-" in refusal(registry, cache, HashMismatch)


def test_a_truncated_tarball_is_refused(registry: Registry, cache: Path) -> None:
    registry.tarball.write_bytes(registry.tarball.read_bytes()[:-10])
    assert "kokoro-js-1.2.1.tgz: expected" in refusal(registry, cache, SizeMismatch)


def test_a_swapped_voice_is_refused_by_name(registry: Registry, cache: Path) -> None:
    pins = replace(registry.pins, voices=registry.pins.voices | {"bm_george": "0" * 64})
    assert "voices/bm_george.bin: expected sha256" in refusal(registry, cache, HashMismatch, pins)


def test_a_voice_that_the_package_lacks_is_named(registry: Registry, cache: Path) -> None:
    pins = replace(registry.pins, voices=registry.pins.voices | {"zz_none": "0" * 64})
    assert "package/voices/zz_none.bin" in refusal(registry, cache, FileMissing, pins)


def test_a_package_that_is_not_installed_is_named_with_the_extra() -> None:
    file = PackageFile("kokoro-no-such-voice", "1.0", "x", Digest.of(b""))
    with pytest.raises(SourceMissing, match=r"kokoro-no-such-voice 1\.0 is not installed.*kokoro-weights\[packages\]"):
        locate_installed(file)


def test_changed_pins_are_other_inputs(registry: Registry) -> None:
    pins = replace(registry.pins, voices={"af_heart": "0" * 64})
    assert registry.source(pins).inputs != registry.source().inputs


@pytest.mark.weights
def test_the_recorded_versions_and_licences_are_those_of_the_installed_packages() -> None:
    pins = load().packages
    for file in (*pins.parts, pins.vocabulary):
        found = metadata.metadata(file.distribution)
        assert (found["Version"], found["License-Expression"]) == (file.version, "Apache-2.0")
        notice = metadata.distribution(file.distribution).read_text("licenses/NOTICE") or ""
        assert "Kokoro-82M model weights" in notice
        assert "MIT License" in notice[notice.index("int8 ONNX export") :]


@pytest.mark.weights
def test_the_real_packages_yield_the_model_and_all_54_voices() -> None:
    weights = prepare(cache=default_cache(), verify=True)
    assert weights.manifest.source == "packages"
    assert weights.onnx_model is not None
    assert weights.onnx_model.stat().st_size == 92_361_271
    entry = weights.manifest.entry("model.int8.onnx")
    assert entry is not None
    assert entry.sha256 == "6e742170d309016e5891a994e1ce1559c702a2ccd0075e67ef7157974f6406cb"
    assert len(weights.voice_names) == 54
    for name in weights.voice_names:
        voice = weights.voice(name)
        assert (voice.shape, str(voice.dtype)) == ((510, 256), "float32")
        assert np.isfinite(voice).all()
        assert voice.std() > 0.01
    assert len(weights.vocabulary) == 114
    assert max(weights.vocabulary.values()) < weights.config["n_token"] == 178


@pytest.mark.weights
@pytest.mark.slow
def test_the_real_packages_are_prepared_from_nothing(cache: Path) -> None:
    weights = prepare(cache=cache)
    weights.verify()
    assert [path.name for path in cache.iterdir() if path.is_dir()] == [weights.path.name]
