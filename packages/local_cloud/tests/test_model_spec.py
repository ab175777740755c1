from pathlib import Path

import pytest
from local_cloud.errors import ModelSpecInvalid, ModelUnavailable
from local_cloud.language_model import Conversation, Turn
from local_cloud.llama_model import LlamaModel
from local_cloud.model_spec import parse_model
from local_cloud.paced_model import PacedModel
from local_cloud.script_model import ScriptModel

ASKED = Conversation("", (Turn("user", "Hello?"),))


async def test_a_script_is_recited(tmp_path: Path) -> None:
    script = tmp_path / "answer.txt"
    script.write_text("\nNaïve? Not at all.\n", encoding="utf-8")
    model = parse_model(f"script:{script}", 1e9)
    assert isinstance(model, ScriptModel)
    assert "".join([piece async for piece in model.stream(ASKED)]) == "Naïve? Not at all."


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("gpt", "'llama' .* or 'script:FILE'"),
        ("", "'llama'"),
        ("script", "'script:FILE'"),
        ("llama:big", "'llama'"),
        ("script:", "needs a file after the colon"),
        ("script:missing.txt", "missing.txt cannot be read: No such file"),
    ],
)
def test_what_names_no_model_is_refused_with_what_would(spec: str, message: str) -> None:
    with pytest.raises(ModelSpecInvalid, match=message):
        parse_model(spec, 20)


def test_a_script_must_be_text_of_some_length(tmp_path: Path) -> None:
    script = tmp_path / "answer.txt"
    for content, message in (
        (b" \n", "is empty"),
        (b"\xff\xfe", "not UTF-8"),
        (b"a" * (1024 * 1024 + 1), "larger than"),
    ):
        script.write_bytes(content)
        with pytest.raises(ModelSpecInvalid, match=message):
            parse_model(f"script:{script}", 20)


def test_a_directory_is_no_script(tmp_path: Path) -> None:
    with pytest.raises(ModelSpecInvalid, match="cannot be read"):
        parse_model(f"script:{tmp_path}", 20)


def test_a_rate_of_nothing_is_refused(tmp_path: Path) -> None:
    script = tmp_path / "answer.txt"
    script.write_text("Hello.")
    with pytest.raises(ModelSpecInvalid):
        parse_model(f"script:{script}", 0)


def test_llama_is_named_or_its_absence_is_explained() -> None:
    usable, reason = LlamaModel().available()
    if usable:
        model = parse_model("llama", 20)
        assert isinstance(model, PacedModel)
        assert isinstance(model.model, LlamaModel)
    else:
        with pytest.raises(ModelUnavailable, match=f"{reason}.*script:FILE"):
            parse_model("llama", 20)
