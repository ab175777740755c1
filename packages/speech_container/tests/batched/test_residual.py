"""kokoro's residual blocks on padded batches."""

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("float64")]

LENGTHS, STEPS = [4, 9], 11


def leaky(ready: Callable[[Any], Any], upsample: str) -> Any:
    from kokoro.istftnet import AdainResBlk1d

    return ready(AdainResBlk1d(6, 4, 128, upsample=upsample))


def snake(ready: Callable[[Any], Any]) -> Any:
    from kokoro.istftnet import AdaINResBlock1

    return ready(AdaINResBlock1(6, 7, (1, 3, 5), 128))


def difference_to_alone(
    block: Any, batch: Callable[..., Any], extent: Callable[..., Any], skips: int | None = None
) -> float:
    """The largest difference of an item in a batch to the item alone."""
    import torch
    from speech_container.batched.adaptive_norm import AdaptiveNorms, OwnStatistics
    from speech_container.batched.residual import leaky_block, snake_block

    items = [torch.randn(6, length) for length in LENGTHS]
    styles = torch.randn(len(items), 128)
    norms = AdaptiveNorms(block).styled(styles, OwnStatistics())
    x, reached = batch(items, STEPS), extent(LENGTHS, STEPS, skips)
    if hasattr(block, "upsample_type"):
        found, reached = leaky_block(block, x, norms, reached)
    else:
        found = snake_block(block, x, norms, reached)
    differences: list[float] = []
    for row, item, style, length in zip(found, items, styles, reached.lengths, strict=True):
        alone = block(item[None], style[None])[0]
        assert alone.shape[-1] == length
        differences.append(float((row[:, :length] - alone).abs().max()))
    return max(differences)


@pytest.mark.parametrize("upsample", ["none", True])
def test_a_leaky_block_gives_an_item_what_it_gets_alone(
    ready: Callable[[Any], Any], batch: Callable[..., Any], extent: Callable[..., Any], upsample: str
) -> None:
    assert difference_to_alone(leaky(ready, upsample), batch, extent) < 1e-9


@pytest.mark.parametrize(("upsample", "skips"), [("none", 0), ("none", 1), (True, 0), (True, 1), (True, 2)])
def test_a_leaky_block_that_leaves_out_one_cut_does_not(
    ready: Callable[[Any], Any], batch: Callable[..., Any], extent: Callable[..., Any], upsample: str, skips: int
) -> None:
    """After the first norm, after the pool where there is one, after the second norm."""
    assert difference_to_alone(leaky(ready, upsample), batch, extent, skips) > 1e-4


def test_a_snake_block_gives_an_item_what_it_gets_alone(
    ready: Callable[[Any], Any], batch: Callable[..., Any], extent: Callable[..., Any]
) -> None:
    assert difference_to_alone(snake(ready), batch, extent) < 1e-9


@pytest.mark.parametrize("skips", range(6))
def test_a_snake_block_that_leaves_out_one_cut_does_not(
    ready: Callable[[Any], Any], batch: Callable[..., Any], extent: Callable[..., Any], skips: int
) -> None:
    assert difference_to_alone(snake(ready), batch, extent, skips) > 1e-4
