"""The means and variances of the generator's norms, predicted before the generator has run: what low latency rests on.

    table = weights.norm_statistics()
    means, variances = table.predict(features(decoded, harmonics, sketch_means, sketch_variances), {"af_heart": 1.0})

A norm normalises with the statistics of a whole sentence (`generator_norms`). They are the voice's own, moved by what
is being said: statistics = voice mean + (features - voice's mean features) · (S + U · V). The features are known before
the generator's first sample: the channel means and log variances of what enters it, and those that its norms have in
the sentence's `sketch`. S takes of each sketched mean and log variance its own share to the statistic that it is of;
U · V is of rank 128. All voices share them; `norm_fit` says how they are found. A blend has the weighted mean of its
voices' means.

A table is made for weights with given hashes and is of no use to others, so it names them.
"""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kokoro_weights.errors import StatisticsRefused
from kokoro_weights.generator_norms import CHANNELS
from kokoro_weights.sketch import SKETCHED, SKETCHED_CHANNELS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

ENTERING: Final = 1068
"""Means and log variances of 512 decoded channels, then of 22 harmonic ones."""
FEATURES: Final = ENTERING + 2 * SKETCHED_CHANNELS
"""Those, then means and log variances of the sketched channels."""
STATISTICS: Final = 2 * CHANNELS
"""Means, then log variances, of every channel that is normalised."""
OF_SKETCH: Final = np.r_[SKETCHED, CHANNELS + SKETCHED.start : CHANNELS + SKETCHED.stop]
"""The statistics that the features after ENTERING are a sketch of, in their order."""
FORMAT: Final = 3
MAX_TABLE_BYTES: Final = 64 << 20
"""About five times what 54 voices need; a longer file is not read into memory."""
_LEAST_FEATURE_VARIANCE: Final = 1e-6
_LEAST_VARIANCE: Final = 1e-8
_ARRAYS: Final = {
    "voice_features": np.dtype("<f4"),
    "voice_statistics": np.dtype("<f2"),
    "sketch_slopes": np.dtype("<f4"),
    "feature_scales": np.dtype("<f4"),
    "feature_map": np.dtype("<f2"),
    "statistics_map": np.dtype("<f2"),
}


def features(
    decoded: NDArray[np.float32],
    harmonics: NDArray[np.float32],
    sketch_means: NDArray[np.float32],
    sketch_variances: NDArray[np.float32],
) -> NDArray[np.float32]:
    """float32 [11820] of a sentence: `decoded` is float32 [1, 512, half frames], `harmonics` [1, 22, spectra], both of
    the whole; `sketch_means`, `sketch_variances` float32 [1, 5376, 1], of its sketch."""
    parts = []
    for signal in (decoded[0], harmonics[0]):
        parts.append(signal.mean(axis=1))
        parts.append(np.log(np.maximum(signal.var(axis=1), _LEAST_FEATURE_VARIANCE)))
    parts.append(as_statistics(sketch_means.reshape(-1), sketch_variances.reshape(-1)))
    return np.concatenate(parts).astype(np.float32)


def as_statistics(means: NDArray[np.float32], variances: NDArray[np.float32]) -> NDArray[np.float32]:
    """float32 [2 channels], in the form that is predicted; both are float32 [channels]."""
    return np.concatenate([means, np.log(np.maximum(variances, _LEAST_VARIANCE))]).astype(np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Of one voice, as measured: `features` float32 [sentences, 11820], `statistics` float32 [sentences, 18432]."""

    features: NDArray[np.float32]
    statistics: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Calibrated:
    """What a table was made for and from, by SHA-256."""

    models: tuple[str, ...]
    """Model files that hold these weights, whatever their form."""
    voices: dict[str, str]
    """Voice name to the hash of its bytes, in the order of the table's rows."""
    text: str
    """The calibration text."""
    noise: bool = False
    """Whether the harmonic source had its noise (`source_noise`)."""


@dataclass(frozen=True, slots=True, eq=False)
class NormStatistics:
    """See the module. `voice_features` float32 [voices, 11820], `voice_statistics` float32 [voices, 18432],
    `sketch_slopes` float32 [10752], which is S, `feature_scales` float32 [11820], `feature_map` float32 [11820, rank],
    which divided by them is U, `statistics_map` float32 [rank, 18432], which is V."""

    calibrated: Calibrated
    voice_features: NDArray[np.float32]
    voice_statistics: NDArray[np.float32]
    sketch_slopes: NDArray[np.float32]
    feature_scales: NDArray[np.float32]
    feature_map: NDArray[np.float32]
    statistics_map: NDArray[np.float32]

    @property
    def voices(self) -> tuple[str, ...]:
        """The voices that can be predicted, alone and in blends."""
        return tuple(self.calibrated.voices)

    def predict(
        self, sentence: NDArray[np.float32], shares: Mapping[str, float]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Means and variances, float32 [9216] each, for `features` of a sentence in a voice or a blend of voices.

        `shares` sum to 1. Raises KeyError for a voice that is not in the table: see `knows`.
        """
        rows = {name: row for row, name in enumerate(self.voices)}
        weights = np.zeros(len(rows), dtype=np.float32)
        for name, share in shares.items():
            weights[rows[name]] = share
        moved = sentence - _product(weights, self.voice_features)
        by_map = _product(moved / self.feature_scales, self.feature_map)
        statistics = _product(weights, self.voice_statistics) + _product(by_map, self.statistics_map)
        statistics[OF_SKETCH] += self.sketch_slopes * moved[ENTERING:]
        means, log_variances = np.split(statistics, 2)
        return means, np.exp(log_variances)

    def knows(self, shares: Mapping[str, float]) -> bool:
        """Whether every voice of a blend is in the table. Nobody's blend is the empty one."""
        return bool(shares) and shares.keys() <= self.calibrated.voices.keys()

    def of_voices(self, voices: Mapping[str, str]) -> NormStatistics:
        """Without the voices whose bytes have another hash than in `voices`, or that are not there."""
        kept = [row for row, (name, digest) in enumerate(self.calibrated.voices.items()) if voices.get(name) == digest]
        names = [self.voices[row] for row in kept]
        known = {name: self.calibrated.voices[name] for name in names}
        return NormStatistics(
            Calibrated(self.calibrated.models, known, self.calibrated.text, self.calibrated.noise),
            self.voice_features[kept],
            self.voice_statistics[kept],
            self.sketch_slopes,
            self.feature_scales,
            self.feature_map,
            self.statistics_map,
        )

    def render(self) -> bytes:
        """The bytes of the file: an .npz without pickles, the same for the same table. Some arrays become float16."""
        header = {
            "format": FORMAT,
            "models": list(self.calibrated.models),
            "voices": self.calibrated.voices,
            "text": self.calibrated.text,
            **({"noise": True} if self.calibrated.noise else {}),
        }
        arrays = {name: getattr(self, name).astype(kind) for name, kind in _ARRAYS.items()}
        file = io.BytesIO()  # members of an .npz carry no date
        np.savez(file, allow_pickle=False, header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8), **arrays)
        return file.getvalue()

    @classmethod
    def parse(cls, data: bytes) -> NormStatistics:
        """Read a file that `render` wrote. Raises StatisticsRefused."""
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as file:
                header = json.loads(file["header"].tobytes())
                arrays = {name: file[name] for name in _ARRAYS}
            if header["format"] != FORMAT:
                raise StatisticsRefused(f"statistics: expected format {FORMAT}, found {header['format']!r}")
            calibrated = Calibrated(
                tuple(header["models"]), dict(header["voices"]), str(header["text"]), header.get("noise", False) is True
            )
        except (OSError, ValueError, LookupError, TypeError, EOFError, zipfile.BadZipFile) as error:
            raise StatisticsRefused(
                "statistics: expected a table that `kokoro-weights calibrate` wrote, found something else "
                f"({type(error).__name__}); calibrate again"
            ) from error
        _require_shapes(arrays, len(calibrated.voices))
        return cls(calibrated, **{name: array.astype(np.float32) for name, array in arrays.items()})


def _product(vector: NDArray[np.float32], matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    """Without BLAS and its threads: with them the stage that came next took 117 ms in place of 64."""
    product: NDArray[np.float32] = np.einsum("i,ij->j", vector, matrix)
    return product


def _require_shapes(arrays: Mapping[str, NDArray[Any]], voices: int) -> None:
    rank = arrays["feature_map"].shape[-1] if arrays["feature_map"].ndim else 0
    expected = {
        "voice_features": (voices, FEATURES),
        "voice_statistics": (voices, STATISTICS),
        "sketch_slopes": (len(OF_SKETCH),),
        "feature_scales": (FEATURES,),
        "feature_map": (FEATURES, rank),
        "statistics_map": (rank, STATISTICS),
    }
    for name, shape in expected.items():
        found = arrays[name]
        if found.shape != shape or found.dtype != _ARRAYS[name] or not np.isfinite(found).all():
            raise StatisticsRefused(
                f"statistics: {name}: expected finite {_ARRAYS[name]} {list(shape)}, "
                f"found {found.dtype} {list(found.shape)}; calibrate again"
            )
