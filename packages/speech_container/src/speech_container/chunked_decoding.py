"""An utterance in chunks, on whatever runtime: the whole sentence's prosody first, then its audio window by window.

The text stage and the frame-rate decoder run on the whole sentence, a fifth of the work, so what is said and how is the
whole sentence's. The generator then needs the statistics of audio that nobody has made yet; they are predicted
(`kokoro_weights.norm_statistics`), with the help of a run over a third of the time, and so each window is a piece of
one pass over the whole: there are no seams to blend and no state to carry. What is kept between two chunks is the
generator's input, 0.6 MB a second of speech.
"""

import itertools
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from .chunk_plan import EXACT_BELOW_FRAMES, Window, chunk_frames, chunk_window
from .engine import FRAME_SAMPLES, KOKORO_LEAD_S, SAMPLE_RATE_HZ, Utterance, Waveform
from .errors import EngineFailed
from .stage import Run, Tensors

if TYPE_CHECKING:
    from kokoro_weights.norm_statistics import NormStatistics

_EPSILON: Final = np.float32(1e-5)  # of torch.nn.InstanceNorm1d
COLUMNS_PER_FRAME: Final = 2
SPECTRA_PER_FRAME: Final = 120


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

    `plan`: of how many frames into which chunks. `max_windows`: how many of one length `sound` takes at once.
    """

    def __init__(
        self,
        statistics: "NormStatistics",
        decode: Run,
        sketch: Run,
        sound: Run,
        plan: Callable[[int], tuple[int, ...]] = chunk_frames,
        *,
        max_windows: int = 1,
    ) -> None:
        self._statistics = statistics
        self._decode = decode
        self._sketch = sketch
        self._sound = sound
        self._plan = plan
        self._max_windows = max_windows

    def takes(self, utterance: Utterance, frames: int) -> bool:
        """Whether an utterance of so many frames is made in chunks. Where not, it is to be decoded exactly."""
        return (
            utterance.latency == "low"
            and frames >= EXACT_BELOW_FRAMES
            and self._statistics.knows(dict(utterance.voice))
        )

    def begin(self, utterance: Utterance, tensors: Tensors) -> Waveform:
        """The first chunk of an utterance that is made in chunks. `tensors`: the text stage's outputs, and `style`."""
        return self.proceed(self.opened(utterance, tensors))

    def opened(self, utterance: Utterance, tensors: Tensors) -> Utterance:
        """The utterance with all that its chunks are made from; none has been made."""
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
        return replace(utterance, progress=_Sentence(kept, durations, self._plan(int(durations.sum())), 0))

    def proceed(self, utterance: Utterance) -> Waveform:
        """The next chunk of an utterance that was opened, or came as the `rest` of a chunk before it."""
        return self.proceed_all([utterance])[0]

    def proceed_all(self, batch: Sequence[Utterance]) -> list[Waveform]:
        """The next chunk of each, in order. What one sounds like does not depend on the others."""
        sentences = [_begun(utterance) for utterance in batch]
        windows = [chunk_window(sentence.chunks, sentence.given) for sentence in sentences]
        of_length: dict[int, list[int]] = defaultdict(list)
        for index, window in enumerate(windows):
            of_length[window.end - window.begin].append(index)
        made: dict[int, Waveform] = {}
        for frames, indices in of_length.items():
            for group in itertools.batched(indices, self._max_windows):
                audio = self._made([(sentences[index], windows[index]) for index in group], frames)
                for index, row in zip(group, audio, strict=True):
                    made[index] = _chunk(batch[index], sentences[index], windows[index], row)
        return [made[index] for index in range(len(batch))]

    def _made(self, windows: Sequence[tuple[_Sentence, Window]], frames: int) -> NDArray[np.float32]:
        """float32 [windows, samples], of windows that all have so many frames."""
        parts = [_cut(sentence, window) for sentence, window in windows]
        joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        audio: NDArray[np.float32] = self._sound(joined)["audio"].reshape(len(windows), -1)
        if audio.shape[1] != frames * FRAME_SAMPLES:
            raise EngineFailed(
                f"a window of {frames} frames has {audio.shape[1]} samples; expected {FRAME_SAMPLES} a frame"
            )
        return audio


def _begun(utterance: Utterance) -> _Sentence:
    if not isinstance(utterance.progress, _Sentence):
        raise EngineFailed("expected the rest of an utterance that this engine has begun; another one came")
    return utterance.progress


def _cut(sentence: _Sentence, window: Window) -> dict[str, NDArray[np.float32]]:
    """What the generator needs for a window."""
    columns = slice(COLUMNS_PER_FRAME * window.begin, COLUMNS_PER_FRAME * window.end)
    spectra = slice(SPECTRA_PER_FRAME * window.begin, SPECTRA_PER_FRAME * window.end + 1)
    return {
        **sentence.tensors,
        "decoded": sentence.tensors["decoded"][..., columns],
        "harmonics": sentence.tensors["harmonics"][..., spectra],
    }


def _chunk(utterance: Utterance, sentence: _Sentence, window: Window, audio: NDArray[np.float32]) -> Waveform:
    samples = audio[window.skip * FRAME_SAMPLES : (window.skip + window.keep) * FRAME_SAMPLES].copy()
    after = replace(sentence, given=sentence.given + 1)
    rest = replace(utterance, progress=after) if after.to_come_s else None
    return Waveform(samples, sentence.durations, KOKORO_LEAD_S, rest)
