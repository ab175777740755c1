"""Checks in order: each told as it comes, skipped where what it needs has failed, and never a traceback."""

import pytest
from infra_common.checks import Check, Checked, Finding, failed, ok, require_passed, run_checks, warning
from infra_common.errors import CheckFailed, InfraError, PreconditionError


def nobody(error: Exception) -> InfraError | None:
    del error
    return None


def run(*checks: Check) -> dict[str, Finding]:
    return {each.id: each.finding for each in run_checks(checks, nobody, lambda _each: None)}


def test_a_check_is_skipped_where_what_it_needs_has_failed_and_so_is_what_needs_it() -> None:
    found = run(
        Check("first", lambda: failed("no", "do it")),
        Check("second", lambda: ok("yes"), needs=("first",)),
        Check("third", lambda: ok("yes"), needs=("second",)),
        Check("fourth", lambda: ok("yes")),
    )
    assert [each.status for each in found.values()] == ["failed", "skipped", "skipped", "ok"]
    assert found["second"].result == "not looked at: first comes first"


def test_a_warning_does_not_stand_in_the_way() -> None:
    found = run(Check("old", lambda: warning("old", "renew")), Check("next", lambda: ok("yes"), needs=("old",)))
    assert found["next"].status == "ok"


def test_an_error_of_ours_is_a_failure_with_its_fix() -> None:
    def absent() -> Finding:
        raise PreconditionError("it is not there", fix="make it")

    assert run(Check("thing", absent))["thing"] == Finding("failed", "it is not there", "make it")


def test_an_error_that_nobody_can_explain_is_not_hidden() -> None:
    def broken() -> Finding:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(Check("thing", broken))


def test_the_first_failure_is_what_is_told_with_how_many_more() -> None:
    checked = [Checked("a", failed("no", "x")), Checked("b", failed("no", "y")), Checked("c", ok("yes"))]
    with pytest.raises(CheckFailed, match=r"a: no \(and 1 more\); nothing was created") as refused:
        require_passed(checked)
    assert refused.value.fix == "x"
