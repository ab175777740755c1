"""Putting a server's parts together: which weights, which engine, which front end.

Importing the pronunciation dictionaries takes seconds of Python; building the engine's session happens outside of it.
So the two run side by side, and neither counts before both have succeeded. The weights are hashed before either, for a
tenth of a second: no library ever parses bytes that are not the promised ones.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .engine import Engine
from .engine_choice import EXTRAS, chosen_engine, installed_engines
from .errors import EngineUnavailable
from .narration import Narrator
from .processor import multiplies_bfloat16
from .settings import Settings
from .spelling import Spelling, SpellingFrontEnd
from .tone_engine import ToneEngine
from .voices import VoiceBook

if TYPE_CHECKING:
    from kokoro_weights import WeightsDirectory

PLATFORM_WEIGHTS: Final = Path("/opt/ml/model")  # where SageMaker mounts a model
WARM_LANGUAGE: Final = "en-us"
TORCH_ENGINES: Final = ("torch", "torch-graphs")


@dataclass(frozen=True, slots=True, eq=False)
class Studio:
    """An engine that is not loaded yet, a narrator, and what else must have succeeded before the server is ready."""

    engine: Engine
    narrator: Narrator
    checks: tuple[Callable[[], object], ...]
    """Blocking; each raises where something is wrong. They may run beside each other and the engine's load."""


def open_studio(settings: Settings) -> Studio:
    """Blocking. Raises `EngineUnavailable`, `kokoro_weights.WeightsError` or `speech_text.SpeechTextError`."""
    settings = with_engine(settings)
    if settings.engine == "tone":
        return Studio(ToneEngine(), Narrator(SpellingFrontEnd(), Spelling(), VoiceBook.of_tones()), ())
    if settings.engine not in installed_engines():
        advice = f"; install the extra `{EXTRAS[settings.engine]}`" if settings.engine in EXTRAS else ""
        raise EngineUnavailable(
            f"the {settings.engine} engine is not in this installation, which has {' and '.join(installed_engines())}"
            f"{advice}"
        )
    from speech_text import FrontEnd

    weights = open_weights(settings)
    weights.verify()
    engine = _engine(settings, weights)
    front_end = FrontEnd(weights.vocabulary)
    narrator = Narrator(front_end, weights.vocabulary, VoiceBook.of_weights(weights))
    return Studio(engine, narrator, (lambda: front_end.load(WARM_LANGUAGE),))


def with_engine(settings: Settings) -> Settings:
    """The settings with an engine's own name in place of `auto`."""
    return dataclasses.replace(settings, engine=chosen_engine(settings, given_weights(settings)))


def given_weights(settings: Settings) -> Path | None:
    """The directory that was set, or the platform's; None where the packaged weights are used."""
    if settings.weights is not None:
        return settings.weights
    return PLATFORM_WEIGHTS if (PLATFORM_WEIGHTS / "manifest.json").is_file() else None


def open_weights(settings: Settings) -> "WeightsDirectory":
    """The weights that the settings name, the packaged ones with what the engine needs.

    Raises `kokoro_weights.WeightsError`.
    """
    from kokoro_weights import WeightsDirectory, prepare

    given = given_weights(settings)
    if given is not None:
        return WeightsDirectory.open(given)
    with_stages = settings.engine == "openvino" or (settings.engine == "onnx" and settings.latency == "low")
    return prepare("packages", safetensors=settings.engine in TORCH_ENGINES, stages=with_stages)


def _engine(settings: Settings, weights: "WeightsDirectory") -> Engine:
    match settings.engine:
        case "torch" | "torch-graphs":
            return _torch_engine(settings, weights)
        case "openvino":
            return _openvino_engine(settings, weights)
        case _:
            return _onnx_engine(settings, weights)


def _onnx_engine(settings: Settings, weights: "WeightsDirectory") -> Engine:
    from .onnx_engine import OnnxEngine  # here: only where it is asked for

    if weights.onnx_model is None:
        raise EngineUnavailable(f"the onnx engine needs an ONNX model, and the weights in {weights.path} have none")
    stages = weights.stages if settings.latency == "low" else None  # they are large, and this engine runs on the small
    return OnnxEngine(
        weights.onnx_model,
        threads=settings.engine_threads,
        stages=stages,
        statistics=weights.norm_statistics() if stages else None,
    )


def _openvino_engine(settings: Settings, weights: "WeightsDirectory") -> Engine:
    from .openvino_engine import OpenVinoEngine

    if weights.stages is None:
        raise EngineUnavailable(
            f"the openvino engine needs the model in stages, and the weights in {weights.path} have none; "
            "make a directory that has them: `kokoro-weights prepare --directory DIR`"
        )
    statistics, bfloat16 = weights.norm_statistics(), multiplies_bfloat16()
    return OpenVinoEngine(weights.stages, statistics, threads=settings.engine_threads, bfloat16=bfloat16)


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
    statistics, graphs = weights.norm_statistics(noise=True), settings.engine == "torch-graphs"
    return TorchEngine(
        weights.safetensors_model, weights.config, statistics, threads=settings.engine_threads, graphs=graphs
    )
