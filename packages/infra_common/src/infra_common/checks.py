"""Preflight checks: each has an id, a result and a fix, and none changes anything.

A check that needs another one is skipped where that one failed, so that one missing thing is told once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import typer

from infra_common.aws_errors import explained
from infra_common.errors import CheckFailed, InfraError

if TYPE_CHECKING:
    from infra_common.console import Console

Status = Literal["ok", "warning", "failed", "skipped"]
_MARKS: dict[Status, tuple[str, str]] = {
    "ok": ("✓", "green"),
    "warning": ("!", "yellow"),
    "failed": ("✗", "red"),
    "skipped": ("–", "dim"),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found. `fix` is a command, or what to do, wherever something is not right."""

    status: Status
    result: str
    fix: str | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """`run` may raise an InfraError, which is a failure, or what botocore raises."""

    id: str
    run: Callable[[], Finding]
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Checked:
    """A check's id with what it found."""

    id: str
    finding: Finding

    def as_dict(self) -> dict[str, Any]:
        """For --json."""
        return {"id": self.id, "status": self.finding.status, "result": self.finding.result, "fix": self.finding.fix}


def ok(result: str) -> Finding:
    """All is well."""
    return Finding("ok", result)


def warning(result: str, fix: str) -> Finding:
    """It will do, but somebody should know."""
    return Finding("warning", result, fix)


def failed(result: str, fix: str) -> Finding:
    """It will not do."""
    return Finding("failed", result, fix)


def run_checks(
    checks: Sequence[Check], explain: Callable[[Exception], InfraError | None], each: Callable[[Checked], None]
) -> list[Checked]:
    """Run them in order, telling `each` as it comes; `explain` turns foreign errors into ours."""
    done: dict[str, Checked] = {}
    for check in checks:
        missing = [name for name in check.needs if name in done and done[name].finding.status in {"failed", "skipped"}]
        skipped = Finding("skipped", f"not looked at: {missing[0]} comes first") if missing else None
        done[check.id] = Checked(check.id, skipped or _run(check, explain))
        each(done[check.id])
    return list(done.values())


def show(checked: Checked, console: Console) -> None:
    """One line, and its fix beneath it where there is one."""
    mark, style = _MARKS[checked.finding.status]
    console.line(f"{mark} {checked.id:<18} {checked.finding.result}", style if checked.finding.status != "ok" else "")
    if checked.finding.fix:
        console.line(f"    fix: {checked.finding.fix}")


def require_passed(checked: Iterable[Checked]) -> None:
    """Raise CheckFailed that names what failed."""
    names = [each for each in checked if each.finding.status == "failed"]
    if names:
        first = names[0]
        others = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
        raise CheckFailed(f"{first.id}: {first.finding.result}{others}; nothing was created", fix=first.finding.fix)


def examine(planned: Sequence[Check], console: Console) -> None:
    """Every check with its result and its fix. Exit code 1 where one failed."""
    found = run_checks(planned, explained, lambda each: show(each, console))
    has_failed = any(each.finding.status == "failed" for each in found)
    console.result({"checks": [each.as_dict() for each in found], "passed": not has_failed})
    if has_failed:
        raise typer.Exit(1)


def require(planned: Sequence[Check], console: Console) -> None:
    """Quiet about what is well, unless a terminal looks. Raises CheckFailed."""
    with console.step("doctor") as say:
        found = run_checks(planned, explained, lambda each: say(f"{each.id}: {each.finding.result}"))
        require_passed(found)
    for each in found:
        if each.finding.status == "warning":
            console.warn(f"{each.id}: {each.finding.result}")


def _run(check: Check, explain: Callable[[Exception], InfraError | None]) -> Finding:
    try:
        return check.run()
    except InfraError as error:
        return Finding("failed", str(error), error.fix)
    except Exception as error:
        ours = explain(error)
        if ours is None:
            raise
        return Finding("failed", str(ours), ours.fix)
