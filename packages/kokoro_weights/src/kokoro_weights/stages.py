"""The stages of Kokoro: the float graph cut where parts may run at another precision, or on a part of the sentence.

    text        tokens, style, speed → harmonics, text, pitch, energy, durations
    decoder     text, pitch, energy, style → decoded, norm_gains, norm_shifts
    generator   decoded, harmonics, style → audio
    sketch      decoded, style → sketch_means, sketch_variances
    window      decoded, harmonics, norm_factors, norm_offsets → audio

The first cut lies where the harmonic source enters the generator. Everything before it (about a tenth of the work)
needs float32: bfloat16 changes the durations and the phase of the source, and so the wave. What comes after takes both:
in bfloat16 its audio correlates with the float32 one at 0.999. No stage that ships draws random numbers, and what the
export leaves to rounding is settled (`harmonic_source`).

The second cut lies where the frame-rate decoder ends, after which every sample is made by convolutions, but for the
norms (`generator_norms`). `window` is the generator without them: with a = gain / √(variance + ε) and
b = shift - mean · a of a sentence's own statistics it makes the generator's audio (2e-6 apart), of all frames or of any
window of them. `sketch` is the larger part of the generator with its norms, and tells what statistics they have of
whatever it is given; it does without the harmonics. `kokoro_weights.sketch` says what for.

What happens at the edges of a window that begins or ends inside the sentence: the convolutions see zeros outside it,
which reaches almost four frames in; the upsampled window is reflected by one spectrum at its beginning, as the whole
is; and the export divides only the first 20 samples of a synthesis by the sum of its windows. So CONTEXT frames on each
side are made and thrown away. Of one sentence what is kept is within 3e-5 of one pass over the whole with 4 frames (3:
6e-4; 2: 1e-2), but of 96 sentences two were 1.2e-4 and 1.9e-4 off with 4.

A stage is an ONNX file of its own. Tensor names are those of kokoro-onnx's export (traced from kokoro's KModel).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from kokoro_weights.float_graph import float_graph
from kokoro_weights.generator_norms import (
    CHANNELS,
    FACTORS,
    GAINS,
    MEANS,
    OFFSETS,
    SHIFTS,
    VARIANCES,
    given,
    observed,
)
from kokoro_weights.graph_surgery import Tensor, cut, serialised
from kokoro_weights.harmonic_source import settled
from kokoro_weights.manifest import (
    DECODER_STAGE_PATH,
    GENERATOR_STAGE_PATH,
    SKETCH_STAGE_PATH,
    TEXT_STAGE_PATH,
    WINDOW_STAGE_PATH,
)
from kokoro_weights.sketch import SKETCH_MEANS, SKETCH_VARIANCES, SKETCHED_CHANNELS, sketched
from kokoro_weights.source_noise import noisy
from kokoro_weights.source_spectra import convolved
from kokoro_weights.squared_sines import without_sines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from onnx import ModelProto

CONTEXT: Final = 5
"""Frames on each side of a window that are made and thrown away."""
DECODED_PER_FRAME: Final = 2
SPECTRA_PER_FRAME: Final = 120
"""A window of n frames has 120 n + 1 spectra: those at both of its ends."""

TOKENS: Final = Tensor("tokens", "int64", (1, "tokens"))
STYLE: Final = Tensor("style", "float32", (1, 256))
SPEED: Final = Tensor("speed", "float32", (1,))
AUDIO: Final = Tensor("audio", "float32", ("samples",))

HARMONICS: Final = Tensor(
    "/decoder/decoder/generator/Concat_3_output_0", "float32", (1, 22, "spectra"), alias="harmonics"
)
"""The harmonic source as 11 magnitudes and 11 phases of short-time spectra, 120 a frame and one more."""
TEXT: Final = Tensor("/encoder/MatMul_1_output_0", "float32", (1, 512, "frames"), alias="text")
PITCH: Final = Tensor("/decoder/decoder/Unsqueeze_output_0", "float32", (1, 1, "half_frames"), alias="pitch")
"""F0, two values a frame."""
ENERGY: Final = Tensor("/decoder/decoder/Unsqueeze_1_output_0", "float32", (1, 1, "half_frames"), alias="energy")
DURATIONS: Final = Tensor("/encoder/Cast_output_0", "int64", (1, "tokens"), alias="durations")
"""Frames of 600 samples for each token."""
DECODED: Final = Tensor("/decoder/decoder/decode.3/Div_4_output_0", "float32", (1, 512, "half_frames"), alias="decoded")
"""What the frame-rate decoder hands to the generator, two columns a frame."""


def _channels(name: str, channels: int = CHANNELS) -> Tensor:
    """A number for each channel that the generator normalises, or for so many of them."""
    return Tensor(name, "float32", (1, channels, 1))


@dataclass(frozen=True, slots=True)
class Stage:
    """One part of the model, and the path of its file in a weights directory."""

    path: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    change: Callable[[ModelProto], ModelProto] | None = None
    """What is done to the whole float graph before the stage is cut out of it."""

    def cut_from(self, whole: ModelProto) -> bytes:
        """The stage's ONNX file, from the float graph."""
        changed = self.change(whole) if self.change else whole
        return serialised(cut(changed, PurePosixPath(self.path).stem, inputs=self.inputs, outputs=self.outputs))


def _settled_and_convolved(model: ModelProto) -> ModelProto:
    return settled(convolved(model))


def _noisy_settled_and_convolved(model: ModelProto) -> ModelProto:
    return settled(convolved(noisy(model)))


def _without_norms_and_sines(model: ModelProto) -> ModelProto:
    return without_sines(given(model))


def _sketched_without_sines(model: ModelProto) -> ModelProto:
    return without_sines(sketched(model))


TEXT_STAGE: Final = Stage(
    TEXT_STAGE_PATH,
    (TOKENS, STYLE, SPEED),
    (HARMONICS, TEXT, PITCH, ENERGY, DURATIONS),
    _settled_and_convolved,
)
DECODER_STAGE: Final = Stage(
    DECODER_STAGE_PATH, (TEXT, PITCH, ENERGY, STYLE), (DECODED, _channels(GAINS), _channels(SHIFTS)), observed
)
GENERATOR_STAGE: Final = Stage(GENERATOR_STAGE_PATH, (DECODED, HARMONICS, STYLE), (AUDIO,), without_sines)
SKETCH_STAGE: Final = Stage(
    SKETCH_STAGE_PATH,
    (DECODED, STYLE),
    (_channels(SKETCH_MEANS, SKETCHED_CHANNELS), _channels(SKETCH_VARIANCES, SKETCHED_CHANNELS)),
    _sketched_without_sines,
)
WINDOW_STAGE: Final = Stage(
    WINDOW_STAGE_PATH,
    (DECODED, HARMONICS, _channels(FACTORS), _channels(OFFSETS)),
    (AUDIO,),
    _without_norms_and_sines,
)
STAGES: Final = (TEXT_STAGE, DECODER_STAGE, GENERATOR_STAGE, SKETCH_STAGE, WINDOW_STAGE)

WHOLE: Final = Stage("stages/whole.onnx", (TOKENS, STYLE, SPEED), (AUDIO, DURATIONS), settled)
"""Everything in one graph: nothing runs it, measurements compare with it."""
OBSERVED_STAGE: Final = Stage(
    "stages/observed.onnx",
    (HARMONICS, TEXT, PITCH, ENERGY, STYLE),
    (DECODED, _channels(MEANS), _channels(VARIANCES)),
    observed,
)
"""A sentence's own statistics, which calibration measures."""
NOISY_TEXT_STAGE: Final = Stage(
    "stages/noisy_text.onnx", TEXT_STAGE.inputs, TEXT_STAGE.outputs, _noisy_settled_and_convolved
)
"""The text stage with KModel's noise in the source: the same, for the statistics of engines that draw it."""


def build(export: bytes, stages: tuple[Stage, ...] = STAGES) -> Iterator[tuple[Stage, bytes]]:
    """Each stage and its ONNX file, from the bytes of the int8 export; one at a time, because they are large.

    Raises CheckpointRefused where it is not such an export, and SourceMissing without the package onnx.
    """
    whole = float_graph(export)
    for stage in stages:
        yield stage, stage.cut_from(whole)
