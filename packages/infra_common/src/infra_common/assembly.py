"""The CDK app, made in this process: the templates that the CDK command then deploys.

CDK is imported here and nowhere earlier: it takes seconds. Its JavaScript side writes warnings of its own to standard
error (an old Node, a deprecated call); they are kept, and shown only where synthesis fails.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from infra_common.errors import InfraError, OutcomeError

REPORT: Final = "validation-report.json"
_MARK: Final = "made-from.txt"
_TAIL_LINES: Final = 12
_NAME_CHARS: Final = 16
_KEPT: Final = 4
"""Assemblies of a few hundred kB: what is live, what is to come, and two to go back to."""


@dataclass(frozen=True, slots=True)
class Assembly:
    """A directory of templates."""

    directory: Path

    @property
    def stacks(self) -> list[str]:
        """The stacks' names, in the order of the manifest."""
        manifest = json.loads((self.directory / "manifest.json").read_text())
        kinds = manifest["artifacts"].items()
        return [name for name, each in kinds if each["type"] == "aws:cloudformation:stack"]

    def template(self, stack: str) -> dict[str, Any]:
        """One stack's template."""
        document: dict[str, Any] = json.loads((self.directory / f"{stack}.template.json").read_text())
        return document


def fingerprint(sources: Iterable[Path], *inputs: str) -> str:
    """A hash over everything that templates are made from: our sources, CDK's version, and the app's inputs."""
    digest = hashlib.sha256(version("aws-cdk-lib").encode())
    for folder in sources:
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.read_bytes())
    for text in inputs:
        digest.update(f"\0{text}".encode())
    return digest.hexdigest()


def synthesise(build: Callable[[Path], Any], directory: Path, made_from: str | None = None) -> Assembly:
    """Call `build` with an empty directory; it returns the cdk.App, which is synthesised into it.

    With `made_from`, a fingerprint, templates that were made from the same are used again: it saves ten seconds. Raises
    OutcomeError with the first rules that were broken, or with the last lines of what CDK said.
    """
    mark = directory / _MARK
    if made_from is not None and mark.is_file() and mark.read_text() == made_from:
        return Assembly(directory)
    if directory.exists():
        shutil.rmtree(directory)
    os.environ.setdefault("CDK_DISABLE_STACK_TRACE", "1")  # a quarter of the time of a synthesis
    with _kept_stderr() as said:
        try:
            build(directory).synth()
        except InfraError:
            raise
        except RuntimeError as error:  # jsii's own, for everything that goes wrong on the JavaScript side
            raise OutcomeError(_reason(directory, said(), error)) from error
    if made_from is not None:
        mark.write_text(made_from)
    return Assembly(directory)


def synthesise_once(build: Callable[[Path], Any], folder: Path, made_from: str) -> Assembly:
    """As `synthesise`, in a directory of `folder` for each fingerprint: going back to what was there before is quick.

    The newest few stay.
    """
    directory = folder / made_from[:_NAME_CHARS]
    assembly = synthesise(build, directory, made_from)
    os.utime(directory)
    by_age = sorted((each for each in folder.iterdir() if each.is_dir()), key=lambda each: each.stat().st_mtime_ns)
    for old in by_age[:-_KEPT]:
        shutil.rmtree(old)
    return assembly


def _reason(directory: Path, said: str, error: RuntimeError) -> str:
    broken = _broken_rules(directory / REPORT)
    if broken:
        return f"the templates break {len(broken)} of the house rules: {'; '.join(broken[:3])}"
    lines = [line for line in said.splitlines() if line.strip()][-_TAIL_LINES:]
    return f"the templates could not be made: {error}. {' '.join(lines)}"


def _broken_rules(report: Path) -> list[str]:
    if not report.exists():
        return []
    found = json.loads(report.read_text())
    return [
        f"{violation['ruleName']} ({violation['description']})"
        for plugin in found.get("pluginReports", [])
        for violation in plugin.get("violations", [])
    ]


@contextmanager
def _kept_stderr() -> Iterator[Callable[[], str]]:
    """Standard error into memory; jsii writes to its buffer from a thread of its own."""
    kept = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)

    def said() -> str:
        buffer = kept.buffer
        assert isinstance(buffer, io.BytesIO)  # noqa: S101 - made above
        return buffer.getvalue().decode(errors="replace")

    before, sys.stderr = sys.stderr, kept
    try:
        yield said
    finally:
        sys.stderr = before
