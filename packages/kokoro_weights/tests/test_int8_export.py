"""What the export's quantised constants stand for, and what is no export."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from kokoro_weights.errors import CheckpointRefused, SourceMissing
from kokoro_weights.int8_export import Int8Export, Quantised, parse
from onnx import helper, numpy_helper

if TYPE_CHECKING:
    from numpy.typing import NDArray


def test_a_value_is_its_distance_from_the_zero_point_times_the_scale() -> None:
    constants: dict[str, NDArray[Any]] = {
        "w_quantized": np.array([[0, 255]], dtype=np.uint8),
        "w_scale": np.array([0.5, 2], dtype=np.float32),
        "middle": np.array(128, dtype=np.uint8),
    }
    tensors = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    export = Int8Export(helper.make_graph([], "constants", [], [], tensors))
    assert export.unused() == ["w_quantized"]
    np.testing.assert_array_equal(export.quantised("w_quantized", "middle").values, [[-64, 254]])
    assert export.unused() == []


def test_a_norm_is_that_of_the_values() -> None:
    quantised = Quantised(np.array([[3, -4], [0, 0]], dtype=np.int32), np.array(0.5, dtype=np.float32))
    np.testing.assert_array_equal(quantised.norms(), [2.5, 0])


def test_what_is_no_onnx_model_is_refused() -> None:
    with pytest.raises(CheckpointRefused, match="expected a serialised ONNX model"):
        parse(b"not a model")


def test_without_onnx_the_extras_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(SourceMissing, match=r"kokoro-weights\[stages\]"):
        parse(b"")
