"""What counts as ours, as billable, and how amounts read."""

import pytest
from infra_common.leftovers import Leftover, dollars, gigabytes, monthly_usd


def leftover(monthly: float | None, *, is_ours: bool = True) -> Leftover:
    return Leftover("bucket", "b", "1 GB", monthly, "kept", "rm", (lambda: None) if is_ours else None)


@pytest.mark.parametrize(
    ("each", "is_billable"),
    [
        (leftover(0.5), True),
        (leftover(None), True),
        (leftover(0.0), False),
        (leftover(0.5, is_ours=False), False),
    ],
)
def test_only_what_is_ours_and_costs_something_is_billable(each: Leftover, is_billable: bool) -> None:
    assert each.is_billable is is_billable


def test_what_is_shared_is_not_in_the_sum() -> None:
    assert monthly_usd([leftover(1.0), leftover(None), leftover(9.0, is_ours=False)]) == 1.0


@pytest.mark.parametrize(
    ("amount", "text"), [(None, "unknown"), (0, "$0"), (0.004, "under $0.01"), (1027.84, "$1,027.84")]
)
def test_amounts_read_as_money(amount: float | None, text: str) -> None:
    assert dollars(amount) == text


@pytest.mark.parametrize(("size", "text"), [(500, "0 kB"), (2_500_000, "2.5 MB"), (5_300_000_000, "5.30 GB")])
def test_sizes_read_as_sizes(size: int, text: str) -> None:
    assert gigabytes(size) == text
