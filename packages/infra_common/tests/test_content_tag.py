"""A tag says what an image is made of: the same sources the same, and the engine sees nothing else."""

from pathlib import Path

import pytest
from infra_common.content_tag import StagedContext, stage_context
from infra_common.errors import PreconditionError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    source = tmp_path / "root"
    (source / "app" / "tests").mkdir(parents=True)
    (source / "app" / "main.py").write_text("1")
    (source / "app" / "tests" / "test_main.py").write_text("1")
    (source / "app" / ".secret").write_text("1")
    (source / "other").write_text("1")
    return source


def staged(root: Path, *recipe: str) -> StagedContext:
    return stage_context(root, ["app"], root.parent / f"context-{len(list(root.parent.iterdir()))}", recipe=recipe)


def test_the_context_holds_what_was_named_without_tests_and_hidden_files(root: Path) -> None:
    context = staged(root)
    files = [path.relative_to(context.directory).as_posix() for path in context.directory.rglob("*") if path.is_file()]
    assert files == ["app/main.py"]


def test_what_is_not_in_the_context_does_not_change_the_tag(root: Path) -> None:
    before = staged(root).tag
    (root / "app" / "tests" / "test_main.py").write_text("2")
    (root / "other").write_text("2")
    assert staged(root).tag == before


def test_content_name_mode_and_recipe_each_change_the_tag(root: Path) -> None:
    tags = {staged(root).tag, staged(root, "linux/arm64").tag}
    (root / "app" / "main.py").chmod(0o755)
    tags.add(staged(root).tag)
    (root / "app" / "main.py").write_text("2")
    tags.add(staged(root).tag)
    (root / "app" / "main.py").rename(root / "app" / "start.py")
    tags.add(staged(root).tag)
    assert len(tags) == 5


def test_an_input_that_is_missing_is_named(root: Path) -> None:
    with pytest.raises(PreconditionError, match="nowhere is missing"):
        stage_context(root, ["nowhere"], root.parent / "context", recipe=())
