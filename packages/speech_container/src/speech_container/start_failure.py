"""Why a server did not become ready, as a word that alarms and filters may rely on.

The sentence beside it is for a person and may be reworded; the word stays. Neither is for clients.
"""

from typing import Final

from kokoro_weights import WeightsError, errors
from speech_text import SpeechTextError

from .errors import EngineFailed, EngineUnavailable, SpeechContainerError

CODES: Final[tuple[tuple[type[Exception], str], ...]] = (
    (errors.NotPrepared, "weights_not_prepared"),
    (errors.PathUnsafe, "weights_path_unsafe"),
    (errors.ManifestInvalid, "weights_manifest_invalid"),
    (errors.FileMissing, "weights_file_missing"),
    (errors.SizeMismatch, "weights_size_mismatch"),
    (errors.HashMismatch, "weights_hash_mismatch"),
    (WeightsError, "weights_refused"),
    (EngineUnavailable, "engine_unavailable"),
    (EngineFailed, "engine_failed"),
    (SpeechTextError, "front_end_failed"),
)
"""The first class that fits counts: a class stands before those that it is derived from."""
UNEXPECTED: Final = "load_failed"
TOLD: Final = (SpeechContainerError, WeightsError, SpeechTextError)
"""Their messages are sentences of ours. What others say may quote anything, and stays out of the log."""


def code_of(error: BaseException) -> str:
    """One of `CODES`, or `UNEXPECTED`."""
    return next((code for kind, code in CODES if isinstance(error, kind)), UNEXPECTED)


def sentence_of(error: BaseException) -> str:
    """What was wrong, in one line."""
    if isinstance(error, TOLD):
        return " ".join(str(error).split())
    return f"an unexpected {type(error).__name__}, which is a fault of the server or of its installation"
