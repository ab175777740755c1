"""How far two recordings of the same speech are apart: in spectrum, in mel bands, in loudness. All in decibels.

Both are float32 [samples] of one length, in step. What lies more than FLOOR_DB below the loudest of the first one
counts as that quiet: it is not heard beside it, and logarithms of nearly nothing would drown the rest.
"""

from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray
from speech_container.engine import SAMPLE_RATE_HZ

type Audio = NDArray[np.float32]
type Spectra = NDArray[np.float64]

WINDOW: Final = 1024
HOP: Final = 256
MEL_BANDS: Final = 80
FLOOR_DB: Final = -60.0
QUARTER_SAMPLES: Final = SAMPLE_RATE_HZ // 4
SPEECH_DB: Final = -20.0
"""A quarter of a second this far below the mean level is no speech, but a breath, or the end of a word before a pause:
the relative gate of EBU Tech 3342."""
HEARD_DB: Final = -40.0
"""A quarter of a second that is this far below the loudest is not compared at all."""


@dataclass(frozen=True, slots=True)
class Distance:
    """`spectral`: the root mean square over the bins, averaged over time (log-spectral distance); `mel`: the mean
    difference of the bands; `loudness_mean`, `loudness_max`: over all quarters of a second of speech; `faint_max`: over
    the others that are heard."""

    spectral: float
    mel: float
    loudness_mean: float
    loudness_max: float
    faint_max: float

    @classmethod
    def of(cls, reference: Audio, other: Audio) -> "Distance":
        """Raises ValueError where they have not the same length."""
        if reference.shape != other.shape:
            raise ValueError(f"expected {len(reference)} samples as in the reference, found {len(other)}")
        wanted, found = power(reference), power(other)
        bins = levels_db(wanted, wanted.max()) - levels_db(found, wanted.max())
        bands, other_bands = wanted @ mel_filters().T, found @ mel_filters().T
        mel = levels_db(bands, bands.max()) - levels_db(other_bands, bands.max())
        changes, is_speech = loudness_changes_db(reference, other)
        return cls(
            round(float(np.sqrt(np.square(bins).mean(axis=1)).mean()), 4),
            round(float(np.abs(mel).mean()), 4),
            round(float(changes[is_speech].mean()), 4),
            round(float(changes[is_speech].max()), 4),
            round(float(changes[~is_speech].max(initial=0.0)), 4),
        )


def power(audio: Audio) -> Spectra:
    """float64 [spectra, bins]: the power of a short-time spectrum every HOP samples."""
    padded = np.pad(audio.astype(np.float64), WINDOW // 2)
    frames = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[::HOP]
    return np.asarray(np.abs(np.fft.rfft(frames * np.hanning(WINDOW), axis=1)) ** 2)


def levels_db(values: Spectra, loudest: float) -> Spectra:
    """Below the loudest, and at least FLOOR_DB."""
    floor = 10 ** (FLOOR_DB / 10)
    return np.asarray(10 * np.log10(np.maximum(values / loudest, floor)))


def loudness_changes_db(reference: Audio, other: Audio) -> tuple[Spectra, NDArray[np.bool_]]:
    """float64 [quarters]: how much louder or softer each quarter of a second is that is heard; signs are dropped.

    And which of them are speech in the reference.
    """
    wanted, found = _quarters(reference), _quarters(other)
    heard = wanted > wanted.max() * 10 ** (HEARD_DB / 20)
    level = np.sqrt(np.square(wanted[heard]).mean())
    changes = np.abs(20 * np.log10(found[heard] / wanted[heard]))
    return changes, wanted[heard] > level * 10 ** (SPEECH_DB / 20)


def _quarters(audio: Audio) -> Spectra:
    whole = audio[: len(audio) // QUARTER_SAMPLES * QUARTER_SAMPLES].astype(np.float64)
    return np.asarray(np.sqrt(np.square(whole.reshape(-1, QUARTER_SAMPLES)).mean(axis=1)) + 1e-9)


@cache
def mel_filters() -> Spectra:
    """float64 [bands, bins]: triangles that overlap by half, evenly spaced on O'Shaughnessy's mel scale."""
    top = 2595 * np.log10(1 + SAMPLE_RATE_HZ / 2 / 700)
    corners_hz = 700 * (10 ** (np.linspace(0, top, MEL_BANDS + 2) / 2595) - 1)
    bins_hz = np.fft.rfftfreq(WINDOW, 1 / SAMPLE_RATE_HZ)
    low, peak, high = corners_hz[:-2, None], corners_hz[1:-1, None], corners_hz[2:, None]
    return np.asarray(np.maximum(0, np.minimum((bins_hz - low) / (peak - low), (high - bins_hz) / (high - peak))))
