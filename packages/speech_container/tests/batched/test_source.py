"""The harmonic source on padded batches."""

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("float64")]

HALF_FRAMES = [5, 9, 12]
STEPS = 14
SCALE = 300
SEEDS = [3, 4, 5]


@pytest.fixture
def module(ready: Callable[[Any], Any]) -> Any:
    """kokoro's own."""
    from kokoro.istftnet import SourceModuleHnNSF

    return ready(SourceModuleHnNSF(24000, SCALE, harmonic_num=8, voiced_threshod=10))


@pytest.fixture
def pitch_hz() -> Any:
    """[3, STEPS]: some unvoiced, and 0 in the padding."""
    import torch

    pitch = torch.rand(3, STEPS) * 300
    pitch[:, 3] = 5.0
    return pitch * (torch.arange(STEPS) < torch.tensor(HALF_FRAMES)[:, None])


def alone(module: Any, pitch_hz: Any, seed: int) -> Any:
    """What kokoro makes of [half frames] after `torch.manual_seed`."""
    import torch

    torch.manual_seed(seed)
    return module(pitch_hz.repeat_interleave(SCALE)[None, :, None])[0].reshape(-1)


def together(module: Any, pitch_hz: Any, seeds: list[int], extent: Any) -> Any:
    import torch
    from speech_container.batched.source import HarmonicSource

    source = HarmonicSource(module)
    noise = torch.zeros(len(seeds), source.harmonics, STEPS * SCALE)
    for row, seed, length in zip(noise, seeds, HALF_FRAMES, strict=True):
        source.draw_noise(row, seed, length * SCALE)
    return source(pitch_hz, noise, extent)


def samples(extent: Callable[..., Any]) -> Any:
    return extent([length * SCALE for length in HALF_FRAMES], STEPS * SCALE)


def test_each_item_has_the_source_that_kokoro_makes_of_it_alone_with_the_same_seed(
    module: Any, pitch_hz: Any, extent: Callable[..., Any]
) -> None:
    found = together(module, pitch_hz, SEEDS, samples(extent))
    for row, pitch, seed, length in zip(found, pitch_hz, SEEDS, HALF_FRAMES, strict=True):
        expected = alone(module, pitch[:length], seed)
        assert (row[: len(expected)] - expected).abs().max() < 1e-8, "kokoro has its noise levels in float32"
        assert (row[len(expected) :] == 0).all()


def test_a_pitch_in_the_padding_would_reach_the_items_end(
    module: Any, pitch_hz: Any, extent: Callable[..., Any]
) -> None:
    pitch_hz[0, HALF_FRAMES[0] :] = 200.0
    found = together(module, pitch_hz, SEEDS, samples(extent))
    expected = alone(module, pitch_hz[0, : HALF_FRAMES[0]], SEEDS[0])
    assert (found[0, : len(expected)] - expected).abs().max() > 1e-4


def test_an_items_noise_does_not_depend_on_the_length_of_the_batch(module: Any) -> None:
    import torch
    from speech_container.batched.source import HarmonicSource

    source = HarmonicSource(module)
    short, long = torch.zeros(9, 600), torch.zeros(9, 6000)
    source.draw_noise(short, 7, 600)
    source.draw_noise(long, 7, 600)
    torch.testing.assert_close(long[:, :600], short, rtol=0, atol=0)
    assert (long[:, 600:] == 0).all()


def test_drawing_noise_leaves_others_random_numbers_alone(module: Any) -> None:
    import torch
    from speech_container.batched.source import HarmonicSource

    before = torch.get_rng_state()
    HarmonicSource(module).draw_noise(torch.zeros(9, 600), 7, 600)
    assert torch.equal(torch.get_rng_state(), before)
