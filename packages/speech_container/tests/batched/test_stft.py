"""The short transforms: torch's own, at each item's own end."""

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("float64")]

LENGTHS, STEPS = [600, 1800, 2400], 3000


@pytest.fixture
def transforms() -> tuple[Any, Any]:
    """kokoro's and ours."""
    import torch
    from kokoro.istftnet import TorchSTFT
    from speech_container.batched.stft import ShortTransform

    kokoros = TorchSTFT(filter_length=20, hop_length=5, win_length=20)
    return kokoros, ShortTransform(kokoros, torch.zeros(1))


def rotations(spectrum: Any) -> Any:
    """Magnitudes and phases [..., 22, frames] as complex numbers, for which a phase of pi is one of -pi."""
    import torch

    return torch.polar(spectrum[..., :11, :], spectrum[..., 11:, :])


def analysed(transforms: tuple[Any, Any], extent: Any) -> float:
    """The largest difference of an item's spectra in a batch to the item's alone."""
    import torch

    kokoros, ours = transforms
    signal = torch.randn(len(LENGTHS), STEPS)
    found = ours.analyse(signal, extent)
    differences: list[float] = []
    for row, item, length in zip(found, signal, LENGTHS, strict=True):
        expected = torch.cat(kokoros.transform(item[None, :length]), 1)[0]
        reached = expected.shape[-1]
        differences.append(float((rotations(row[:, :reached]) - rotations(expected)).abs().max()))
        differences.append(float(row[:, reached:].abs().max()))
    return max(differences)


def synthesised(transforms: tuple[Any, Any], extent: Any) -> float:
    """The largest difference of an item's audio in a batch to the item's alone."""
    import torch

    kokoros, ours = transforms
    magnitude, phase = torch.rand(len(LENGTHS), 11, STEPS // 5 + 1), torch.randn(len(LENGTHS), 11, STEPS // 5 + 1)
    found = ours.synthesise(magnitude, phase, extent)
    differences: list[float] = []
    for item, length in enumerate(LENGTHS):
        frames = length // 5 + 1
        expected = kokoros.inverse(magnitude[item : item + 1, :, :frames], phase[item : item + 1, :, :frames])
        assert expected.shape[-1] == length
        differences.append(float((found[item, :length] - expected.reshape(-1)).abs().max()))
        differences.append(float(found[item, length:].abs().max()))
    return max(differences)


def test_the_analysis_mirrors_at_each_items_own_end(transforms: tuple[Any, Any], extent: Callable[..., Any]) -> None:
    assert analysed(transforms, extent(LENGTHS, STEPS)) < 1e-9


def test_mirrored_at_the_end_of_the_batch_it_would_be_another(
    transforms: tuple[Any, Any], extent: Callable[..., Any]
) -> None:
    assert analysed(transforms, extent([STEPS] * len(LENGTHS), STEPS)) > 0.1


def test_the_phase_of_what_is_real_and_negative_is_pi_as_in_torch(transforms: tuple[Any, Any]) -> None:
    import torch
    from speech_container.batched.extent import Extent

    kokoros, ours = transforms
    signal = -torch.ones(1, 60)
    expected = kokoros.transform(signal)[1]
    found = ours.analyse(signal, Extent.full(1, 60, signal))[:, 11:]
    assert found[0, 0].tolist() == expected[0, 0].tolist() == [torch.pi] * 13


def test_the_synthesis_divides_by_the_windows_of_the_items_own_frames(
    transforms: tuple[Any, Any], extent: Callable[..., Any]
) -> None:
    assert synthesised(transforms, extent(LENGTHS, STEPS)) < 1e-7, "kokoro has its window in float32"


def test_with_the_windows_of_the_padding_it_would_be_another(
    transforms: tuple[Any, Any], extent: Callable[..., Any]
) -> None:
    assert synthesised(transforms, extent([STEPS] * len(LENGTHS), STEPS)) > 0.1


def test_nothing_is_kept_for_a_length(transforms: tuple[Any, Any], extent: Callable[..., Any]) -> None:
    before = set(vars(transforms[1]))
    analysed(transforms, extent(LENGTHS, STEPS))
    assert set(vars(transforms[1])) == before
