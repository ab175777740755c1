"""Reading ``--model``: which language model answers behind the local Bedrock."""

from pathlib import Path

from local_cloud.errors import ModelSpecInvalid
from local_cloud.language_model import LanguageModel
from local_cloud.llama_model import LlamaModel
from local_cloud.paced_model import PacedModel
from local_cloud.script_model import ScriptModel

MAX_SCRIPT_BYTES = 1024 * 1024
FORMS = "'llama' (a small model on this machine) or 'script:FILE' (the text of a file, recited)"


def parse_model(spec: str, tokens_per_second: float) -> LanguageModel:
    """The model that `spec` names. `tokens_per_second` is the rate of a script, and the most that llama writes.

    Raises:
        ModelSpecInvalid: `spec` names no model, or its file cannot be read as text.
        ModelUnavailable: llama cannot run on this machine.
    """
    if spec == "llama":
        model = LlamaModel()
        model.check_available()
        return PacedModel(model, tokens_per_second)
    kind, colon, name = spec.partition(":")
    if kind != "script" or not colon:
        raise ModelSpecInvalid(f"expected a model of the form {FORMS}; got {spec!r}")
    if not name:
        raise ModelSpecInvalid("'script:' needs a file after the colon, for example script:answer.txt")
    return ScriptModel(_read(Path(name)), tokens_per_second)


def _read(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_SCRIPT_BYTES:
            raise ModelSpecInvalid(f"the script {path} is larger than {MAX_SCRIPT_BYTES} bytes")
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ModelSpecInvalid(f"the script {path} is not UTF-8 text") from error
    except OSError as error:
        raise ModelSpecInvalid(f"the script {path} cannot be read: {error.strerror}") from error
    if not text.strip():
        raise ModelSpecInvalid(f"the script {path} is empty; write the answer that is to be spoken into it")
    return text.strip()
