"""Which language model answers when nobody says which: the packaged one, or a prepared text where it cannot run."""

from dataclasses import dataclass
from importlib.resources import files

from local_cloud.errors import ModelUnavailable
from local_cloud.language_model import LanguageModel
from local_cloud.model_spec import parse_model
from local_cloud.script_model import ScriptModel


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """`notice` is for the person who did not ask for this model; empty where there is nothing to say."""

    model: LanguageModel
    notice: str = ""


def choose_model(spec: str | None, tokens_per_second: float) -> ModelChoice:
    """The model that `spec` names. Without one: llama, or the prepared text with a notice that says why.

    Raises `ModelSpecInvalid`, and `ModelUnavailable` for a model that was asked for by name.
    """
    if spec is not None:
        return ModelChoice(parse_model(spec, tokens_per_second))
    try:
        return ModelChoice(parse_model("llama", tokens_per_second))
    except ModelUnavailable as error:
        text = files("local_cloud").joinpath("answers", "sample.txt").read_text(encoding="utf-8")
        return ModelChoice(
            ScriptModel(text, tokens_per_second), f"A prepared text answers, whatever the question: {error}"
        )
