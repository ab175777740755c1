"""What a measurement is to show: a figure that may be so large, and no larger."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limit:
    """Something that is to be shown."""

    what: str
    figure: float
    limit: float

    @property
    def is_met(self) -> bool:
        """At most the limit."""
        return self.figure <= self.limit

    def __str__(self) -> str:
        return f"| {self.what} | {self.figure:.3g} | {self.limit:.3g} | {'met' if self.is_met else '**missed**'} |"


def limit_table(limits: Sequence[Limit]) -> list[str]:
    """In Markdown."""
    return ["| to be shown | found | at most | |", "|---|--:|--:|---|", *map(str, limits)]
