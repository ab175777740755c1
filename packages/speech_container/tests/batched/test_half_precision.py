"""What half precision does to the sound of the decoder and the generator, against what another seed of the noise does.

A CPU has no fast convolutions in half precision, so its rounding is imitated: parameters and the result of each
operation are rounded to float16 and back, as a device does whose sums are in float32. (The norms do their sums in
float32 and round once, and the transforms are in float32.)
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from kokoro_weights import WeightsDirectory
from speech_container.engine import Utterance

if TYPE_CHECKING:
    from speech_container.batched.model import BatchedModel

pytestmark = [pytest.mark.torch, pytest.mark.weights, pytest.mark.timeout(300)]


@pytest.fixture(autouse=True)
def without_gradients() -> Iterator[None]:
    import torch

    with torch.inference_mode():
        yield


@pytest.fixture
def model(weights: WeightsDirectory) -> "BatchedModel":
    """One of this test's own, whose parameters may be rounded."""
    from speech_container.batched.model import BatchedModel
    from speech_container.kokoro_model import load_model

    assert weights.safetensors_model is not None
    return BatchedModel(load_model(weights.safetensors_model, weights.config, "cpu"))


def log_spectral_distance_db(one: Any, other: Any) -> float:
    """The root mean square difference of the log spectra, over where `one` is within 50 dB of its loudest."""
    import torch

    window = torch.hann_window(1024)
    first, second = (
        20 * torch.stft(samples, 1024, 256, window=window, return_complex=True).abs().clamp_min(1e-5).log10()
        for samples in (one, other)
    )
    heard = first.amax(0) > first.amax() - 50
    return float((first - second).square().mean(0).sqrt()[heard].mean())


class Halves:
    """Rounds the results of everything but norms and transforms, while it is entered."""

    def __init__(self, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        import torch
        from speech_container.batched.adaptive_norm import StyledNorms
        from speech_container.batched.stft import ShortTransform
        from torch.overrides import TorchFunctionMode

        rounding = self
        self._paused = 0
        self.largest = 0.0  # of all activations

        class Mode(TorchFunctionMode):
            def __torch_function__(self, function: Any, _: Any, given: Any = (), named: Any = None) -> Any:
                made = function(*given, **(named or {}))
                if rounding._paused or not isinstance(made, torch.Tensor) or made.dtype != torch.float32:
                    return made
                if made.dim() == 3 and made.shape[-1] > 1:
                    rounding.largest = max(rounding.largest, float(made.abs().max()))
                return made.to(dtype).float()

        self.mode = Mode

        def exactly(method: Callable[..., Any], *, rounds_result: bool) -> Callable[..., Any]:
            def calling(*arguments: Any) -> Any:
                rounding._paused += 1
                made = method(*arguments)
                rounding._paused -= 1
                return made.to(dtype).float() if rounds_result else made

            return calling

        monkeypatch.setattr(StyledNorms, "__call__", exactly(StyledNorms.__call__, rounds_result=True))
        monkeypatch.setattr(ShortTransform, "synthesise", exactly(ShortTransform.synthesise, rounds_result=False))


def test_float16_changes_the_sound_far_less_than_another_seed_and_bfloat16_more(
    model: "BatchedModel", utterance: Callable[..., Utterance], monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    said = utterance(3)
    styles = torch.from_numpy(said.style.reshape(1, -1).copy())
    features = model.text_side([said.token_ids], styles, [1.0], len(said.token_ids) + 2)
    durations = features.durations.numpy()
    frames = int(durations.sum())

    def speak(seed: int) -> Any:
        inputs = model.frame_inputs(features, durations, [0], styles, [seed], frames)
        curves = model.curves(inputs)
        return curves, model.harmonics(curves, inputs), inputs

    def sound(curves: Any, harmonics: Any, inputs: Any) -> Any:
        x = model.decoder(inputs.phonetics, curves, inputs.styles, inputs.frames)
        return model.generator(x, harmonics, inputs.styles, inputs.frames)[0]

    exact = sound(*speak(0))
    another_db = log_spectral_distance_db(exact, sound(*speak(1)))
    made = speak(0)
    decoder = model._model.decoder
    parameters = [each for name, each in decoder.named_parameters() if "m_source" not in name]
    originals = [each.clone() for each in parameters]
    distances_db = {}
    for dtype in (torch.float16, torch.bfloat16):
        for parameter, original in zip(parameters, originals, strict=True):
            parameter.copy_(original.to(dtype).float())
        with monkeypatch.context() as patch:
            halves = Halves(dtype, patch)
            with halves.mode():
                rounded = sound(*made)
        distances_db[dtype] = log_spectral_distance_db(exact, rounded)
        assert 1 < halves.largest < 0.02 * torch.finfo(torch.float16).max, "far from what float16 can hold"
        if dtype == torch.float16:
            assert np.corrcoef(exact.numpy(), rounded.numpy())[0, 1] > 0.999
    assert 0 < distances_db[torch.float16] < 0.75 * another_db
    assert distances_db[torch.bfloat16] > another_db
