"""Noise in the harmonic source: as loud as KModel's, and nothing else is changed by it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime
import pytest
from kokoro_weights import prepare
from kokoro_weights.errors import CheckpointRefused
from kokoro_weights.float_graph import float_graph
from kokoro_weights.graph_surgery import Tensor, cut, serialised
from kokoro_weights.source_noise import UNVOICED_LEVEL, VOICED_LEVEL, noisy
from onnx import ModelProto

if TYPE_CHECKING:
    from numpy.typing import NDArray

GENERATOR = "/decoder/decoder/generator/m_source/l_sin_gen"
SINES = Tensor(f"{GENERATOR}/Mul_5_output_0", "float32", (1, "samples", 9), alias="sines")
VOICED = Tensor(f"{GENERATOR}/Cast_output_0", "float32", (1, "samples", 1), alias="voiced")
EXCITATION = Tensor(f"{GENERATOR}/Mul_6_output_0", "float32", (1, "samples", 9), alias="excitation")


@pytest.fixture(scope="module")
def session() -> Any:
    """Sines and where there is a voice → what the source merges, of the real graph."""
    model = prepare("packages").onnx_model
    assert model is not None
    part = cut(noisy(float_graph(model.read_bytes())), "excitation", inputs=[SINES, VOICED], outputs=[EXCITATION])
    return onnxruntime.InferenceSession(serialised(part), providers=["CPUExecutionProvider"])


def excited(session: Any, voiced: NDArray[np.float32]) -> NDArray[np.float32]:
    sines = np.full((1, voiced.shape[1], 9), 0.05, dtype=np.float32)
    found: NDArray[np.float32] = session.run(["excitation"], {"sines": sines, "voiced": voiced})[0]
    return found - sines * voiced


@pytest.mark.weights
@pytest.mark.parametrize(("voiced", "level"), [(1.0, VOICED_LEVEL), (0.0, UNVOICED_LEVEL)])
def test_its_level_is_kmodels_with_a_voice_and_without(session: Any, voiced: float, level: float) -> None:
    noise = excited(session, np.full((1, 40_000, 1), voiced, dtype=np.float32))[0]
    assert float(noise.std()) == pytest.approx(level, rel=0.01)
    assert float(np.abs(noise.mean(axis=0)).max()) < level / 40
    correlations = np.corrcoef(noise.T) - np.eye(9)
    assert float(np.abs(correlations).max()) < 0.03, "each sine has its own"


@pytest.mark.weights
def test_each_run_draws_its_own(session: Any) -> None:
    voiced = np.zeros((1, 1000, 1), dtype=np.float32)
    assert float(np.abs(excited(session, voiced) - excited(session, voiced)).max()) > UNVOICED_LEVEL


def test_a_graph_without_such_a_source_is_refused() -> None:
    with pytest.raises(CheckpointRefused, match="expected a node that makes"):
        noisy(ModelProto())
