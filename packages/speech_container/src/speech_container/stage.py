"""A stage of `kokoro_weights.stages` as a function, whatever runs it: tensors by name in, tensors by name out."""

from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import NDArray

from .errors import EngineFailed

Tensors = Mapping[str, NDArray[Any]]
Run = Callable[[Tensors], Tensors]
"""Takes the stage's inputs, and any others that it leaves alone. What it returns is the caller's own memory."""


def not_loaded(_: Tensors) -> Tensors:
    """Stands in for a stage before its engine is loaded. Raises `EngineFailed`."""
    raise EngineFailed("this engine is not loaded")
