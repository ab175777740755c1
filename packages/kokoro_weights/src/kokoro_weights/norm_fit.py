"""From measured sentences to a table: each voice's means, and one low-rank map of the features that all voices share.

What a sentence's statistics are beyond its voice's means is regressed on what its features are beyond theirs, over all
voices together: ridge regression with features scaled to one standard deviation, then the best map of that rank in the
fitted values (reduced-rank regression). Only sums over the sentences are kept, so that memory does not grow with them:
300 MB whatever the number of voices.

RIDGE and RANK are where the error on sentences that were left out is least, or falls no more (docs/low-latency.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kokoro_weights.norm_statistics import Calibrated, NormStatistics, Records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

RANK: Final = 32
RIDGE: Final = 0.1
"""In units of one feature's variance a feature."""
_LEAST_DEVIATION: Final = 1e-6
_LEAST_SHARE: Final = 1e-12


def fit(
    voices: Sequence[str],
    records: Callable[[str], Records],
    calibrated: Calibrated,
    *,
    rank: int = RANK,
    ridge: float = RIDGE,
) -> NormStatistics:
    """The table of `voices`, whose records are asked for one voice at a time, twice."""
    means = [_means(records(voice)) for voice in voices]
    deviation = _deviation(voices, records)
    gram, products = np.zeros((len(deviation), len(deviation))), np.zeros((len(deviation), len(means[0][1])))
    for voice, (feature_mean, statistics_mean) in zip(voices, means, strict=True):
        measured = records(voice)
        centred = (measured.features - feature_mean) / deviation
        gram += centred.T @ centred
        products += centred.T @ (measured.statistics - statistics_mean)
    feature_map, statistics_map = _reduced(gram, products, rank, ridge)
    return NormStatistics(
        calibrated,
        np.array([mean for mean, _ in means], dtype=np.float32),
        np.array([mean for _, mean in means], dtype=np.float32),
        (feature_map / deviation[:, None]).astype(np.float32),
        statistics_map.astype(np.float32),
    )


def _means(measured: Records) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return measured.features.mean(axis=0, dtype=np.float64), measured.statistics.mean(axis=0, dtype=np.float64)


def _deviation(voices: Sequence[str], records: Callable[[str], Records]) -> NDArray[np.float64]:
    """float64 [features]: of each feature within its voice."""
    sums = [(values.var(axis=0, dtype=np.float64) * len(values), len(values)) for values in _features(voices, records)]
    squares = np.sum([square for square, _ in sums], axis=0)
    deviation: NDArray[np.float64] = np.sqrt(squares / sum(sentences for _, sentences in sums)) + _LEAST_DEVIATION
    return deviation


def _features(voices: Sequence[str], records: Callable[[str], Records]) -> Iterator[NDArray[np.float32]]:
    return (records(voice).features for voice in voices)


def _reduced(
    gram: NDArray[np.float64], products: NDArray[np.float64], rank: int, ridge: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """U [features, rank] and V [rank, statistics] from XᵀX and XᵀY.

    The slopes are B = (XᵀX + λI)⁻¹ XᵀY. The fitted values X B are best kept by the first right singular vectors of X B,
    which are those of √(XᵀX) B, a matrix that is no longer than there are features.
    """
    values, vectors = np.linalg.eigh(gram)
    seen = values > _LEAST_SHARE * values[-1]  # directions in which the features move at all
    values, vectors = values[seen], vectors[:, seen]
    inverse = vectors / (values + ridge * len(gram))
    fitted = np.sqrt(values)[:, None] * (inverse.T @ products)
    _, directions = np.linalg.eigh(fitted @ fitted.T)
    statistics_map, _ = np.linalg.qr((directions[:, ::-1][:, :rank].T @ fitted).T)
    return inverse @ (vectors.T @ (products @ statistics_map)), statistics_map.T
