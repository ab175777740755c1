import asyncio

from speech_client.alarm import Alarm
from speech_client.ledger import Due


class Deadline:
    """A deadline that a test moves."""

    def __init__(self, in_s: float | None) -> None:
        self.missed: asyncio.Future[Due] = asyncio.get_running_loop().create_future()
        self.looks = 0
        self.move(in_s)
        self.alarm = Alarm(self.due, self.missed.set_result)

    def move(self, in_s: float | None) -> None:
        self._at_s = None if in_s is None else asyncio.get_running_loop().time() + in_s

    def due(self) -> Due | None:
        self.looks += 1
        return None if self._at_s is None else Due(self._at_s, "answer", 1)


async def test_it_rings_once_the_deadline_has_passed() -> None:
    deadline = Deadline(0)
    deadline.alarm.watch()
    due = await deadline.missed
    assert due.at_s <= asyncio.get_running_loop().time()


async def test_a_deadline_that_moved_back_is_rung_for_later() -> None:
    deadline = Deadline(0.01)
    deadline.alarm.watch()
    deadline.move(0.05)
    deadline.alarm.watch()
    due = await deadline.missed
    assert due.at_s <= asyncio.get_running_loop().time()
    assert deadline.looks >= 4  # two watches, one ring in vain, and the one that counts


async def test_a_deadline_that_moved_forward_is_not_overslept() -> None:
    deadline = Deadline(1000)
    deadline.alarm.watch()
    deadline.move(0)
    deadline.alarm.watch()
    await deadline.missed


async def test_it_keeps_still_while_nothing_is_due_or_after_it_was_stopped() -> None:
    for deadline in (Deadline(None), Deadline(0)):
        deadline.alarm.watch()
        deadline.alarm.stop()
        await asyncio.wait({deadline.missed}, timeout=0.02)
        assert not deadline.missed.done()
