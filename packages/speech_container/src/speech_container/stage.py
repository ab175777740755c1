"""A stage of `kokoro_weights.stages` as a function, whatever runs it: tensors by name in, tensors by name out."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .engine import MAX_TOKENS, Utterance
from .errors import EngineFailed

Tensors = Mapping[str, NDArray[Any]]
Run = Callable[[Tensors], Tensors]
"""Takes the stage's inputs, and any others that it leaves alone. What it returns is the caller's own memory."""


def not_loaded(_: Tensors) -> Tensors:
    """Stands in for a stage before its engine is loaded. Raises `EngineFailed`."""
    raise EngineFailed("this engine is not loaded")


def asked(utterance: Utterance) -> dict[str, NDArray[Any]]:
    """The inputs of the text stage. Raises `EngineFailed` for more or less than fits into it."""
    if not 0 < len(utterance.token_ids) <= MAX_TOKENS:
        raise EngineFailed(f"an utterance has 1 to {MAX_TOKENS} tokens; {len(utterance.token_ids)} came")
    return {
        "tokens": np.array([[0, *utterance.token_ids, 0]], dtype=np.int64),
        "style": np.ascontiguousarray(utterance.style.reshape(1, -1)),
        "speed": np.array([utterance.speed], dtype=np.float32),
    }
