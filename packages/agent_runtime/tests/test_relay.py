import asyncio
import contextlib

import anyio
import pytest
from agent_runtime.errors import AgentErrorCode
from agent_runtime.events import AgentErrorEvent, TextDelta
from agent_runtime.relay import Emit, Relay

from packages.agent_runtime.tests.conftest import collect, within


async def test_events_come_out_in_order() -> None:
    async def produce(emit: Emit) -> None:
        for seq in range(10):
            await emit(TextDelta(seq, ""))

    assert await collect(Relay(produce, 2).events()) == [TextDelta(seq, "") for seq in range(10)]


async def test_a_full_queue_holds_the_work_and_loses_nothing() -> None:
    emitted = 0

    async def produce(emit: Emit) -> None:
        nonlocal emitted
        for seq in range(10):
            await emit(TextDelta(seq, ""))
            emitted += 1

    events = Relay(produce, 2).events()
    assert await within(anext(events)) == TextDelta(0, "")
    for _ in range(50):
        await asyncio.sleep(0)
    assert emitted == 3
    assert len(await collect(events)) == 9


async def test_work_that_ends_with_a_full_queue_ends_the_events() -> None:
    async def produce(emit: Emit) -> None:
        await emit(TextDelta(0, ""))
        await emit(TextDelta(1, ""))

    events = Relay(produce, 2).events()
    first = asyncio.ensure_future(anext(events))
    assert await within(first) == TextDelta(0, "")
    assert await collect(events) == [TextDelta(1, "")]


async def test_what_breaks_the_work_is_one_internal_error(caplog: pytest.LogCaptureFixture) -> None:
    async def produce(emit: Emit) -> None:
        await emit(TextDelta(0, ""))
        raise ZeroDivisionError("secret")

    first, last = await collect(Relay(produce).events())
    assert first == TextDelta(0, "")
    assert isinstance(last, AgentErrorEvent)
    assert last.code == AgentErrorCode.INTERNAL_ERROR
    assert [record.levelname for record in caplog.records] == ["ERROR"]


class Work:
    """Work that never ends, and takes a moment to clean up."""

    def __init__(self) -> None:
        self.cleaned = False

    async def produce(self, emit: Emit) -> None:
        await emit(TextDelta(0, ""))
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(5):
                await asyncio.sleep(0)
            self.cleaned = True


async def test_closing_waits_until_the_work_has_cleaned_up() -> None:
    work = Work()
    events = Relay(work.produce).events()
    await within(anext(events))
    await within(events.aclose())
    assert work.cleaned


async def test_being_cancelled_waits_until_the_work_has_cleaned_up() -> None:
    work = Work()
    events = Relay(work.produce).events()
    await within(anext(events))
    waiting = asyncio.ensure_future(anext(events))
    await asyncio.sleep(0)
    waiting.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await within(waiting)
    assert work.cleaned


async def test_a_cancel_scope_that_cancels_again_and_again_does_not_cut_the_cleaning_short() -> None:
    work = Work()
    events = Relay(work.produce).events()
    await within(anext(events))
    with anyio.CancelScope() as scope:
        scope.cancel()
        await anext(events)
    assert work.cleaned


async def test_an_interruption_ends_the_work_and_drops_what_is_queued() -> None:
    work = Work()

    async def produce(emit: Emit) -> None:
        for seq in range(3):
            await emit(TextDelta(seq, ""))
        await work.produce(emit)

    relay = Relay(produce)
    events = relay.events()
    assert await within(anext(events)) == TextDelta(0, "")
    for _ in range(10):
        await asyncio.sleep(0)
    relay.interrupt()
    assert await collect(events) == []
    assert work.cleaned


async def test_an_interruption_frees_work_that_waits_for_room() -> None:
    async def produce(emit: Emit) -> None:
        for seq in range(100):
            await emit(TextDelta(seq, ""))

    relay = Relay(produce, 2)
    events = relay.events()
    await within(anext(events))
    for _ in range(10):
        await asyncio.sleep(0)
    relay.interrupt()
    assert await collect(events) == []


async def test_work_that_was_interrupted_before_it_began_does_not_begin() -> None:
    async def produce(emit: Emit) -> None:
        raise AssertionError("nobody wants it")

    relay = Relay(produce)
    relay.interrupt()
    assert await collect(relay.events()) == []


async def test_what_breaks_while_the_work_ends_is_logged_and_not_told(caplog: pytest.LogCaptureFixture) -> None:
    async def produce(emit: Emit) -> None:
        await emit(TextDelta(0, ""))
        try:
            await asyncio.Event().wait()
        finally:
            raise ZeroDivisionError("secret")

    events = Relay(produce).events()
    await within(anext(events))
    await within(events.aclose())
    assert [record.message for record in caplog.records] == ["turn failed"]
