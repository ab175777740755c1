"""kokoro's own modules, small and with random parameters, in float64; and extents that forget to cut.

Each edge that a padded batch must get right is one call of `Extent.cut`, or one line of a module. A test that says
that an item gets what it gets alone is only worth something if it fails where that call is missing, so
`ForgetfulExtent` leaves out one of them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from kokoro_weights import WeightsDirectory, prepare
from speech_container.engine import Utterance

if TYPE_CHECKING:
    import torch
    from torch import Tensor


@pytest.fixture
def float64() -> "Iterator[None]":
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
def small_decoder() -> Any:
    """kokoro's `Decoder`, with few channels where kokoro lets one choose: the generator has 16, 8 and 4.

    Made once, and not to be changed: its frame-rate half is as wide as ever, 50 million parameters.
    """
    return _small_decoder()


@pytest.fixture
def own_decoder() -> Any:
    """Another one, for a test that changes it."""
    return _small_decoder()


def _small_decoder() -> Any:
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


PARAGRAPH = (
    "ðə hˈɑɹbəɹ wˈAks slˈOli ɪn wˈɪntəɹ, wˌɛn ðə fˈɜɹst bˈOts kˈʌm bˈæk wɪð ˈIs ˌɔn ðɛɹ ɹˈOps ænd ðə ɡˈʌlz bəɡˈɪn tʊ "
    "ˈɑɹɡju ˈOvəɹ skɹˈæps. bˌI nˈIn ðə mˈɑɹkət ɪz ˈOpᵊn, ænd ˈɛvɹibədi tˈɔks æt wˈʌns əbˈWt pɹˈIsᵻz, ðə wˈɛðəɹ ænd ðə "
    "fˈʊtbˌɔl, ˌʌntˈɪl ðə ʧˈɜɹʧ bˈɛl ɹəmˈIndz ðˌɛm ðæt ðɛɹ ɪz wˈɜɹk tə dˈu bəfˈɔɹ ði ˈivnɪŋ fˈɛɹi lˈivz fɔɹ ði ˈIləndz "
    "bijˈɑnd ðə pˈYnt əɡˈɛn."
)
"""67 words of phonemes, of which tests take the first few."""
VOICES = ("af_heart", "am_adam", "bf_emma", "bm_george")
SPEEDS = (1.0, 0.8, 1.25)


@dataclass(frozen=True)
class Solo:
    """What the unmodified KModel makes of an utterance, alone, after `torch.manual_seed`."""

    samples: Any
    """float [samples]"""
    durations: Any
    """int64 [tokens + 2]"""
    pitch_hz: Any
    """float [2 frames]"""
    loudness: Any
    """float [2 frames]"""
    harmonics: Any
    """float [22, 120 frames + 1]: the spectra of its source"""


@pytest.fixture(scope="session")
def weights() -> WeightsDirectory:
    """The packaged ones, de-quantised."""
    return prepare("packages", safetensors=True)


@pytest.fixture(scope="session")
def speak_solo(weights: WeightsDirectory) -> Callable[[Utterance], Solo]:
    """The unmodified KModel in float32. Remembers what it has said."""
    return _Speaker(weights, double=False)


@pytest.fixture(scope="session")
def speak_solo_in_double(weights: WeightsDirectory) -> Callable[[Utterance], Solo]:
    """The unmodified KModel in float64."""
    return _Speaker(weights, double=True)


@pytest.fixture(scope="session")
def utterance(weights: WeightsDirectory) -> Callable[..., Utterance]:
    """Makes utterances of so many words; each number is a voice, a speed and a seed of its own."""

    def make(words: int, number: int = 0) -> Utterance:
        phonemes = " ".join(PARAGRAPH.split()[:words])
        ids = tuple(weights.vocabulary[phoneme] for phoneme in phonemes)
        style = weights.voice(VOICES[number % len(VOICES)])[len(ids) - 1]
        return Utterance(ids, style, SPEEDS[number % len(SPEEDS)], seed=number)

    return make


class _Speaker:
    """See `speak_solo`."""

    def __init__(self, weights: WeightsDirectory, *, double: bool) -> None:
        import torch
        from speech_container.kokoro_model import load_model

        assert weights.safetensors_model is not None
        self._type = torch.float64 if double else torch.float32
        self._model = load_model(weights.safetensors_model, weights.config, "cpu").to(self._type)
        self._said: dict[Utterance, Solo] = {}

    def __call__(self, utterance: Utterance) -> Solo:
        import torch

        if utterance not in self._said:
            before = torch.get_default_dtype()
            torch.set_default_dtype(self._type)  # kokoro makes zeros of the default type
            with torch.inference_mode(), torch.random.fork_rng(devices=[]):
                torch.manual_seed(utterance.seed)
                self._said[utterance] = self._speak(utterance)
            torch.set_default_dtype(before)
        return self._said[utterance]

    def _speak(self, utterance: Utterance) -> Solo:
        import torch

        model, heard = self._model, {}
        curves, analysis = model.predictor.F0Ntrain, model.decoder.generator.stft.transform

        def listen(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
            def listening(*arguments: Any) -> Any:
                heard[name] = function(*arguments)
                return heard[name]

            return listening

        model.predictor.F0Ntrain = listen("curves", curves)
        model.decoder.generator.stft.transform = listen("spectra", analysis)
        tokens = torch.tensor([[0, *utterance.token_ids, 0]])
        style = torch.from_numpy(utterance.style.reshape(1, -1).copy()).to(self._type)
        samples, durations = model.forward_with_tokens(tokens, style, utterance.speed)
        del model.predictor.F0Ntrain, model.decoder.generator.stft.transform
        pitch_hz, loudness = heard["curves"]
        return Solo(samples, durations, pitch_hz[0], loudness[0], torch.cat(heard["spectra"], 1)[0])
