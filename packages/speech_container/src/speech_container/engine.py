"""What an engine is: utterances in, waveforms and durations out.

The scheduler decides what runs when and the thread in `synthesis` is the only caller, so an engine has no queue, no
lock and no notion of a request.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

SAMPLE_RATE_HZ: Final = 24_000  # what Kokoro was trained on
FRAME_SAMPLES: Final = 600  # one duration step of Kokoro's text encoder: 25 ms
MAX_TOKENS: Final = 510  # Kokoro's context of 512 without the two boundary tokens
STYLE_SIZE: Final = 256
KOKORO_LEAD_S: Final = 0.06
"""How much earlier Kokoro's sounds come than its durations say.

Measured by where the loudness of the audio fits the vowels of the phonemes best: 45 to 105 ms for three voices at
speeds of 0.7, 1.0 and 1.5, with a median of 65; it hardly depends on the speed, so the decoder makes it.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Utterance:
    """One piece of speech to make.

    `token_ids`: 1 to 510 ids, without the boundary tokens. `style`: float32 [256]. `speed`: a factor, 0.5 to 2.0.
    `seed`: of the noise, in engines that have any, so that an utterance sounds the same whatever it is batched with.
    """

    token_ids: tuple[int, ...]
    style: NDArray[np.float32]
    speed: float = 1.0
    seed: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Waveform:
    """The audio of one utterance.

    `samples`: float32 [samples], ±1.0 nominally, at the engine's rate. `frames`: int64 [tokens + 2], how many frames
    of 600 samples each token takes, with the boundary tokens at both ends; their sum × 600 is the number of samples.
    None where an engine cannot tell. `lead_s`: how much earlier the sounds are than the frames say.
    """

    samples: NDArray[np.float32]
    frames: NDArray[np.int64] | None
    lead_s: float = 0.0

    @property
    def duration_s(self) -> float:
        """The length in seconds."""
        return len(self.samples) / SAMPLE_RATE_HZ


class Engine(Protocol):
    """One loaded model. All four methods are called from one thread."""

    @property
    def name(self) -> str:
        """What `capabilities` calls it."""

    @property
    def max_batch(self) -> int:
        """The most utterances that one call takes."""

    def load(self) -> None:
        """Make ready to synthesise. Raises `EngineUnavailable`."""

    def synthesize(self, batch: Sequence[Utterance]) -> list[Waveform]:
        """One waveform for each of 1 to `max_batch` utterances, in order. Raises `EngineFailed`, or whatever broke."""

    def close(self) -> None:
        """Let go of memory and devices."""
