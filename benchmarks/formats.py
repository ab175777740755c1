"""What the encoders cost: how much audio goes in before the first playable bytes come out, time, and size.

    uv run python -m benchmarks.formats [speech.wav]

The audio is a 24 kHz 16-bit mono WAV (`curl localhost:8080/invocations -d '{"text": ..., "stream": false}' -o
speech.wav`), or, without one, 10 s of a swept tone with noise. Columns: milliseconds of audio that were fed in steps
of one before the first audio, not counting headers, came out; milliseconds of processor time for a second of audio in
pieces of 320 ms, and for making the encoder (the best of five runs); kbit/s with everything around the codec's
frames.
"""

import os
import sys
import time
import wave
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from speech_container.delivery import PIECE_SAMPLES
from speech_container.encoders import Encoder, encoder_for, offered_formats, offered_rates_hz
from speech_container.engine import SAMPLE_RATE_HZ
from speech_container.wav import HEADER_BYTES
from speech_protocol import AudioFormat

STEP_SAMPLES = 24  # 1 ms
RUNS = 5


def audio(path: Path | None) -> NDArray[np.float32]:
    """float32 [samples] at 24 kHz."""
    if path is None:
        time_s = np.arange(10 * SAMPLE_RATE_HZ) / SAMPLE_RATE_HZ
        noise = 0.02 * np.random.default_rng(0).standard_normal(len(time_s))
        return np.asarray(0.3 * np.sin(2 * np.pi * (100 + 200 * time_s) * time_s) + noise, dtype=np.float32)
    with wave.open(str(path)) as reader:
        return np.frombuffer(reader.readframes(reader.getnframes()), "<i2").astype(np.float32) / np.float32(32768)


def has_audio(audio_format: AudioFormat, encoded: bytes) -> bool:
    """Whether there is something to hear in the beginning of a stream."""
    match audio_format:
        case "wav":
            return len(encoded) > HEADER_BYTES
        case "opus":
            return encoded.count(b"OggS") > 2  # after two pages of headers
        case "aac":
            return b"mdat" in encoded
        case _:
            return len(encoded) > 0


def first_audio_ms(audio_format: AudioFormat, rate_hz: int, samples: NDArray[np.float32]) -> float:
    """Milliseconds of audio in, before any came out."""
    encoder = encoder_for(audio_format, rate_hz)
    given = b""
    for start in range(0, len(samples), STEP_SAMPLES):
        given += encoder.feed(samples[start : start + STEP_SAMPLES])
        if has_audio(audio_format, given):
            return (start + STEP_SAMPLES) * 1000 / SAMPLE_RATE_HZ
    raise SystemExit("nothing came out")


def cost(make: Callable[[], Encoder], samples: NDArray[np.float32]) -> tuple[float, float, int]:
    """The best of some runs: milliseconds of work for a second of audio, and to make the encoder; bytes in all."""
    works, makings = [], []
    for _ in range(RUNS):
        began_s = time.thread_time()
        encoder = make()
        made_s = time.thread_time()
        size = sum(len(encoder.feed(samples[at : at + PIECE_SAMPLES])) for at in range(0, len(samples), PIECE_SAMPLES))
        size += len(encoder.flush())
        works.append(time.thread_time() - made_s)
        makings.append(made_s - began_s)
    return min(works) * 1000 / (len(samples) / SAMPLE_RATE_HZ), min(makings) * 1000, size


def main() -> None:
    """Measure and print."""
    samples = audio(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
    duration_s = len(samples) / SAMPLE_RATE_HZ
    offered_formats()
    print(f"{duration_s:.1f} s of audio, {len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f}")
    print(f"{'format':>6} {'Hz':>6} {'first ms':>9} {'work ms/s':>10} {'made ms':>8} {'kbit/s':>7}")
    for audio_format in offered_formats():
        for rate_hz in offered_rates_hz():
            measure(audio_format, rate_hz, samples)


def measure(audio_format: AudioFormat, rate_hz: int, samples: NDArray[np.float32]) -> None:
    """One line of the table."""

    def make() -> Encoder:
        return encoder_for(audio_format, rate_hz)

    work_ms, made_ms, size = cost(make, samples)
    first_ms = first_audio_ms(audio_format, rate_hz, samples)
    kbits = size * 8 / 1000 / (len(samples) / SAMPLE_RATE_HZ)
    print(f"{audio_format:>6} {rate_hz:>6} {first_ms:>9.0f} {work_ms:>10.2f} {made_ms:>8.2f} {kbits:>7.1f}")


if __name__ == "__main__":
    main()
