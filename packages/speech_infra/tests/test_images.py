"""The image is made of what the server depends on, no more and no less."""

import re
import tomllib
from pathlib import Path

import pytest
from infra_common.base_image import BaseImage
from infra_common.errors import PreconditionError
from speech_infra.catalogue import MODELS, model_named
from speech_infra.images import _MEMBERS, DOCKERFILE, NOTE, ImageRecipe

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / DOCKERFILE).read_text(encoding="utf-8")
DRIVER_CUDA = {"al2-ami-sagemaker-inference-gpu-3-1": "12.4", "al2023-ami-sagemaker-inference-gpu-4-1": "13.0"}
"""What the drivers of SageMaker's machine images can run (developer guide, ProductionVariant.InferenceAmiVersion)."""


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


def test_every_model_has_its_stage() -> None:
    assert set(re.findall(r"^FROM \S+ AS (\w+)$", TEXT, re.MULTILINE)) >= {
        model.image_target for model in MODELS.values()
    }


def test_every_stage_is_built_on_the_noted_base_or_on_another_stage() -> None:
    assert re.findall(r"^ARG BASE_IMAGE=(.*)$", TEXT, re.MULTILINE) == [BaseImage.read(ROOT / NOTE).image]
    parents = re.findall(r"^FROM (\S+) AS", TEXT, re.MULTILINE)
    assert set(parents) - set(re.findall(r" AS (\S+)$", TEXT, re.MULTILINE)) == {"${BASE_IMAGE}"}


def test_what_the_dockerfile_copies_is_in_its_context() -> None:
    with ImageRecipe.of(ROOT, model_named("kokoro-82m-cpu")).staged() as context:
        copied = [line.split()[1:-1] for line in TEXT.splitlines() if re.match(r"COPY (?!--)", line)]
        assert copied
        assert all((context.directory / name).exists() for names in copied for name in names)


def test_another_base_is_another_image(tmp_path: Path) -> None:
    model = model_named("kokoro-82m-cpu")
    with ImageRecipe.of(ROOT, model).staged() as context:
        copy = ImageRecipe.of(context.directory, model)
        before = copy.content_tag()
        BaseImage(BaseImage.read(ROOT / NOTE).image, "sha256:" + "0" * 64).write(context.directory / NOTE)
        assert ImageRecipe.of(context.directory, model).content_tag() != before


def test_the_machine_image_and_the_cuda_of_the_wheels_are_a_pair() -> None:
    lock = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))
    (runtime,) = [package["version"] for package in lock["package"] if package["name"] == "nvidia-cuda-runtime"]
    required = re.findall(r'NVIDIA_REQUIRE_CUDA="cuda>=([\d.]+)"', TEXT)
    with_gpu = [model for model in MODELS.values() if model.gpu_machine_image is not None]
    assert with_gpu
    for model in with_gpu:
        assert model.cuda == DRIVER_CUDA[str(model.gpu_machine_image)]
        assert required == [model.cuda]
        # A newer minor version runs on an older driver of the same major version (CUDA's minor version compatibility).
        assert runtime.split(".")[0] == str(model.cuda).split(".")[0]
