"""Wanted against live, and what it costs: what is told where things are not as they should be."""

from dataclasses import replace

import pytest
from infra_common.prices import Price
from speech_infra.endpoint import EndpointState
from speech_infra.status import Status

from packages.speech_infra.tests.conftest import DIGEST, release_of

SERVING = EndpointState("voice", "arn", "InService", "", 2, 2, DIGEST, "")
GOOD = Status(
    names={"model": "kokoro-82m", "stage": "dev", "region": "us-east-1", "account": "123456789012"},
    stack=None,
    release=release_of("kokoro-82m", instances=2, max_instances=4),
    releases=3,
    endpoint=SERVING,
    scaling=(2, 4),
    alarms={"Failing": "OK"},
    smoke_test=None,
    price=Price(1.5, "AWS Price List"),
)


def line(status: Status, name: str) -> str:
    return dict(status.lines())[name]


def test_what_is_as_wanted_says_yes_and_costs_every_instance() -> None:
    assert GOOD.differences == []
    assert line(GOOD, "wanted = live") == "yes"
    assert line(GOOD, "cost") == "$3.000 an hour (AWS Price List)"


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (replace(GOOD, endpoint=None), "the release is to serve, but there is no endpoint"),
        (
            replace(GOOD, endpoint=replace(SERVING, image_digest="sha256:b")),
            f"image: wanted {DIGEST}, live sha256:b",
        ),
        (replace(GOOD, endpoint=replace(SERVING, status="Failed")), "endpoint: wanted InService, live Failed"),
        (replace(GOOD, scaling=(1, 4)), "scaling: wanted 2 to 4, live 1 to 4"),
        (
            replace(GOOD, release=release_of("kokoro-82m", is_paused=True)),
            "the release is paused, but an endpoint is there",
        ),
    ],
)
def test_what_differs_is_told(status: Status, told: str) -> None:
    assert status.differences == [told]
    assert line(status, "wanted = live") == told
    assert status.as_dict()["differences"] == [told]


def test_a_paused_release_without_an_endpoint_is_as_wanted_and_costs_nothing() -> None:
    paused = replace(GOOD, release=release_of("kokoro-82m", is_paused=True), endpoint=None)
    assert paused.differences == []
    assert line(paused, "cost") == "$0 an hour: nothing runs"


def test_a_price_that_nobody_knows_is_not_zero() -> None:
    unknown = replace(GOOD, price=Price(None, "not in the Price List"))
    assert unknown.usd_an_hour is None
    assert line(unknown, "cost") == "unknown"


def test_raised_alarms_a_failed_proof_and_the_last_failure_stand_out() -> None:
    bad = replace(
        GOOD,
        alarms={"Failing": "ALARM", "Idle": "OK"},
        smoke_test={"at": "2026-11-29T12:00:00+00:00", "passed": False, "failed": ["session opens"]},
        endpoint=replace(SERVING, failure="it was rolled back"),
    )
    assert line(bad, "alarms") == "raised: Failing"
    assert line(bad, "smoke test") == "failed at 2026-11-29T12:00:00+00:00: session opens"
    assert line(bad, "last failure") == "it was rolled back"


def test_where_nothing_is_deployed_everything_says_so() -> None:
    nothing = replace(GOOD, release=None, endpoint=None, scaling=None, alarms={}, price=None)
    assert dict(nothing.lines()) == {
        "stage": "dev in us-east-1, account 123456789012",
        "stack": "not there",
        "endpoint": "none",
        "wanted = live": "nothing is wanted",
        "smoke test": "never run",
        "cost": "$0 an hour: nothing runs",
    }
