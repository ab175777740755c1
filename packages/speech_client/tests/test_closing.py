import asyncio

import pytest
from speech_client.closing import to_the_end


async def test_a_cancellation_takes_effect_after_the_end() -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()
    ended = False

    async def close() -> None:
        nonlocal ended
        begun.set()
        await go_on.wait()
        ended = True

    task = asyncio.create_task(to_the_end(close()))
    await begun.wait()
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0)
    assert not task.done()
    go_on.set()
    await asyncio.wait({task})
    assert task.cancelled()
    assert ended


async def test_what_the_cleaning_up_raises_comes_through() -> None:
    async def fail() -> None:
        raise LookupError

    with pytest.raises(LookupError):
        await to_the_end(fail())


async def test_a_failure_behind_a_cancellation_is_not_left_for_the_event_loop_to_report() -> None:
    begun = asyncio.Event()

    async def fail() -> None:
        begun.set()
        await asyncio.sleep(0)
        raise LookupError

    task = asyncio.create_task(to_the_end(fail()))
    await begun.wait()
    task.cancel()
    await asyncio.wait({task})
    assert task.cancelled()
