"""Three minutes of everything at once; `make test-load` runs it, and `python -m tests.load.soak` for an hour."""

import pytest

from tests.load.soak import BEHAVIOURS, soak

SECONDS = 180
LEAST_REQUESTS = 300


@pytest.mark.load
@pytest.mark.timeout(1200)
async def test_a_server_under_everything_that_clients_do_answers_each_once_and_keeps_its_size() -> None:
    outcome = await soak(SECONDS)
    assert outcome.problems == []
    assert outcome.requests > LEAST_REQUESTS
    assert {behaviour.__name__ for behaviour in BEHAVIOURS} <= set(outcome.record.did)
