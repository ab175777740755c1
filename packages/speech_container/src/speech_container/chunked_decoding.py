"""An utterance in chunks, on whatever runtime: the whole sentence's prosody first, then its audio window by window.

The text stage and the frame-rate decoder run on the whole sentence, a fifth of the work, so what is said and how is the
whole sentence's. The generator then needs the statistics of audio that nobody has made yet; they are predicted
(`kokoro_weights.norm_statistics`), with the help of a run over a third of the time, and so each window is a piece of
one pass over the whole: there are no seams to blend and no state to carry. What is kept between two chunks is the
generator's input, 0.6 MB a second of speech.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from .chunk_plan import EXACT_BELOW_FRAMES, chunk_frames, chunk_window
from .engine import FRAME_SAMPLES, KOKORO_LEAD_S, SAMPLE_RATE_HZ, Utterance, Waveform
from .errors import EngineFailed
from .stage import Run, Tensors

if TYPE_CHECKING:
    from kokoro_weights.norm_statistics import NormStatistics

_EPSILON: Final = np.float32(1e-5)  # of torch.nn.InstanceNorm1d
_COLUMNS_PER_FRAME: Final = 2
_SPECTRA_PER_FRAME: Final = 120


@dataclass(frozen=True, slots=True, eq=False)
class _Sentence:
    """What the generator needs for the chunks from `given` on."""

    tensors: Tensors
    durations: NDArray[np.int64]
    chunks: tuple[int, ...]
    given: int

    @property
    def to_come_s(self) -> tuple[float, ...]:
        return tuple(frames * FRAME_SAMPLES / SAMPLE_RATE_HZ for frames in self.chunks[self.given :])


class ChunkedDecoding:
    """`decode`, `sketch` and `sound` run the stages `decoder`, `sketch` and `window`; `statistics` are those of the
    weights in them.

    `plan`: of how many frames into which chunks.
    """

    def __init__(
        self,
        statistics: "NormStatistics",
        decode: Run,
        sketch: Run,
        sound: Run,
        plan: Callable[[int], tuple[int, ...]] = chunk_frames,
    ) -> None:
        self._statistics = statistics
        self._decode = decode
        self._sketch = sketch
        self._sound = sound
        self._plan = plan

    def takes(self, utterance: Utterance, frames: int) -> bool:
        """Whether an utterance of so many frames is made in chunks. Where not, it is to be decoded exactly."""
        return (
            utterance.latency == "low"
            and frames >= EXACT_BELOW_FRAMES
            and self._statistics.knows(dict(utterance.voice))
        )

    def begin(self, utterance: Utterance, tensors: Tensors) -> Waveform:
        """The first chunk of an utterance that is made in chunks. `tensors`: the text stage's outputs, and `style`."""
        from kokoro_weights.norm_statistics import features  # here: an engine without statistics needs none of it

        durations = tensors["durations"].reshape(-1)
        decoded = self._decode(tensors)
        sketch = self._sketch({"decoded": decoded["decoded"], "style": tensors["style"]})
        means, variances = self._statistics.predict(
            features(decoded["decoded"], tensors["harmonics"], **sketch), dict(utterance.voice)
        )
        factors = decoded["norm_gains"].reshape(-1) / np.sqrt(variances + _EPSILON)
        offsets = decoded["norm_shifts"].reshape(-1) - means * factors
        kept = {
            "decoded": decoded["decoded"],
            "harmonics": tensors["harmonics"],
            "norm_factors": factors.reshape(1, -1, 1),
            "norm_offsets": offsets.reshape(1, -1, 1),
        }
        return self._next(utterance, _Sentence(kept, durations, self._plan(int(durations.sum())), 0))

    def proceed(self, utterance: Utterance) -> Waveform:
        """The next chunk of an utterance that came as the `rest` of one before it."""
        if not isinstance(utterance.progress, _Sentence):
            raise EngineFailed("expected the rest of an utterance that this engine has begun; another one came")
        return self._next(utterance, utterance.progress)

    def _next(self, utterance: Utterance, sentence: _Sentence) -> Waveform:
        window = chunk_window(sentence.chunks, sentence.given)
        columns = slice(_COLUMNS_PER_FRAME * window.begin, _COLUMNS_PER_FRAME * window.end)
        spectra = slice(_SPECTRA_PER_FRAME * window.begin, _SPECTRA_PER_FRAME * window.end + 1)
        audio = self._sound(
            {
                **sentence.tensors,
                "decoded": np.ascontiguousarray(sentence.tensors["decoded"][..., columns]),
                "harmonics": np.ascontiguousarray(sentence.tensors["harmonics"][..., spectra]),
            }
        )["audio"].reshape(-1)
        frames = window.end - window.begin
        if len(audio) != frames * FRAME_SAMPLES:
            raise EngineFailed(
                f"a window of {frames} frames has {len(audio)} samples; expected {FRAME_SAMPLES} a frame"
            )
        samples = audio[window.skip * FRAME_SAMPLES : (window.skip + window.keep) * FRAME_SAMPLES].copy()
        after = replace(sentence, given=sentence.given + 1)
        rest = replace(utterance, progress=after) if after.to_come_s else None
        return Waveform(samples, sentence.durations, KOKORO_LEAD_S, rest)
