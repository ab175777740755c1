"""The base image is noted in one file, by name and digest, and nothing else is taken for a note."""

import json
from pathlib import Path

import pytest
from infra_common.base_image import BaseImage
from infra_common.errors import PreconditionError

NAME = "public.ecr.aws/docker/library/python:3.12-slim-bookworm"
DIGEST = "sha256:" + "0a" * 32


def note(root: Path, text: str) -> Path:
    path = root / "base-images.json"
    path.write_text(text)
    return path


def test_an_image_without_a_digest_is_asked_for_by_its_tag() -> None:
    assert BaseImage(NAME, None).reference == NAME


def test_a_pinned_image_is_asked_for_by_its_digest() -> None:
    assert BaseImage(NAME, DIGEST).reference == f"{NAME}@{DIGEST}"


@pytest.mark.parametrize("digest", [None, DIGEST])
def test_what_is_written_is_read_again(digest: str | None, tmp_path: Path) -> None:
    path = note(tmp_path, "")
    BaseImage(NAME, digest).write(path)
    assert BaseImage.read(path) == BaseImage(NAME, digest)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        json.dumps({"python": {"image": NAME}}),
        json.dumps({"python": {"image": NAME, "digest": "latest"}}),
        json.dumps({"python": {"image": NAME, "digest": DIGEST.upper()}}),
        json.dumps({"python": {"image": "python", "digest": None}}),
        json.dumps({"python": {"image": 3, "digest": None}}),
    ],
)
def test_anything_else_is_refused_by_the_name_of_the_file(text: str, tmp_path: Path) -> None:
    with pytest.raises(PreconditionError, match=r"base-images\.json"):
        BaseImage.read(note(tmp_path, text))


def test_a_missing_note_is_refused_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(PreconditionError, match=r"base-images\.json"):
        BaseImage.read(tmp_path / "base-images.json")
