"""The stages of Kokoro: the float graph cut where one part may run at another precision than the one before it.

    text    tokens, style, speed → harmonics, text, pitch, energy, durations
    frame   harmonics, text, pitch, energy, style → audio

The cut lies where the harmonic source enters the generator. Everything before it (about a tenth of the work) needs
float32: bfloat16 changes the durations and the phase of the source, and so the wave. What comes after takes both: in
bfloat16 its audio correlates with the float32 one at 0.999. Nothing in either draws random numbers, and what the export
leaves to rounding is settled (`harmonic_source`).

A stage is an ONNX file of its own. Tensor names are those of kokoro-onnx's export (traced from kokoro's KModel).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from kokoro_weights.float_graph import float_graph
from kokoro_weights.graph_surgery import Tensor, cut, serialised
from kokoro_weights.harmonic_source import settled
from kokoro_weights.manifest import FRAME_STAGE_PATH, TEXT_STAGE_PATH
from kokoro_weights.squared_sines import without_sines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from onnx import ModelProto

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


TEXT_STAGE: Final = Stage(TEXT_STAGE_PATH, (TOKENS, STYLE, SPEED), (HARMONICS, TEXT, PITCH, ENERGY, DURATIONS), settled)
FRAME_STAGE: Final = Stage(FRAME_STAGE_PATH, (HARMONICS, TEXT, PITCH, ENERGY, STYLE), (AUDIO,), without_sines)
WHOLE: Final = Stage("stages/whole.onnx", (TOKENS, STYLE, SPEED), (AUDIO, DURATIONS), settled)
"""Everything in one graph: nothing runs it, measurements compare with it."""

STAGES: Final = (TEXT_STAGE, FRAME_STAGE)


def build(export: bytes, stages: tuple[Stage, ...] = STAGES) -> Iterator[tuple[Stage, bytes]]:
    """Each stage and its ONNX file, from the bytes of the int8 export; one at a time, because they are large.

    Raises CheckpointRefused where it is not such an export, and SourceMissing without the package onnx.
    """
    whole = float_graph(export)
    for stage in stages:
        yield stage, stage.cut_from(whole)
