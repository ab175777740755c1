"""kokoro's frame-rate decoder on padded batches."""

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("float64")]

LENGTHS, FRAMES = [2, 5], 7
CUTS = 12
"""Five blocks with two norms, of which the last has a pool, and the last cut."""


def difference_to_alone(decoder: Any, extent: Any) -> float:
    """The largest difference of what an item gets in a batch to what it gets alone."""
    import torch
    from speech_container.batched.adaptive_norm import AdaptiveNorms
    from speech_container.batched.decoder import FrameDecoder
    from speech_container.batched.prosody import Curves

    phonetics, styles = torch.randn(2, 512, FRAMES), torch.randn(2, 256)
    curves = Curves(torch.rand(2, 2 * FRAMES) * 300, torch.randn(2, 2 * FRAMES))
    for curve in (curves.pitch_hz, curves.loudness):
        curve *= torch.arange(2 * FRAMES) < 2 * torch.tensor(LENGTHS)[:, None]
    ours = FrameDecoder(decoder, AdaptiveNorms(decoder.encode, decoder.decode), torch.float64)
    found = ours(phonetics, curves, styles, extent)
    differences: list[float] = []
    for item, length in enumerate(LENGTHS):
        heard: list[Any] = []
        listening = decoder.generator.register_forward_pre_hook(lambda _, given, heard=heard: heard.append(given[0]))
        pitch, loudness = (curve[item : item + 1, : 2 * length] for curve in (curves.pitch_hz, curves.loudness))
        decoder(phonetics[item : item + 1, :, :length], pitch, loudness, styles[item : item + 1, :128])
        listening.remove()
        differences.append(float((found[item, :, : 2 * length] - heard[0][0]).abs().max()))
        differences.append(float(found[item, :, 2 * length :].abs().max()))
    return max(differences)


def test_each_item_gets_what_it_gets_alone_and_nothing_in_the_padding(
    small_decoder: Any, extent: Callable[..., Any]
) -> None:
    counted = extent(LENGTHS, FRAMES)
    assert difference_to_alone(small_decoder, counted) < 1e-9
    assert type(counted).cuts == CUTS


@pytest.mark.parametrize("skips", range(CUTS))
def test_leaving_out_one_cut_gives_it_something_else(
    small_decoder: Any, extent: Callable[..., Any], skips: int
) -> None:
    assert difference_to_alone(small_decoder, extent(LENGTHS, FRAMES, skips)) > 1e-6
