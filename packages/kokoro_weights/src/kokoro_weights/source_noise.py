"""The noise of the harmonic source, which KModel draws and the export was made without.

In unvoiced speech it is all that the source gives, so what the generator's norms see of a sentence is another thing
with it and without: the statistics of engines that draw it are measured on a graph that does. Its levels are those of
kokoro's `SineGen`: 0.003 beside the sines, and a third of their amplitude where there are none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kokoro_weights.graph_surgery import replaced

if TYPE_CHECKING:
    from onnx import ModelProto

VOICED_LEVEL: Final = 0.003
UNVOICED_LEVEL: Final = 0.1 / 3
_SINES: Final = "/decoder/decoder/generator/m_source/l_sin_gen/Mul_5_output_0"
"""float32 [1, samples, 9]."""
_VOICED: Final = "/decoder/decoder/generator/m_source/l_sin_gen/Cast_output_0"
"""1 where the pitch is that of a voice, else 0: float32 [1, samples, 1]."""
_EXCITATION: Final = "/decoder/decoder/generator/m_source/l_sin_gen/Mul_6_output_0"
_SEED: Final = 5.0  # any one: a session that begins anew draws the same again


def noisy(model: ModelProto) -> ModelProto:
    """`model` with noise in its source, another one in each run of a session. Raises CheckpointRefused without one."""
    from onnx import helper

    nodes = [
        helper.make_node("Mul", [_SINES, _VOICED], ["source_sines"]),
        helper.make_node("RandomNormalLike", ["source_sines"], ["source_chance"], seed=_SEED),
        helper.make_node("Mul", [_VOICED, "source_less"], ["source_lowered"]),
        helper.make_node("Add", ["source_lowered", "source_unvoiced"], ["source_level"]),
        helper.make_node("Mul", ["source_chance", "source_level"], ["source_noise"]),
        helper.make_node("Add", ["source_sines", "source_noise"], [_EXCITATION]),
    ]
    for each in nodes:
        each.name = each.output[0]
    return replaced(
        model,
        {_EXCITATION: nodes},
        {
            "source_less": np.array(VOICED_LEVEL - UNVOICED_LEVEL, dtype=np.float32),
            "source_unvoiced": np.array(UNVOICED_LEVEL, dtype=np.float32),
        },
    )
