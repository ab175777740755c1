"""Where the items of a padded batch end."""

import pytest

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("float64")]


def test_what_is_beyond_an_item_is_cut_off() -> None:
    import torch
    from speech_container.batched.extent import Extent

    extent = Extent(torch.tensor([1, 3]), 3, torch.float64)
    x = torch.ones(2, 2, 3)
    assert extent.cut(x).tolist() == [[[1, 0, 0]] * 2, [[1, 1, 1]] * 2]


def test_moments_are_over_the_items_own_steps() -> None:
    import torch
    from speech_container.batched.extent import Extent

    extent = Extent(torch.tensor([1, 3]), 3, torch.float64)
    mean, variance = extent.moments(torch.tensor([[[5.0, 100.0, 100.0]], [[1.0, 2.0, 6.0]]]))
    torch.testing.assert_close(mean, torch.tensor([[[5.0]], [[3.0]]]))
    torch.testing.assert_close(variance, torch.tensor([[[0.0]], [[14 / 3]]]))


@pytest.mark.parametrize("length", [3000, 4000])
def test_moments_of_half_precision_are_made_in_float32(length: int) -> None:
    import torch
    from speech_container.batched.extent import Extent

    extent = Extent(torch.tensor([length]), 4000, torch.float16, is_full=length == 4000)
    x = torch.full((1, 1, 4000), 60.0, dtype=torch.float16)
    x[..., ::2] = 62
    mean, variance = extent.moments(x)
    assert mean.dtype == variance.dtype == torch.float32
    assert mean.item() == pytest.approx(61.0)
    assert variance.item() == pytest.approx(1.0)


def test_finer_steps_have_the_same_items() -> None:
    import torch
    from speech_container.batched.extent import Extent

    finer = Extent(torch.tensor([1, 2]), 2, torch.float64).finer(3, 1)
    assert finer.lengths.tolist() == [4, 7]
    assert finer.steps == 7
    assert finer.mask[0, 0].tolist() == [1, 1, 1, 1, 0, 0, 0]


def test_where_all_items_are_full_nothing_is_touched() -> None:
    import torch
    from speech_container.batched.extent import Extent

    x = torch.ones(2, 1, 3)
    extent = Extent.full(2, 3, x)
    assert extent.cut(x) is x
    assert extent.finer(2).is_full
    assert extent.in_type(torch.float16).is_full
