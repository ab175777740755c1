"""The phases of the harmonic source where the graph leaves them to chance, settled: the same on every processor.

The source enters the generator as magnitudes and phases of short-time spectra. Three kinds of phases are an arctangent
of rounding errors, and so depend on which runtime does the sums, and on which processor:

- of the first and the last bin, which are real: 0 where they are positive, and where they are negative +π or -π by the
  sign of an imaginary part that is zero but for rounding;
- of bins without any energy, as nearly all are in unvoiced speech. (KModel adds noise to its source, so that every bin
  has some; the export was made without it.)

That is heard: onnxruntime and OpenVINO, given the same weights, were 1.3 to 1.8 dB apart in loudness, with waveforms
that correlate at 0.89 to 0.96, and a bin that is π on one was -π on the other throughout. Here negative real bins have
+π, as torch.angle gives, and bins below QUIET have 0: the two are then 0.02 dB apart (0.997 to 0.999), and onnxruntime
says what it said before to 0.4 dB (0.993).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from kokoro_weights.graph_surgery import replaced

if TYPE_CHECKING:
    from onnx import ModelProto

BINS: Final = 11
"""Of a spectrum of 20 samples."""
QUIET: Final = 1e-6
"""A magnitude: rounding leaves up to 3e-8, voiced speech has 1e-4 and more in most bins."""
_GENERATOR: Final = "/decoder/decoder/generator/"
_NEGATIVE: Final = f"{_GENERATOR}Less_output_0"
"""Where the real part is below 0: boolean [1, 11, spectra]."""
_MAGNITUDE: Final = f"{_GENERATOR}Sqrt_output_0"
_PHASE: Final = f"{_GENERATOR}Where_1_output_0"
_HARMONICS: Final = f"{_GENERATOR}Concat_3_output_0"


def settled(model: ModelProto) -> ModelProto:
    """`model` with settled phases. Raises CheckpointRefused where it has no such source."""
    from onnx import helper

    real = np.zeros((1, BINS, 1), dtype=bool)
    real[:, [0, BINS - 1]] = True
    constants = {
        "source_real_bins": real,
        "source_quiet": np.array(QUIET, dtype=np.float32),
        "source_pi": np.array(math.pi, dtype=np.float32),
        "source_zero": np.array(0, dtype=np.float32),
    }
    nodes = [
        helper.make_node("Where", [_NEGATIVE, "source_pi", "source_zero"], ["source_real_phase"]),
        helper.make_node("Where", ["source_real_bins", "source_real_phase", _PHASE], ["source_loud_phase"]),
        helper.make_node("Less", [_MAGNITUDE, "source_quiet"], ["source_is_quiet"]),
        helper.make_node("Where", ["source_is_quiet", "source_zero", "source_loud_phase"], ["source_phase"]),
        helper.make_node("Concat", [_MAGNITUDE, "source_phase"], [_HARMONICS], axis=1),
    ]
    for node in nodes:
        node.name = node.output[0]
    return replaced(model, {_HARMONICS: nodes}, constants)
