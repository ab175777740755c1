"""kokoro's adaptive norms on padded batches."""

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("float64")]


@pytest.fixture
def norms(ready: Callable[[Any], Any]) -> Any:
    """Two of kokoro's norms, of 3 and 5 channels."""
    import torch
    from kokoro.istftnet import AdaIN1d

    return ready(torch.nn.ModuleList([AdaIN1d(128, 3), AdaIN1d(128, 5)]))


def test_each_item_is_normalised_as_alone(norms: Any, batch: Callable[..., Any], extent: Callable[..., Any]) -> None:
    import torch
    from speech_container.batched.adaptive_norm import AdaptiveNorms, OwnStatistics

    items = [torch.randn(5, 4) + 2, torch.randn(5, 9)]
    styles = torch.randn(2, 128)
    styled = AdaptiveNorms(norms).styled(styles, OwnStatistics())
    found = styled(norms[1], batch(items, 9), extent([4, 9], 9))
    for row, item, style in zip(found, items, styles, strict=True):
        length = item.shape[-1]
        torch.testing.assert_close(row[:, :length], norms[1](item[None], style[None])[0], rtol=0, atol=1e-9)
        assert (row[:, length:] == 0).all()


def test_over_the_padding_too_the_statistics_would_be_others(
    norms: Any, batch: Callable[..., Any], extent: Callable[..., Any]
) -> None:
    import torch
    from speech_container.batched.adaptive_norm import AdaptiveNorms, OwnStatistics
    from speech_container.batched.extent import Extent

    item, style = torch.randn(5, 4), torch.randn(1, 128)
    styled = AdaptiveNorms(norms).styled(style, OwnStatistics())
    x = batch([item], 9)
    found = styled(norms[1], x, Extent.full(1, 9, x))
    assert (found[..., :4] - norms[1](item[None], style)).abs().max() > 0.1


def test_norms_that_are_given_make_a_piece_what_it_is_in_the_whole(norms: Any) -> None:
    import torch
    from speech_container.batched.adaptive_norm import AdaptiveNorms, SeenStatistics
    from speech_container.batched.extent import Extent

    whole, style = torch.randn(1, 5, 20), torch.randn(1, 128)
    ours, seen = AdaptiveNorms(norms), SeenStatistics()
    expected = ours.styled(style, seen)(norms[1], whole, Extent.full(1, 20, whole))
    means = torch.cat([torch.zeros(1, 3, 1), seen.means[1]], 1)
    variances = torch.cat([torch.ones(1, 3, 1), seen.variances[1]], 1)
    gains, shifts = ours.affine(style)
    factors = gains * torch.rsqrt(variances + ours.epsilon)
    piece = whole[..., 5:9]
    found = ours.given(factors, shifts - means * factors)(norms[1], piece, Extent.full(1, 4, piece))
    torch.testing.assert_close(found, expected[..., 5:9], rtol=0, atol=1e-9)
    torch.testing.assert_close(expected, norms[1](whole, style), rtol=0, atol=1e-9)


def test_a_scale_and_shift_of_the_norm_itself_are_heeded(norms: Any) -> None:
    import torch
    from speech_container.batched.adaptive_norm import AdaptiveNorms, OwnStatistics
    from speech_container.batched.extent import Extent

    torch.nn.init.normal_(norms[0].norm.weight)
    torch.nn.init.normal_(norms[0].norm.bias)
    x, style = torch.randn(1, 3, 6), torch.randn(1, 128)
    found = AdaptiveNorms(norms).styled(style, OwnStatistics())(norms[0], x, Extent.full(1, 6, x))
    torch.testing.assert_close(found, norms[0](x, style), rtol=0, atol=1e-9)


def test_norms_are_numbered_in_the_order_of_their_modules(norms: Any) -> None:
    from speech_container.batched.adaptive_norm import AdaptiveNorms

    numbered = AdaptiveNorms(norms)
    assert numbered.channels == [3, 5]
    assert [numbered.layer(norm) for norm in norms] == [0, 1]
