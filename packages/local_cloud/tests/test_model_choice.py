"""Which language model answers when nobody says."""

from pathlib import Path

import pytest
from local_cloud import model_choice
from local_cloud.errors import ModelSpecInvalid, ModelUnavailable
from local_cloud.language_model import LanguageModel
from local_cloud.llama_model import LlamaModel
from local_cloud.model_choice import choose_model
from local_cloud.paced_model import PacedModel
from local_cloud.script_model import ScriptModel


def test_the_small_model_is_the_default_where_it_runs() -> None:
    choice = choose_model(None, 20)
    assert isinstance(choice.model, PacedModel)
    assert isinstance(choice.model.model, LlamaModel)
    assert choice.notice == ""


def test_a_prepared_text_answers_where_it_does_not_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def unavailable(spec: str, tokens_per_second: float) -> LanguageModel:
        raise ModelUnavailable(f"{spec} has no package for this machine")

    monkeypatch.setattr(model_choice, "parse_model", unavailable)
    choice = choose_model(None, 20)
    assert isinstance(choice.model, ScriptModel)
    assert choice.notice == "A prepared text answers, whatever the question: llama has no package for this machine"
    with pytest.raises(ModelUnavailable):
        choose_model("llama", 20)


def test_a_script_is_read_from_its_file(tmp_path: Path) -> None:
    script = tmp_path / "answer.txt"
    script.write_text("Yes.", encoding="utf-8")
    assert isinstance(choose_model(f"script:{script}", 20).model, ScriptModel)


def test_a_wrong_name_is_refused() -> None:
    with pytest.raises(ModelSpecInvalid, match="'llama'"):
        choose_model("gpt", 20)
