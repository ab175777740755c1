"""Putting a server's parts together: which weights, which engine, which front end.

Importing the pronunciation dictionaries takes seconds of Python; building the engine's session happens outside of it.
So the two run side by side, and neither counts before both have succeeded. The weights are hashed before either, for a
tenth of a second: no library ever parses bytes that are not the promised ones.
"""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .engine import Engine
from .errors import EngineUnavailable
from .narration import Narrator
from .settings import Settings
from .spelling import Spelling, SpellingFrontEnd
from .tone_engine import ToneEngine
from .voices import VoiceBook

if TYPE_CHECKING:
    from kokoro_weights import WeightsDirectory

PLATFORM_WEIGHTS: Final = Path("/opt/ml/model")  # where SageMaker mounts a model
WARM_LANGUAGE: Final = "en-us"


@dataclass(frozen=True, slots=True, eq=False)
class Studio:
    """An engine that is not loaded yet, a narrator, and what else must have succeeded before the server is ready."""

    engine: Engine
    narrator: Narrator
    checks: tuple[Callable[[], object], ...]
    """Blocking; each raises where something is wrong. They may run beside each other and the engine's load."""


def open_studio(settings: Settings) -> Studio:
    """Blocking. Raises `EngineUnavailable`, `kokoro_weights.WeightsError` or `speech_text.SpeechTextError`."""
    if settings.engine == "tone":
        return Studio(ToneEngine(), Narrator(SpellingFrontEnd(), Spelling(), VoiceBook.of_tones()), ())
    if settings.engine not in installed_engines():
        advice = "; install the extra `speech-container[torch]`" if settings.engine == "torch" else ""
        raise EngineUnavailable(
            f"the {settings.engine} engine is not in this installation, which has {' and '.join(installed_engines())}"
            f"{advice}"
        )
    from speech_text import FrontEnd

    weights = open_weights(settings.weights, safetensors=settings.engine == "torch")
    weights.verify()
    engine = _engine(settings, weights)
    front_end = FrontEnd(weights.vocabulary)
    narrator = Narrator(front_end, weights.vocabulary, VoiceBook.of_weights(weights))
    return Studio(engine, narrator, (lambda: front_end.load(WARM_LANGUAGE),))


def open_weights(given: Path | None, *, safetensors: bool = False) -> "WeightsDirectory":
    """The directory that was given, the platform's, or the packaged weights. Raises `kokoro_weights.WeightsError`.

    `safetensors`: the packaged ones get a safetensors model too; the others hold what they hold.
    """
    from kokoro_weights import WeightsDirectory, prepare

    if given is not None:
        return WeightsDirectory.open(given)
    if (PLATFORM_WEIGHTS / "manifest.json").is_file():
        return WeightsDirectory.open(PLATFORM_WEIGHTS)
    return prepare("packages", safetensors=safetensors)


def installed_engines() -> tuple[str, ...]:
    """The engines that this installation can run."""
    needs = {"onnx": ("onnxruntime",), "tone": (), "torch": ("kokoro", "safetensors", "torch")}
    return tuple(name for name, modules in needs.items() if all(map(importlib.util.find_spec, modules)))


def _engine(settings: Settings, weights: "WeightsDirectory") -> Engine:
    if settings.engine == "torch":
        return _torch_engine(settings, weights)
    from .onnx_engine import OnnxEngine  # here: only where it is asked for

    if weights.onnx_model is None:
        raise EngineUnavailable(f"the onnx engine needs an ONNX model, and the weights in {weights.path} have none")
    return OnnxEngine(weights.onnx_model, threads=settings.engine_threads)


def _torch_engine(settings: Settings, weights: "WeightsDirectory") -> Engine:
    if weights.safetensors_model is None:
        raise EngineUnavailable(
            f"the torch engine needs a safetensors model, and the weights in {weights.path} have none; "
            "make a directory that has one: `kokoro-weights prepare --safetensors --directory DIR`"
        )
    try:
        from .torch_engine import TorchEngine
    except ImportError as error:
        raise EngineUnavailable(
            f"the torch engine cannot be imported ({error}); install the extra `speech-container[torch]`"
        ) from error
    return TorchEngine(weights.safetensors_model, weights.config, threads=settings.engine_threads)
