"""Stages of the packaged weights on onnxruntime, and a sentence for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime
from kokoro_weights.stages import build

if TYPE_CHECKING:
    from kokoro_weights import WeightsDirectory
    from kokoro_weights.stages import Stage

SENTENCE = [50, 83, 54, 156, 31, 16, 81, 86, 123, 16, 83, 54, 156, 31, 16, 81, 86, 123, 4]
"""Token ids of "həlˈO ðɛɹ həlˈO ðɛɹ." """
Tensors = dict[str, Any]


class StageRuns:
    """Runs those stages: a stage and every tensor that it may read give what it makes."""

    def __init__(self, weights: WeightsDirectory, *stages: Stage) -> None:
        assert weights.onnx_model is not None
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 2
        options.log_severity_level = 3
        self._sessions = {
            stage: onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
            for stage, data in build(weights.onnx_model.read_bytes(), stages)
        }

    def __call__(self, stage: Stage, tensors: Tensors) -> Tensors:
        names = [tensor.part_name for tensor in stage.outputs]
        given = {tensor.part_name: tensors[tensor.part_name] for tensor in stage.inputs}
        return dict(zip(names, self._sessions[stage].run(names, given), strict=True))

    def said(self, weights: WeightsDirectory, *stages: Stage) -> Tensors:
        """Every tensor of SENTENCE in af_heart that these stages make, one after the other."""
        tensors: Tensors = {
            "tokens": np.array([[0, *SENTENCE, 0]], dtype=np.int64),
            "style": weights.voice("af_heart")[len(SENTENCE) - 1].reshape(1, -1),
            "speed": np.ones(1, dtype=np.float32),
        }
        for stage in stages:
            tensors |= self(stage, tensors)
        return tensors
