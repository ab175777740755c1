"""Measuring the generator's norms: every voice speaks the calibration text, and the statistics are kept.

A sentence takes about 0.75 seconds of one core for a second of audio, a voice two to three minutes, all 54 two hours.
So what was measured is written down every few sentences, under the hashes of everything it depends on, and a run that
was interrupted goes on from there. One voice's records are 5 MB.

What sentences have in common with each other is learnt from all voices together, so most of what one voice can add is
in its first dozen sentences: the error of a voice that was left out of the map falls by a fifth from 2 sentences to 12
and by a twentieth from 12 to 30.
"""

from __future__ import annotations

import hashlib
import io
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from kokoro_weights.calibrated_source import CalibratedSource
from kokoro_weights.calibration_text import Line, calibration_lines, text_digest
from kokoro_weights.errors import SourceMissing, SourceUnknown, VoiceMissing
from kokoro_weights.norm_fit import fit
from kokoro_weights.norm_statistics import FEATURES, STATISTICS, Calibrated, Records, as_statistics, features
from kokoro_weights.pins import load
from kokoro_weights.preparation import Place, default_cache, prepare_from
from kokoro_weights.sketch import THINNINGS
from kokoro_weights.stages import NOISY_TEXT_STAGE, OBSERVED_STAGE, SKETCH_STAGE, TEXT_STAGE, build
from kokoro_weights.staging import locked, storage_errors

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from kokoro_weights.directory import WeightsDirectory
    from kokoro_weights.norm_statistics import NormStatistics
    from kokoro_weights.stages import Stage

_LOCK_TIMEOUT_S: Final = 1.0  # another run is at it for hours
_WRITTEN_EVERY: Final = 4  # sentences


class Counted(Protocol):
    """Called after each sentence: the voice, and how many of all sentences are done."""

    def __call__(self, voice: str, done: int, total: int) -> None: ...


class Observer(Protocol):
    """What speaks one sentence and tells its features and the statistics of the norms."""

    def __call__(
        self, token_ids: Sequence[int], style: NDArray[np.float32], speed: float
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """float32 [11820] and [18432]; see `norm_statistics`."""
        ...


def calibrate(
    weights: WeightsDirectory,
    *,
    voices: Sequence[str] = (),
    directory: Path | None = None,
    cache: Path | None = None,
    progress: Counted,
    threads: int = 1,
    sentences: int | None = None,
    noise: bool = False,
    observe: Observer | None = None,
) -> WeightsDirectory:
    """A prepared directory with the files of `weights` and a table of its norm statistics, as `prepare` makes one.

    It is made in `cache`, or at exactly `directory`. `voices`: those to measure, all of them unless named.
    `sentences`: the first so many, all of them unless given. `noise`: the table for engines that draw the source's
    noise, in place of the one for those that do not. What was measured before costs nothing. Raises what
    `Calibration.run` and `preparation.prepare_from` raise.
    """
    place = cache or default_cache()
    calibration = Calibration(weights, place, observe, noise=noise)
    calibration.run(voices or weights.voice_names, progress, threads=threads, sentences=sentences)
    table = calibration.fit(voices or weights.voice_names)
    target = Place(place) if directory is None else Place(directory.parent, directory)
    return prepare_from(CalibratedSource(weights, table.render(), noise=noise), target)


class Calibration:
    """A directory of records for one set of weights. `observe` None: the weights' own ONNX export.

    `noise`: with KModel's noise in the source (`source_noise`).
    """

    def __init__(
        self, weights: WeightsDirectory, root: Path, observe: Observer | None = None, *, noise: bool = False
    ) -> None:
        self._weights = weights
        self._observe = observe
        self._noise = noise
        self.place = root / f"calibration-{_key(weights, noise=noise)}"

    def run(self, voices: Sequence[str], progress: Counted, *, threads: int = 1, sentences: int | None = None) -> None:
        """Measure what those voices have no records of yet: all sentences, or the first `sentences` of each.

        Raises VoiceMissing, SourceUnknown where the weights have no ONNX export, SourceMissing without onnx and
        onnxruntime, CacheBusy where another process is calibrating here, StorageError.
        """
        if unknown := sorted(set(voices) - set(self._weights.voice_names)):
            raise VoiceMissing(f"voice {unknown[0]!r} is not one of the {len(self._weights.voice_names)} here")
        lines = {voice: calibration_lines(voice)[:sentences] for voice in voices}
        total, done = sum(map(len, lines.values())), 0
        with locked(self.place, timeout_s=_LOCK_TIMEOUT_S):
            for voice, spoken in lines.items():
                for index in self._measure(voice, spoken, threads):
                    progress(voice, done + index, total)
                done += len(spoken)
                progress(voice, done, total)

    def fit(self, voices: Sequence[str]) -> NormStatistics:
        """The table of voices that were measured.

        That of a source with noise learns also from what was measured without, here in the same `root`: its error on
        sentences that were left out falls by a tenth.
        """
        entries = {voice: self._weights.manifest.entry(f"voices/{voice}.bin") for voice in voices}
        digests = {voice: entry.sha256 for voice, entry in entries.items() if entry is not None}
        pins = load()
        models = set(self._weights.model_digests)
        if pins.packages.model.sha256 in models:
            models.add(pins.dequantised.sha256)  # the same values in another form
        calibrated = Calibrated(tuple(sorted(models)), digests, text_digest(), self._noise)
        plain = Calibration(self._weights, self.place.parent) if self._noise else None
        return fit(list(digests), self.records, calibrated, beside=plain.records if plain else None)

    def records(self, voice: str) -> Records:
        """What `run` has measured of a voice: no sentences where it has not."""
        path = self._path(voice)
        if not path.is_file():
            return Records(np.empty((0, FEATURES), dtype=np.float32), np.empty((0, STATISTICS), dtype=np.float32))
        with np.load(path, allow_pickle=False) as file:
            return Records(file["features"], file["statistics"])

    def _measure(self, voice: str, lines: Sequence[Line], threads: int) -> Iterator[int]:
        """Measure the lines that are not in the records yet; the index of each is told before it is spoken."""
        records = self.records(voice)
        rows = list(zip(records.features, records.statistics, strict=True))
        styles, vocabulary = self._weights.voice(voice), self._weights.vocabulary
        for index in range(len(rows), len(lines)):
            yield index
            token_ids = [vocabulary[phoneme] for phoneme in lines[index].phonemes]
            self._observe = self._observe or ExportObserver(self._weights, threads=threads, noise=self._noise)
            rows.append(self._observe(token_ids, styles[len(token_ids) - 1], lines[index].speed))
            if len(rows) % _WRITTEN_EVERY == 0 or len(rows) == len(lines):
                self._write(voice, Records(*map(np.array, zip(*rows, strict=True))))

    def _write(self, voice: str, records: Records) -> None:
        file = io.BytesIO()
        np.savez(file, features=records.features, statistics=records.statistics)
        path = self._path(voice)
        partial = path.with_suffix(".partial")
        with storage_errors(self.place):
            partial.write_bytes(file.getvalue())
            partial.replace(path)

    def _path(self, voice: str) -> Path:
        entry = self._weights.manifest.entry(f"voices/{voice}.bin")
        digest = "" if entry is None else entry.sha256[:16]
        return self.place / f"{voice}-{digest}.npz"


class ExportObserver:
    """The int8 export's graph in float32, on onnxruntime. `noise`: with KModel's noise in its source."""

    def __init__(self, weights: WeightsDirectory, *, threads: int, noise: bool = False) -> None:
        if weights.onnx_model is None:
            raise SourceUnknown(
                f"{weights.path}: expected an ONNX export to calibrate with, found none; "
                "use weights of the source 'packages'"
            )
        self._text_stage = NOISY_TEXT_STAGE if noise else TEXT_STAGE
        stages = build(weights.onnx_model.read_bytes(), (self._text_stage, OBSERVED_STAGE, SKETCH_STAGE))
        self._sessions = {stage.path: _session(data, threads) for stage, data in stages}

    def __call__(
        self, token_ids: Sequence[int], style: NDArray[np.float32], speed: float
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """See `Observer`."""
        tensors: dict[str, NDArray[Any]] = {
            "tokens": np.array([[0, *token_ids, 0]], dtype=np.int64),
            "style": style.reshape(1, -1),
            "speed": np.array([speed], dtype=np.float32),
        }
        for stage in (self._text_stage, OBSERVED_STAGE):
            tensors |= self._run(stage, tensors)
        sketch = self._run(SKETCH_STAGE, tensors)
        statistics = as_statistics(tensors["norm_means"].reshape(-1), tensors["norm_variances"].reshape(-1))
        return features(tensors["decoded"], tensors["harmonics"], **sketch), statistics

    def _run(self, stage: Stage, tensors: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        names = [tensor.part_name for tensor in stage.outputs]
        feed = {tensor.part_name: tensors[tensor.part_name] for tensor in stage.inputs}
        return dict(zip(names, self._sessions[stage.path].run(names, feed), strict=True))


def _session(model: bytes, threads: int) -> Any:
    try:
        import onnxruntime
    except ImportError as error:
        raise SourceMissing(
            "the Python package onnxruntime is not installed; install the extra `kokoro-weights[calibrate]`"
        ) from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.enable_mem_pattern = False  # it keeps a plan for every length that was seen
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _key(weights: WeightsDirectory, *, noise: bool) -> str:
    thinned = " and ".join(str(thinning.columns) for thinning in THINNINGS)
    parts = [*sorted(weights.model_digests), text_digest(), f"sketch of {thinned}"]
    if noise:
        parts.append("noise")
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()[:16]
