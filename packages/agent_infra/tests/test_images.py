"""The image is made of what the agent depends on, no more and no less."""

import io
import re
import tomllib
import zipfile
from pathlib import Path

import pytest
from agent_infra.image_build import zipped
from agent_infra.images import _MEMBERS, DOCKERFILE, NOTE, PLATFORM, agent_recipe
from infra_common.base_image import BaseImage
from infra_common.errors import PreconditionError

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / DOCKERFILE).read_text(encoding="utf-8")


def members_of(package: str) -> set[str]:
    """A workspace member and every member that it depends on."""
    pyproject = tomllib.loads((ROOT / "packages" / package / "pyproject.toml").read_text())
    named = {name.replace("-", "_") for name in pyproject.get("tool", {}).get("uv", {}).get("sources", {})}
    return {package}.union(*(members_of(name) for name in named - {"en_core_web_sm"}))


def test_the_inputs_are_the_workspace_members_of_the_agent() -> None:
    assert set(_MEMBERS) == members_of("agent_runtime")


def test_agentcore_runs_arm64_and_the_tag_knows_for_which_machine_an_image_is() -> None:
    assert PLATFORM == "linux/arm64"
    assert agent_recipe(ROOT).content_tag() != agent_recipe(ROOT, platform="linux/amd64").content_tag()


def test_a_dockerfile_elsewhere_brings_what_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM scratch\nCOPY app /app\n")
    (tmp_path / "app").write_text("1")
    recipe = agent_recipe(ROOT, tmp_path / "Dockerfile")
    before = recipe.content_tag()
    assert recipe.content_tag() == before
    (tmp_path / "app").write_text("2")
    assert recipe.content_tag() != before


def test_a_dockerfile_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(PreconditionError, match="Dockerfile is missing"):
        agent_recipe(ROOT, tmp_path / "Dockerfile")


def test_every_stage_is_built_on_the_noted_base_or_on_another_stage() -> None:
    assert re.findall(r"^ARG BASE_IMAGE=(.*)$", TEXT, re.MULTILINE) == [BaseImage.read(ROOT / NOTE).image]
    parents = re.findall(r"^FROM (\S+)", TEXT, re.MULTILINE)
    assert set(parents) - set(re.findall(r" AS (\S+)$", TEXT, re.MULTILINE)) == {"${BASE_IMAGE}"}


def test_what_the_dockerfile_copies_is_in_its_context() -> None:
    with agent_recipe(ROOT).staged() as context:
        copied = [line.split()[1:-1] for line in TEXT.splitlines() if re.match(r"COPY (?!--)", line)]
        assert copied
        assert all((context.directory / name).exists() for names in copied for name in names)


def test_a_folder_is_zipped_the_same_each_time_and_stays_executable(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("#!/bin/sh\n")
    (tmp_path / "run.sh").chmod(0o755)
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "data").write_bytes(b"1")
    first = zipped(tmp_path)
    assert zipped(tmp_path) == first
    with zipfile.ZipFile(io.BytesIO(first)) as archive:
        assert archive.namelist() == ["below/data", "run.sh"]
        assert archive.getinfo("run.sh").external_attr >> 16 & 0o100
