"""The image is made of what the server depends on, no more and no less."""

import tomllib
from pathlib import Path

import pytest
from infra_common.errors import PreconditionError
from speech_infra.catalogue import model_named
from speech_infra.images import _MEMBERS, ImageRecipe

ROOT = Path(__file__).parents[3]


def members_of(package: str) -> set[str]:
    """A workspace member and every member that it depends on, with its extras."""
    pyproject = tomllib.loads((ROOT / "packages" / package / "pyproject.toml").read_text())
    named = {name.replace("-", "_") for name in pyproject.get("tool", {}).get("uv", {}).get("sources", {})}
    return {package}.union(*(members_of(name) for name in named))


def test_the_inputs_are_the_workspace_members_of_the_server() -> None:
    assert set(_MEMBERS) == members_of("speech_container")


def test_a_dockerfile_elsewhere_brings_what_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM scratch AS cpu\nCOPY app /app\n")
    (tmp_path / "app").write_text("1")
    recipe = ImageRecipe.of(ROOT, model_named("kokoro-82m-cpu"), tmp_path / "Dockerfile")
    assert recipe.target == "cpu"
    before = recipe.content_tag()
    assert recipe.content_tag() == before
    (tmp_path / "app").write_text("2")
    assert recipe.content_tag() != before


def test_a_stage_that_a_dockerfile_lacks_is_not_asked_for(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM scratch\n")
    assert ImageRecipe.of(ROOT, model_named("kokoro-82m"), tmp_path / "Dockerfile").target is None


def test_a_dockerfile_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(PreconditionError, match="Dockerfile is missing"):
        ImageRecipe.of(ROOT, model_named("kokoro-82m"), tmp_path / "Dockerfile")
