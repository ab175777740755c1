"""kokoro's generator on padded batches and on pieces."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("float64")]

LENGTHS, FRAMES = [2, 4], 5
CUTS = 50
"""Two stages of four blocks with six norms, and one cut at the end of each."""


def ours(decoder: Any, norms: Any = None) -> Any:
    import torch
    from speech_container.batched.adaptive_norm import AdaptiveNorms
    from speech_container.batched.generator import Generator
    from speech_container.batched.stft import ShortTransform

    generator = decoder.generator
    transform = ShortTransform(generator.stft, torch.zeros(1))
    return Generator(generator, norms or AdaptiveNorms(generator), transform, torch.float64)


def inputs(lengths: Sequence[int], frames: int) -> tuple[Any, Any, Any]:
    """What the decoder makes, spectra of a source, and styles; 0 in the padding."""
    import torch

    ends = torch.tensor(lengths)[:, None, None]
    x = torch.randn(len(lengths), 16, 2 * frames) * (torch.arange(2 * frames) < 2 * ends)
    harmonics = torch.randn(len(lengths), 22, 120 * frames + 1) * (torch.arange(120 * frames + 1) < 120 * ends + 1)
    return x, harmonics, torch.randn(len(lengths), 256)


def alone(decoder: Any, x: Any, harmonics: Any, style: Any) -> Any:
    """What kokoro's generator makes of one item, with the source's spectra given."""
    import torch

    generator = decoder.generator
    analysis = generator.stft.transform
    generator.stft.transform = lambda _: harmonics.chunk(2, 1)
    audio = generator(x, style[:, :128], torch.zeros(1, x.shape[-1]))
    generator.stft.transform = analysis
    return audio.reshape(-1)


def difference_to_alone(decoder: Any, extent: Any) -> float:
    """The largest difference of an item's audio in a batch to that of the item alone."""
    x, harmonics, styles = inputs(LENGTHS, FRAMES)
    found = ours(decoder)(x, harmonics, styles, extent)
    differences: list[float] = []
    for item, length in enumerate(LENGTHS):
        one = slice(item, item + 1)
        expected = alone(decoder, x[one, :, : 2 * length], harmonics[one, :, : 120 * length + 1], styles[one])
        assert expected.shape[-1] == 600 * length
        differences.append(float((found[item, : 600 * length] - expected).abs().max()))
        differences.append(float(found[item, 600 * length :].abs().max()))
    return max(differences)


def test_each_item_gets_the_audio_that_it_gets_alone_and_silence_in_the_padding(
    small_decoder: Any, extent: Callable[..., Any]
) -> None:
    counted = extent(LENGTHS, FRAMES)
    assert difference_to_alone(small_decoder, counted) < 1e-7, "kokoro has its window in float32"
    assert type(counted).cuts == CUTS


@pytest.mark.parametrize("skips", range(CUTS))
def test_leaving_out_one_cut_gives_it_something_else(
    small_decoder: Any, extent: Callable[..., Any], skips: int
) -> None:
    assert difference_to_alone(small_decoder, extent(LENGTHS, FRAMES, skips)) > 1e-6


def test_a_source_that_goes_on_in_the_padding_would_be_heard(small_decoder: Any) -> None:
    import torch
    from speech_container.batched.extent import Extent

    x, harmonics, styles = inputs([2], 5)
    extent = Extent(torch.tensor([2]), 5, torch.float64)
    generate = ours(small_decoder)
    clean = generate(x, harmonics, styles, extent)
    harmonics[..., 241:] = 1.0
    assert (generate(x, harmonics, styles, extent) - clean)[:, :1200].abs().max() > 1e-4


def test_windows_with_the_statistics_of_the_whole_join_without_a_seam(small_decoder: Any) -> None:
    import torch
    from speech_container.batched.adaptive_norm import AdaptiveNorms, SeenStatistics
    from speech_container.batched.extent import Extent

    seen = SeenStatistics()

    class Watched(AdaptiveNorms):
        def styled(self, style: Any, statistics: Any) -> Any:
            return super().styled(style, seen)

    frames, around = 20, 4
    x, harmonics, style = inputs([frames], frames)
    norms = Watched(small_decoder.generator)
    generate = ours(small_decoder, norms)
    whole = generate(x, harmonics, style, Extent.full(1, frames, x))
    means, variances = (torch.cat([of[layer] for layer in range(48)], 1) for of in (seen.means, seen.variances))
    gains, shifts = generate.affine(style)
    factors = gains * torch.rsqrt(variances + norms.epsilon)
    offsets = shifts - means * factors
    pieces = []
    for begin in range(0, frames, 5):
        low, high = max(0, begin - around), min(frames, begin + 5 + around)
        audio = generate.window(
            x[..., 2 * low : 2 * high], harmonics[..., 120 * low : 120 * high + 1], factors, offsets
        )
        pieces.append(audio[0, 600 * (begin - low) : 600 * (begin - low + 5)])
    difference = (torch.cat(pieces) - whole[0]).abs().max()
    assert difference < 1e-4 * whole.abs().max()


def test_norms_are_counted_and_have_the_channels_of_their_stage(small_decoder: Any) -> None:
    from speech_container.batched.adaptive_norm import AdaptiveNorms

    channels = AdaptiveNorms(small_decoder.generator).channels
    assert len(channels) == 48
    assert sorted(set(channels)) == [4, 8]


def test_convolutions_in_half_precision_stand_between_spectra_in_full(own_decoder: Any) -> None:
    import torch
    from speech_container.batched.adaptive_norm import AdaptiveNorms
    from speech_container.batched.extent import Extent
    from speech_container.batched.generator import Generator
    from speech_container.batched.stft import ShortTransform

    x, harmonics, styles = inputs(LENGTHS, FRAMES)
    extent = Extent(torch.tensor(LENGTHS), FRAMES, torch.float64)
    exact = ours(own_decoder)(x, harmonics, styles, extent)
    generator = own_decoder.generator
    transform = ShortTransform(generator.stft, torch.zeros(1, dtype=torch.float32))
    norms = AdaptiveNorms(generator.float())
    halved = Generator(generator.half(), norms, transform, torch.float16)(
        x.float(), harmonics.float(), styles.float(), extent.in_type(torch.float32)
    )
    assert halved.dtype == torch.float32
    own = halved[1, : 600 * LENGTHS[1]].double()
    assert torch.corrcoef(torch.stack([own, exact[1, : 600 * LENGTHS[1]]]))[0, 1] > 0.99
    assert (halved[0, 600 * LENGTHS[0] :] == 0).all()


def test_a_sketch_and_a_window_in_half_precision_are_near_those_in_full(own_decoder: Any) -> None:
    import torch
    from speech_container.batched.adaptive_norm import AdaptiveNorms
    from speech_container.batched.generator import Generator
    from speech_container.batched.stft import ShortTransform

    x, harmonics, style = inputs([12], 12)
    full = ours(own_decoder)
    gains, shifts = full.affine(style)
    exact, sketched = full.window(x, harmonics, gains, shifts), full.sketch(x, style)
    generator = own_decoder.generator
    transform = ShortTransform(generator.stft, torch.zeros(1, dtype=torch.float32))
    norms = AdaptiveNorms(generator.float())
    halved = Generator(generator.half(), norms, transform, torch.float16)
    sound = halved.window(*(each.float() for each in (x, harmonics, gains, shifts)))
    assert sound.dtype == torch.float32
    assert sound.shape == exact.shape
    assert torch.corrcoef(torch.stack([sound[0].double(), exact[0]]))[0, 1] > 0.99
    for found, expected in zip(halved.sketch(x.float(), style.float()), sketched, strict=True):
        assert found.dtype == torch.float32
        assert found.shape == expected.shape == (1, 18 * 8 + 6 * 4, 1)
        torch.testing.assert_close(found.double(), expected, rtol=0.05, atol=0.05)
