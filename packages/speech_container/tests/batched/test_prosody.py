"""Pitch and loudness on padded batches."""

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("float64")]

LENGTHS, FRAMES = [3, 7], 9


@pytest.fixture
def predictor(ready: Callable[[Any], Any]) -> Any:
    """kokoro's, small."""
    from kokoro.modules import ProsodyPredictor

    return ready(ProsodyPredictor(style_dim=128, d_hid=12, nlayers=1, max_dur=9))


def difference_to_alone(predictor: Any, extent: Any, lengths: list[int]) -> float:
    """The largest difference of a curve in a batch to that of the item alone. `lengths`: what the LSTM is told."""
    import torch
    from speech_container.batched.prosody import Prosody

    features, styles = torch.randn(2, 140, FRAMES), torch.randn(2, 256)
    prosody = Prosody(predictor)
    found = prosody.curves(prosody.context(features, lengths), styles, extent)
    differences: list[float] = []
    for item, length in enumerate(LENGTHS):
        alone = predictor.F0Ntrain(features[item : item + 1, :, :length], styles[item : item + 1, 128:])
        for ours, theirs in zip((found.pitch_hz, found.loudness), alone, strict=True):
            differences.append(float((ours[item, : 2 * length] - theirs[0]).abs().max()))
            differences.append(float(ours[item, 2 * length :].abs().max()))
    return max(differences)


def test_each_item_has_the_curves_that_it_has_alone_and_none_in_the_padding(
    predictor: Any, extent: Callable[..., Any]
) -> None:
    assert difference_to_alone(predictor, extent(LENGTHS, FRAMES), LENGTHS) < 1e-9


def test_an_lstm_that_runs_through_the_padding_gives_others(predictor: Any, extent: Callable[..., Any]) -> None:
    assert difference_to_alone(predictor, extent(LENGTHS, FRAMES), [FRAMES, FRAMES]) > 1e-4


@pytest.mark.parametrize("skips", range(16))
def test_leaving_out_one_cut_gives_others(predictor: Any, extent: Callable[..., Any], skips: int) -> None:
    """Three blocks with two norms, of which one has a pool, and the last cut, for either curve."""
    assert difference_to_alone(predictor, extent(LENGTHS, FRAMES, skips), LENGTHS) > 1e-5


def test_no_cut_is_left_untested(predictor: Any, extent: Callable[..., Any]) -> None:
    counted = extent(LENGTHS, FRAMES)
    difference_to_alone(predictor, counted, LENGTHS)
    assert type(counted).cuts == 16
