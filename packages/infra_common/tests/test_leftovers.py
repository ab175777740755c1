"""What counts as ours, as billable, and how amounts read."""

import pytest
from infra_common.console import Console
from infra_common.leftovers import Leftover, dollars, gigabytes, monthly_usd, report


def leftover(monthly: float | None, *, is_ours: bool = True) -> Leftover:
    command, purge = ("rm", lambda: None) if is_ours else ("not ours to remove", None)
    return Leftover("bucket", "b", "1 GB", monthly, "kept", command, purge)


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


def test_a_command_that_removes_several_things_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    report([leftover(1.0), leftover(2.0), leftover(9.0, is_ours=False)], Console("tool"))
    told = capsys.readouterr().out
    assert "Together $3.00 a month, without what is shared.\n  bucket: rm\n  bucket: not ours to remove\n" in told


def test_where_nothing_is_left_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    report([], Console("tool"))
    assert capsys.readouterr().out == "Nothing is left.\n"


@pytest.mark.parametrize(
    ("amount", "text"), [(None, "unknown"), (0, "$0"), (0.004, "under $0.01"), (1027.84, "$1,027.84")]
)
def test_amounts_read_as_money(amount: float | None, text: str) -> None:
    assert dollars(amount) == text


@pytest.mark.parametrize(("size", "text"), [(500, "0 kB"), (2_500_000, "2.5 MB"), (5_300_000_000, "5.30 GB")])
def test_sizes_read_as_sizes(size: int, text: str) -> None:
    assert gigabytes(size) == text
