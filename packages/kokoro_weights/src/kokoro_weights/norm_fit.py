"""From measured sentences to a table: each voice's means, and what all voices share to tell a sentence from them.

What a sentence's statistics are beyond its voice's means is regressed on what its features are beyond theirs, over all
voices together, in two steps:

1. S: each sketched statistic on the sketch of it, alone. Of that slope a share is taken, SHARES at the lower and at the
   higher rate, because the next step finds some of the same.
2. U · V: what is left, on all features. Ridge regression with features scaled to one standard deviation, in which what
   enters the generator counts as much as its whole sketch; then the best map of that rank in the fitted values
   (reduced-rank regression), where means count in standard deviations of their channel, MEAN_WEIGHT times.

There are more features than sentences, so everything is solved among the sentences: 1.2 GB for 2,160.

The constants are where the error on sentences that were left out is least, or falls no more (docs/low-latency.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kokoro_weights.generator_norms import CHANNELS
from kokoro_weights.norm_statistics import ENTERING, OF_SKETCH, Calibrated, NormStatistics, Records
from kokoro_weights.sketch import LOWER_CHANNELS, SKETCHED_CHANNELS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

RANK: Final = 128
RIDGE: Final = 0.1
"""In units of one feature's variance a feature."""
SHARES: Final = (0.8, 0.5)
MEAN_WEIGHT: Final = 3.0
"""An error of 0.01 standard deviations in means does as much to the sound as one of 0.03 in log variances."""
_LEAST_DEVIATION: Final = 1e-6
_LEAST_SQUARES: Final = 1e-12


def fit(
    voices: Sequence[str],
    records: Callable[[str], Records],
    calibrated: Calibrated,
    *,
    beside: Callable[[str], Records] | None = None,
    rank: int = RANK,
    ridge: float = RIDGE,
    shares: tuple[float, float] = SHARES,
) -> NormStatistics:
    """The table of `voices`, whose records are asked for one voice at a time.

    `beside`: the same voices' records with another source, less or more of them: S and U · V are learnt from these too.
    """
    measured = [records(voice) for voice in voices]
    if beside is not None:
        measured += [found for voice in voices if len((found := beside(voice)).features)]
    voice_features = np.array([of_voice.features.mean(axis=0, dtype=np.float64) for of_voice in measured])
    voice_statistics = np.array([of_voice.statistics.mean(axis=0, dtype=np.float64) for of_voice in measured])
    features = _beyond([of_voice.features for of_voice in measured], voice_features)
    statistics = _beyond([of_voice.statistics for of_voice in measured], voice_statistics)
    slopes = _each(shares) * _slopes(features[:, ENTERING:], statistics[:, OF_SKETCH])
    statistics[:, OF_SKETCH] -= slopes * features[:, ENTERING:]
    scales = _scales(features)
    features /= scales
    feature_map, statistics_map = _reduced(features, statistics, _weights(voice_statistics), rank, ridge)
    return NormStatistics(
        calibrated,
        voice_features[: len(voices)].astype(np.float32),
        voice_statistics[: len(voices)].astype(np.float32),
        slopes.astype(np.float32),
        scales,
        feature_map.astype(np.float32),
        statistics_map.astype(np.float32),
    )


def _beyond(measured: Sequence[NDArray[np.float32]], means: NDArray[np.float64]) -> NDArray[np.float32]:
    """All sentences of all voices, less their voice's mean."""
    parts = [(values - mean).astype(np.float32) for values, mean in zip(measured, means, strict=True)]
    return np.concatenate(parts)


def _slopes(features: NDArray[np.float32], statistics: NDArray[np.float32]) -> NDArray[np.float64]:
    """Of each statistic on the feature of the same index, through the means."""
    products = np.einsum("ij,ij->j", features, statistics, dtype=np.float64)
    squares = np.einsum("ij,ij->j", features, features, dtype=np.float64)
    slopes: NDArray[np.float64] = products / np.maximum(squares, _LEAST_SQUARES)
    return slopes


def _each(shares: tuple[float, float]) -> NDArray[np.float64]:
    """float64 [sketched statistics]: a share for each, of its rate."""
    of_channels = np.repeat(shares, [LOWER_CHANNELS, SKETCHED_CHANNELS - LOWER_CHANNELS])
    return np.tile(of_channels, 2)


def _weights(voice_statistics: NDArray[np.float64]) -> NDArray[np.float32]:
    """float32 [statistics]: what an error of one counts."""
    deviations = np.exp(voice_statistics[:, CHANNELS:].mean(axis=0) / 2)
    return np.concatenate([MEAN_WEIGHT / deviations, np.ones(CHANNELS)]).astype(np.float32)


def _scales(features: NDArray[np.float32]) -> NDArray[np.float32]:
    """float32 [features]: what each is divided by, so that a sentence's have a length of about one on both sides."""
    deviations = np.sqrt(np.square(features, dtype=np.float64).mean(axis=0)) + _LEAST_DEVIATION
    sides = np.repeat([ENTERING, len(deviations) - ENTERING], [ENTERING, len(deviations) - ENTERING])
    scales: NDArray[np.float32] = (deviations * np.sqrt(sides)).astype(np.float32)
    return scales


def _reduced(
    features: NDArray[np.float32],
    statistics: NDArray[np.float32],
    weights: NDArray[np.float32],
    rank: int,
    ridge: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """U [features, rank] and V [rank, statistics] from scaled X [sentences, features] and Y [sentences, statistics].

    With K = XXᵀ the fitted values are F = K (K + λI)⁻¹ Y. They are best kept by the first right singular vectors of F,
    which are those of Wᵀ F for the first eigenvectors W of FFᵀ, a matrix that is as long as there are sentences.
    """
    weighted = statistics * weights
    kernel = (features @ features.T).astype(np.float64)
    solved = np.linalg.inv(kernel + ridge * np.eye(len(kernel)))
    smoothing = kernel @ solved
    _, directions = np.linalg.eigh(smoothing @ (weighted @ weighted.T) @ smoothing.T)
    first = directions[:, ::-1][:, :rank]
    statistics_map, _ = np.linalg.qr(((first.T @ smoothing) @ weighted).T)
    feature_map = features.T @ (solved @ (weighted @ statistics_map))
    return feature_map, statistics_map.T / weights
