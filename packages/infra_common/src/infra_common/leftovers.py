"""What is still in the account, why, what it costs a month, and the command that removes it.

Found by asking AWS, never from a memory on this machine. A purge touches only what carries our tags, and never what is
shared with other deployments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Final

from infra_common.errors import LeftoversRemain

if TYPE_CHECKING:
    from infra_common.console import Console
    from infra_common.session import AwsSession

FINDERS: Final = "voice_stack.leftovers"
"""Entry points of this group are functions of a stage, a session and a console: each command's own leftovers."""


@dataclass(frozen=True, slots=True)
class Leftover:
    """`monthly_usd` None where it cannot be known. `purge` is None for what must not be deleted by us."""

    kind: str
    name: str
    size: str
    monthly_usd: float | None
    why: str
    command: str
    purge: Callable[[], None] | None = field(default=None, compare=False)

    @property
    def is_ours(self) -> bool:
        """Whether a purge may remove it."""
        return self.purge is not None

    @property
    def is_billable(self) -> bool:
        """Whether it is ours and costs something."""
        return self.is_ours and (self.monthly_usd is None or self.monthly_usd > 0)

    def as_dict(self) -> dict[str, Any]:
        """For --json."""
        return {
            "kind": self.kind,
            "name": self.name,
            "size": self.size,
            "monthly_usd": self.monthly_usd,
            "why": self.why,
            "command": self.command,
            "shared": not self.is_ours,
        }


def whole_stage(stage: str, session: AwsSession, console: Console) -> list[Leftover]:
    """What every command of the project that is installed here has left in a stage: agents before what they speak with.

    Raises what botocore raises.
    """
    finders = sorted(entry_points(group=FINDERS), key=lambda each: each.name)
    return [leftover for each in finders for leftover in each.load()(stage, session, console)]


def report(leftovers: Sequence[Leftover], console: Console) -> None:
    """The table with its sum, and below it what removes what: one command for many things, as a rule."""
    console.result({"leftovers": [each.as_dict() for each in leftovers], "monthly_usd": monthly_usd(leftovers)})
    if not leftovers:
        console.line("Nothing is left.")
        return
    rows = [(each.kind, each.name, each.size, dollars(each.monthly_usd), each.why) for each in leftovers]
    console.table("Still there", ("what", "name", "size", "a month", "why it is kept"), rows, fixed=2)
    console.line(f"Together {dollars(monthly_usd(leftovers))} a month, without what is shared.")
    for command in dict.fromkeys(each.command for each in leftovers):
        kinds = dict.fromkeys(each.kind for each in leftovers if each.command == command)
        console.line(f"  {', '.join(kinds)}: {command}")


def purge(leftovers: Sequence[Leftover], console: Console) -> None:
    """Delete those that are ours, after a typed yes."""
    ours = [each for each in leftovers if each.is_ours]
    console.note("\n".join(f"  {each.kind} {each.name} ({each.size})" for each in ours))
    console.confirm(f"Delete these {len(ours)} for ever?", "yes")
    for each in ours:
        if each.purge is not None:
            with console.step(f"delete {each.kind} {each.name}"):
                each.purge()


def require_nothing_billable(leftovers: Sequence[Leftover], stage: str, fix: str) -> None:
    """Raises LeftoversRemain while something of ours costs money."""
    if any(each.is_billable for each in leftovers):
        raise LeftoversRemain(
            f"something that costs money is left in stage {stage}: {dollars(monthly_usd(leftovers))} a month", fix=fix
        )


def monthly_usd(leftovers: Sequence[Leftover]) -> float:
    """What ours cost together."""
    return sum(each.monthly_usd or 0.0 for each in leftovers if each.is_ours)


def dollars(amount: float | None) -> str:
    """As a person reads it."""
    if amount is None:
        return "unknown"
    if amount == 0:
        return "$0"
    return "under $0.01" if amount < 0.01 else f"${amount:,.2f}"


def gigabytes(size_bytes: float) -> str:
    """As a person reads it."""
    if size_bytes < 1e6:
        return f"{size_bytes / 1e3:.0f} kB"
    return f"{size_bytes / 1e6:.1f} MB" if size_bytes < 1e9 else f"{size_bytes / 1e9:.2f} GB"
