"""kokoro's own modules, small and with random parameters, in float64; and extents that forget to cut.

Each edge that a padded batch must get right is one call of `Extent.cut`, or one line of a module. A test that says
that an item gets what it gets alone is only worth something if it fails where that call is missing, so
`ForgetfulExtent` leaves out one of them.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import torch
    from torch import Tensor

EXACT = 1e-9
"""The largest difference in float64 that is only another order of additions."""


@pytest.fixture(autouse=True)
def quiet_torch() -> "Iterator[None]":
    """Float64 wherever a type is not given, no gradients, one thread, and random numbers of this test's own."""
    import torch

    with torch.random.fork_rng(devices=[]), torch.inference_mode():
        torch.manual_seed(20)
        before, threads = torch.get_default_dtype(), torch.get_num_threads()
        torch.set_default_dtype(torch.float64)
        torch.set_num_threads(1)
        yield
        torch.set_num_threads(threads)
        torch.set_default_dtype(before)


def _ready(module: Any) -> Any:
    """For speaking, with parameters that make everything matter (kokoro's own start is close to zero)."""
    import torch

    module.eval().requires_grad_(False)
    for name, parameter in module.named_parameters():
        if name.endswith("weight_v"):
            torch.nn.init.normal_(parameter, std=0.2)
        elif name.rpartition(".")[2].startswith("alpha"):
            torch.nn.init.uniform_(parameter, 0.5, 2.0)
    return module


@pytest.fixture
def ready() -> Callable[[Any], Any]:
    """Makes a module of kokoro ready for a test."""
    return _ready


@pytest.fixture(scope="session")
def _decoder() -> Any:
    """Made once: its frame-rate half is as wide as ever, 50 million parameters."""
    import torch
    from kokoro.istftnet import AdainResBlk1d, Decoder

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(20)
        decoder = Decoder(
            dim_in=512,
            style_dim=128,
            dim_out=80,
            resblock_kernel_sizes=[3, 7, 11],
            upsample_rates=[10, 6],
            upsample_initial_channel=16,
            resblock_dilation_sizes=[[1, 3, 5]] * 3,
            upsample_kernel_sizes=[20, 12],
            gen_istft_n_fft=20,
            gen_istft_hop_size=5,
        )
        decoder.generator = _ready(decoder.generator)
        decoder.decode[-1] = AdainResBlk1d(1024 + 2 + 64, 16, 128, upsample=True)
    return decoder.eval().requires_grad_(False).double()


@pytest.fixture
def small_decoder(_decoder: Any) -> Any:
    """kokoro's `Decoder`, with few channels where kokoro lets one choose: the generator has 16, 8 and 4."""
    return _decoder


def _batch(items: "list[Tensor]", steps: int) -> "Tensor":
    import torch

    padded = torch.full((len(items), items[0].shape[0], steps), 3.0)
    for row, item in zip(padded, items, strict=True):
        row[:, : item.shape[-1]] = item
    return padded


@pytest.fixture
def batch() -> "Callable[[list[Tensor], int], Tensor]":
    """Pads items of [channels, steps] to a batch, with what must not matter."""
    return _batch


def _extent(lengths: "list[int]", steps: int, skips: int | None = None) -> Any:
    """An `Extent`; with `skips`, one that leaves out its cut number `skips`, or that of the extents made from it."""
    import torch
    from speech_container.batched.extent import Extent

    class ForgetfulExtent(Extent):
        """See the module."""

        cuts = 0

        def cut(self, x: "Tensor") -> "Tensor":
            ForgetfulExtent.cuts += 1
            return x if ForgetfulExtent.cuts - 1 == skips else super().cut(x)

        def finer(self, factor: int, extra: int = 0) -> Extent:
            return ForgetfulExtent._of(super().finer(factor, extra))

        def in_type(self, dtype: "torch.dtype") -> Extent:
            return ForgetfulExtent._of(super().in_type(dtype))

        @classmethod
        def _of(cls, extent: Extent) -> Extent:
            return cls(extent.lengths, extent.steps, extent.mask.dtype, is_full=extent.is_full)

    return ForgetfulExtent(torch.tensor(lengths), steps, torch.get_default_dtype())


@pytest.fixture
def extent() -> Callable[..., Any]:
    """Makes extents of lengths and steps, that may skip one cut; `cuts` counts them."""
    return _extent
