"""Kokoro in batches against the unmodified KModel, with the real weights.

Two runs of one model on other numbers of threads differ in the last bits of the pitch, and the phase adds up 300 times
those, so audio in float32 is compared with the pitch and the source given; in float64, where those bits are far away,
from end to end.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from kokoro_weights import WeightsDirectory
from speech_container.engine import FRAME_SAMPLES, Utterance

if TYPE_CHECKING:
    from speech_container.batched.model import BatchedModel

pytestmark = [pytest.mark.torch, pytest.mark.weights, pytest.mark.timeout(600)]

EIGHT = (1, 2, 60, 3, 4, 14, 8, 5)
"""Words of the utterances in the batch of eight."""


@pytest.fixture(autouse=True)
def without_gradients() -> Iterator[None]:
    import torch

    with torch.inference_mode():
        yield


@pytest.fixture(scope="module")
def model(weights: WeightsDirectory) -> "BatchedModel":
    """In float32."""
    from speech_container.batched.model import BatchedModel
    from speech_container.kokoro_model import load_model

    assert weights.safetensors_model is not None
    return BatchedModel(load_model(weights.safetensors_model, weights.config, "cpu"))


@pytest.fixture(scope="module")
def model_in_double(weights: WeightsDirectory) -> "BatchedModel":
    """In float64."""
    from speech_container.batched.model import BatchedModel
    from speech_container.kokoro_model import load_model

    assert weights.safetensors_model is not None
    return BatchedModel(load_model(weights.safetensors_model, weights.config, "cpu").double())


class Batch:
    """Utterances on their way through a model; `solo`: what each is alone."""

    def __init__(
        self, model: "BatchedModel", utterances: Sequence[Utterance], solo: Callable[[Utterance], Any]
    ) -> None:
        import torch

        self.model = model
        self.utterances = utterances
        self.solos = [solo(utterance) for utterance in utterances]
        styles = np.stack([utterance.style.reshape(-1) for utterance in utterances])
        self.styles = torch.from_numpy(styles).to(model.dtype)
        ids = [utterance.token_ids for utterance in utterances]
        speeds = [utterance.speed for utterance in utterances]
        before = torch.get_default_dtype()
        torch.set_default_dtype(model.dtype)  # kokoro makes zeros of the default type
        self.features = model.text_side(ids, self.styles, speeds, max(map(len, ids)) + 2)
        torch.set_default_dtype(before)
        self.durations = self.features.durations.numpy()
        self.frames = self.durations.sum(1).tolist()

    def inputs(self, items: Sequence[int], steps: int) -> Any:
        seeds = [utterance.seed for utterance in self.utterances]
        return self.model.frame_inputs(self.features, self.durations, items, self.styles, seeds, steps)

    def spoken(self, items: Sequence[int], steps: int) -> list[Any]:
        """Audio from end to end, each as long as its item."""
        return self._cut(items, self.model.frame_side(self.inputs(items, steps)))

    def spoken_with_the_source_of_solo(self, items: Sequence[int], steps: int) -> list[Any]:
        """Audio with pitch, loudness and the source's spectra as they are alone."""
        import torch
        from speech_container.batched.prosody import Curves

        def padded(name: str, *shape: int) -> Any:
            whole = torch.zeros(len(items), *shape)
            for row, item in zip(whole, items, strict=True):
                alone = getattr(self.solos[item], name)
                row[..., : alone.shape[-1]] = alone
            return whole

        inputs = self.inputs(items, steps)
        curves = Curves(padded("pitch_hz", 2 * steps), padded("loudness", 2 * steps))
        x = self.model.decoder(inputs.phonetics, curves, inputs.styles, inputs.frames)
        harmonics = padded("harmonics", 22, 120 * steps + 1)
        return self._cut(items, self.model.generator(x, harmonics, inputs.styles, inputs.frames))

    def difference(self, items: Sequence[int], spoken: Sequence[Any]) -> float:
        """The largest one to what the items are alone."""
        return max(
            float((ours - self.solos[item].samples).abs().max()) for item, ours in zip(items, spoken, strict=True)
        )

    def _cut(self, items: Sequence[int], audio: Any) -> list[Any]:
        return [row[: self.frames[item] * FRAME_SAMPLES] for item, row in zip(items, audio, strict=True)]


@pytest.fixture(scope="module")
def eight(model: "BatchedModel", utterance: Callable[..., Utterance], speak_solo: Callable[[Utterance], Any]) -> Batch:
    """1 to 60 words, four voices, three speeds."""
    import torch

    with torch.inference_mode():
        return Batch(model, [utterance(words, number) for number, words in enumerate(EIGHT)], speak_solo)


def test_durations_in_a_batch_of_eight_are_those_alone(eight: Batch) -> None:
    for utterance, durations, solo in zip(eight.utterances, eight.durations, eight.solos, strict=True):
        np.testing.assert_array_equal(durations[: len(utterance.token_ids) + 2], solo.durations)
        assert (durations[len(utterance.token_ids) + 2 :] == 0).all()


def test_with_the_source_given_a_batch_of_eight_is_what_its_utterances_are_alone(eight: Batch) -> None:
    from speech_container.batched.buckets import passes

    found = passes(eight.frames)
    assert len(found) < len(eight.frames), "so some share a pass"
    for each in found:
        spoken = eight.spoken_with_the_source_of_solo(each.items, each.frames)
        assert eight.difference(each.items, spoken) < 1e-5


def test_from_end_to_end_a_batch_sounds_as_its_utterances_do_alone(eight: Batch) -> None:
    from speech_container.batched.buckets import passes

    each = max(passes(eight.frames), key=lambda found: len(found.items))
    for item, ours in zip(each.items, eight.spoken(each.items, each.frames), strict=True):
        both = np.stack([ours.numpy(), eight.solos[item].samples.numpy()])
        assert np.corrcoef(both)[0, 1] > 0.999


def test_one_word_in_the_padding_of_many_is_what_it_is_alone(eight: Batch) -> None:
    items = (0, 5)
    spoken = eight.spoken_with_the_source_of_solo(items, eight.frames[5])
    assert eight.difference(items, spoken) < 1e-5


@pytest.mark.parametrize("padding", [0, 13])
def test_a_batch_of_one_is_what_it_is_alone(eight: Batch, padding: int) -> None:
    spoken = eight.spoken_with_the_source_of_solo((3,), eight.frames[3] + padding)
    assert eight.difference((3,), spoken) < 1e-5
    assert eight.inputs((3,), eight.frames[3] + padding).is_full == (padding == 0)


@pytest.fixture(scope="module")
def two_in_double(
    model_in_double: "BatchedModel", utterance: Callable[..., Utterance], speak_solo_in_double: Callable[..., Any]
) -> Batch:
    """Of 1 and 3 words."""
    import torch

    with torch.inference_mode():
        utterances = [utterance(words, number) for number, words in enumerate((1, 3))]
        return Batch(model_in_double, utterances, speak_solo_in_double)


def test_in_float64_a_batch_is_what_its_utterances_are_alone_from_end_to_end(two_in_double: Batch) -> None:
    spoken = two_in_double.spoken((0, 1), max(two_in_double.frames) + 3)
    assert two_in_double.difference((0, 1), spoken) < 1e-6


def test_in_float64_an_utterance_does_not_hear_its_mates(
    model_in_double: "BatchedModel", two_in_double: Batch, utterance: Callable[..., Utterance]
) -> None:
    first = two_in_double.utterances[0]
    other = Batch(model_in_double, [utterance(2, 7), first], lambda _: None)
    _, again = other.spoken((0, 1), max(other.frames))
    assert float((again - two_in_double.solos[0].samples).abs().max()) < 1e-6


def test_an_lstm_that_runs_through_the_padding_would_change_the_durations(
    model: "BatchedModel", eight: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    from speech_container.batched import text_side

    monkeypatch.setattr(text_side, "packed", lambda lstm, x, lengths: lstm(x)[0])
    mine = Batch(model, eight.utterances, lambda _: None)
    assert (mine.durations != eight.durations).any()


def test_a_source_without_noise_of_its_own_would_be_heard(eight: Batch) -> None:
    """So the test of the batch from end to end would fail if noise were mixed up."""
    import torch

    inputs = eight.inputs((3,), eight.frames[3])
    ours = eight.model.frame_side(inputs)[0]
    inputs.noise.copy_(torch.randn_like(inputs.noise))
    assert float((eight.model.frame_side(inputs)[0] - ours).abs().max()) > 0.02


def test_on_a_device_the_frame_side_leaves_nothing_on_the_host_and_never_waits_for_it(
    weights: WeightsDirectory,
) -> None:
    """With fake tensors, which have a device and refuse what mixes devices or needs data. So it can be recorded."""
    import torch
    from speech_container.batched.model import BatchedModel, FrameInputs
    from speech_container.kokoro_model import OfflineKModel
    from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode

    def put_on_device(module: Any) -> None:
        for part in module.modules():
            for name, parameter in part.named_parameters(recurse=False):
                part._parameters[name] = torch.nn.Parameter(torch.empty(parameter.shape, device="cuda"), False)
            if isinstance(part, torch.nn.LSTM):
                part._flat_weights = [getattr(part, name) for name in part._flat_weights_names]

    def there(*shape: int, dtype: Any = torch.float32) -> Any:
        return torch.empty(*shape, dtype=dtype, device="cuda")

    with FakeTensorMode():
        kokoro = OfflineKModel(weights.config).eval()
        put_on_device(kokoro)
        model = BatchedModel(kokoro)
        context, phonetics, lengths = there(3, 512, 40), there(3, 512, 40), there(3, dtype=torch.int64)
        inputs = FrameInputs(context, phonetics, lengths, there(3, 256), there(3, 9, 40 * FRAME_SAMPLES))
        audio = model.frame_side(inputs)
        assert audio.shape == (3, 40 * FRAME_SAMPLES)
        assert audio.device.type == "cuda"
        with pytest.raises(DataDependentOutputException):
            lengths.max().item()  # what they do refuse
