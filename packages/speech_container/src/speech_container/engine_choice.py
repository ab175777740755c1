"""Which engine `auto` is: the fastest one here that needs no GPU and loses nothing one can hear.

Measured on two Zen 4 cores, in CPU-seconds a second of audio: openvino 0.36 in bfloat16 and 0.65 in float32, onnx 0.54
(int8 weights). So openvino is the choice where the processor multiplies bfloat16, and onnx elsewhere.
"""

import importlib.util
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from .processor import multiplies_bfloat16
from .settings import EngineName, Settings

if TYPE_CHECKING:
    from pathlib import Path

_TORCH: Final = ("kokoro", "safetensors", "torch")
MODULES: Final[dict[EngineName, tuple[str, ...]]] = {
    "openvino": ("onnxruntime", "openvino"),
    "onnx": ("onnxruntime",),
    "torch": _TORCH,
    "torch-graphs": _TORCH,
    "tone": (),
}
EXTRAS: Final[dict[EngineName, str]] = {
    "openvino": "speech-container[openvino]",
    "torch": "speech-container[torch]",
    "torch-graphs": "speech-container[torch]",
}


def installed_engines() -> tuple[EngineName, ...]:
    """The engines that this installation can run."""
    return tuple(name for name, modules in MODULES.items() if all(map(importlib.util.find_spec, modules)))


def chosen_engine(
    settings: Settings, weights: "Path | None", bfloat16: Callable[[], bool] = multiplies_bfloat16
) -> EngineName:
    """What the settings name, or what `auto` is with these weights (None: the packaged ones, which have everything)."""
    if settings.engine != "auto":
        return settings.engine
    suits = "openvino" in installed_engines() and bfloat16() and (weights is None or has_stages(weights))
    return "openvino" if suits else "onnx"


def has_stages(weights: "Path") -> bool:
    """Whether a directory lists the stages. One that cannot be opened does not: whoever opens it will say why."""
    from kokoro_weights import WeightsDirectory, WeightsError

    try:
        directory = WeightsDirectory.open(weights)
    except WeightsError:
        return False
    return directory.stages is not None
