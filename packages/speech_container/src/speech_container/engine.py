"""What an engine is: utterances in, waveforms and durations out.

The scheduler decides what runs when and the thread in `synthesis` is the only caller, so an engine has no queue, no
lock and no notion of a request.

An engine may answer an utterance of low latency with its first chunk alone. The waveform then has a `rest`: the same
utterance with what the engine keeps of it, which is given to `synthesize` when the scheduler wants the next chunk. An
engine that cannot do this, or not for this voice or so short a sentence, answers with the whole waveform as always.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray
from speech_protocol import Latency

SAMPLE_RATE_HZ: Final = 24_000  # what Kokoro was trained on
FRAME_SAMPLES: Final = 600  # one duration step of Kokoro's text encoder: 25 ms
MAX_TOKENS: Final = 510  # Kokoro's context of 512 without the two boundary tokens
STYLE_SIZE: Final = 256
KOKORO_LEAD_S: Final = 0.06
"""How much earlier Kokoro's sounds come than its durations say.

Measured by where the loudness of the audio fits the vowels of the phonemes best: 45 to 105 ms for three voices at
speeds of 0.7, 1.0 and 1.5, with a median of 65; it hardly depends on the speed, so the decoder makes it.
"""


class Progress(Protocol):
    """What an engine keeps between the chunks of one utterance. It never changes: each chunk comes with another one."""

    @property
    def to_come_s(self) -> tuple[float, ...]:
        """Seconds of audio in each chunk that has not been made, the next one first. At least one."""


@dataclass(frozen=True, slots=True, eq=False)
class Utterance:
    """One piece of speech to make.

    `token_ids`: 1 to 510 ids, without the boundary tokens. `style`: float32 [256]. `speed`: a factor, 0.5 to 2.0.
    `seed`: of the noise, in engines that have any, so that an utterance sounds the same whatever it is batched with.
    `latency`: low where its first chunk is wanted before the rest. `voice`: the voices that `style` is made of and
    their shares, which sum to 1; engines with statistics of each voice look them up. `progress`: None at first.
    """

    token_ids: tuple[int, ...]
    style: NDArray[np.float32]
    speed: float = 1.0
    seed: int = 0
    latency: Latency = "exact"
    voice: tuple[tuple[str, float], ...] = ()
    progress: Progress | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Waveform:
    """The audio of one utterance, or a chunk of it.

    `samples`: float32 [samples], ±1.0 nominally, at the engine's rate. `frames`: int64 [tokens + 2], how many frames
    of 600 samples each token takes, with the boundary tokens at both ends; their sum × 600 is the number of samples.
    None where an engine cannot tell. `lead_s`: how much earlier the sounds are than the frames say. `rest`: what is to
    be synthesised for the next chunk; None for a whole utterance and for its last chunk. Every chunk has the `frames`
    of the whole utterance, so words have their times before they have been made.
    """

    samples: NDArray[np.float32]
    frames: NDArray[np.int64] | None
    lead_s: float = 0.0
    rest: Utterance | None = None

    @property
    def duration_s(self) -> float:
        """The length in seconds."""
        return len(self.samples) / SAMPLE_RATE_HZ

    @property
    def to_come_s(self) -> tuple[float, ...]:
        """Seconds in each of the utterance's chunks after this one."""
        progress = None if self.rest is None else self.rest.progress
        return () if progress is None else progress.to_come_s


class Engine(Protocol):
    """One loaded model. Its methods are called from one thread."""

    @property
    def name(self) -> str:
        """What `capabilities` calls it."""

    @property
    def max_batch(self) -> int:
        """The most utterances that one call takes."""

    @property
    def latencies(self) -> tuple[Latency, ...]:
        """What it can do: `exact`, and `low` where it makes audio in chunks. Known once it is loaded."""

    def load(self) -> None:
        """Make ready to synthesise. Raises `EngineUnavailable`."""

    def synthesize(self, batch: Sequence[Utterance]) -> list[Waveform]:
        """One waveform for each of 1 to `max_batch` utterances, in order. Raises `EngineFailed`, or whatever broke."""

    def close(self) -> None:
        """Let go of memory and devices."""
