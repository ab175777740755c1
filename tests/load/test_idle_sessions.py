"""What sessions cost that say nothing; `make test-load` runs it."""

import pytest

from benchmarks.idle_sessions import LIMIT_BYTES, measure


@pytest.mark.load
@pytest.mark.timeout(600)
async def test_a_thousand_idle_sessions_add_less_than_60_mb() -> None:
    costs = await measure(1000)
    assert 0 < costs.idle < LIMIT_BYTES
