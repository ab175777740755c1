import asyncio

import pytest
from speech_client.channel import Channel


class OverError(Exception):
    """Why a channel was closed."""


async def waiting[T](task: "asyncio.Task[T]") -> "asyncio.Task[T]":
    """Let `task` run until it waits."""
    for _ in range(3):
        await asyncio.sleep(0)
    assert not task.done()
    return task


def test_a_channel_holds_at_least_one_item() -> None:
    with pytest.raises(ValueError, match="capacity is 0"):
        Channel[int](0)


async def test_items_come_out_in_order() -> None:
    channel = Channel[int](3)
    for number in range(3):
        await channel.put(number)
    assert [await channel.get() for _ in range(3)] == [0, 1, 2]


async def test_put_waits_for_room_and_get_for_an_item() -> None:
    channel = Channel[int](1)
    getting = await waiting(asyncio.create_task(channel.get()))
    await channel.put(1)
    assert await getting == 1
    await channel.put(2)
    putting = await waiting(asyncio.create_task(channel.put(3)))
    assert channel.is_full
    assert await channel.get() == 2
    await putting
    assert await channel.get() == 3


async def test_what_has_arrived_is_read_before_the_reason_of_the_end() -> None:
    channel = Channel[int](2)
    await channel.put(1)
    channel.close(OverError())
    channel.close(ValueError("a later reason"))
    assert await channel.get() == 1
    for _ in range(2):
        with pytest.raises(OverError):
            await channel.get()


async def test_closing_wakes_everybody_who_waits() -> None:
    full, empty = Channel[int](1), Channel[int](1)
    await full.put(1)
    tasks = [asyncio.create_task(full.put(number)) for number in (2, 3)]
    tasks += [asyncio.create_task(full.put(4))]
    getting = await waiting(asyncio.create_task(empty.get()))
    full.close(OverError())
    empty.close(OverError())
    results = await asyncio.gather(*tasks, getting, return_exceptions=True)
    assert [type(result) for result in results] == [OverError] * 4


async def test_a_cancelled_wait_passes_its_turn_on() -> None:
    channel = Channel[int](1)
    first = await waiting(asyncio.create_task(channel.get()))
    second = await waiting(asyncio.create_task(channel.get()))
    channel.put_now(7)  # wakes the first, which is cancelled before it runs
    first.cancel()
    assert await second == 7
    assert (await asyncio.gather(first, return_exceptions=True))[0].__class__ is asyncio.CancelledError


async def test_a_cancelled_put_leaves_nothing_behind() -> None:
    channel = Channel[int](1)
    await channel.put(1)
    putting = await waiting(asyncio.create_task(channel.put(2)))
    putting.cancel()
    await asyncio.wait({putting})
    await channel.get()
    assert len(channel) == 0


async def test_dropping_makes_room() -> None:
    channel = Channel[int](2)
    await channel.put(1)
    await channel.put(2)
    putting = await waiting(asyncio.create_task(channel.put(3)))
    channel.drop(lambda item: item == 1)
    await putting
    assert [await channel.get(), await channel.get()] == [2, 3]


async def test_a_discarding_channel_takes_everything_and_keeps_nothing() -> None:
    channel = Channel[int](1)
    await channel.put(1)
    putting = await waiting(asyncio.create_task(channel.put(2)))
    channel.discard()
    await putting
    channel.put_now(3)
    assert len(channel) == 0
