"""A session that is kept between uses: opened when it is first needed, looked at before it is used again, and replaced
before the platform ends it.

SageMaker ends a bidirectional stream after 30 minutes, in mid sentence if need be, and a server that restarts ends it
whenever it likes. Opening one takes two or three round trips, so it is kept for the next text of the same conversation.
What an old or silent session costs is paid where nobody waits: while a model writes the first sentence.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from .closing import to_the_end
from .errors import SpeechError, SpeechUsageError
from .ledger import Deadlines
from .session import SpeechSession
from .transport import Transport

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Keeping:
    """How long a session is kept, in seconds. The platform's own end is at 30 minutes.

    `renew_s`: one that is older is replaced before its next use. `exchange_s`: in a use that goes on for so long, its
    user should change to another one at the next opportunity (`KeptSession.is_due`). `idle_s`: unused for so long, it
    is closed. `answer_s`: within this time one that was kept has to answer a ping, or a new one is opened.
    """

    renew_s: float = 20 * 60.0
    exchange_s: float = 27 * 60.0
    idle_s: float = 5 * 60.0
    answer_s: float = 2.0


class KeptSession:
    """Lends one session at a time, to tasks of one event loop. `clock` gives seconds and never goes back."""

    def __init__(
        self,
        transport: Transport,
        *,
        deadlines: Deadlines | None = None,
        keeping: Keeping | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._transport = transport
        self._deadlines = deadlines or Deadlines()
        self._keeping = keeping or Keeping()
        self._clock = clock
        self._session: SpeechSession | None = None
        self._opened_s = 0.0
        self._in_use = False
        self._idling: asyncio.TimerHandle | None = None
        self._retiring: set[asyncio.Task[None]] = set()

    @property
    def is_due(self) -> bool:
        """Whether the session in use should be given back soon, because the platform will end it."""
        return self._clock() - self._opened_s >= self._keeping.exchange_s

    @asynccontextmanager
    async def use(self) -> AsyncIterator[SpeechSession]:
        """A session that answers, for the length of an `async with`.

        A body that ends without an exception gives it back to be used again, whatever of its answers is still on the
        way; any other end drops the connection at once. Raises what `SpeechSession.open` does, and `SpeechUsageError`
        for a second use beside the first.
        """
        if self._in_use:
            raise SpeechUsageError("this session is in use: wait for the end of that, or keep a second one")
        self._in_use = True
        try:
            self._stop_idling()
            session = await self._ready()
            try:
                yield session
            except BaseException:
                await _drop(session)
                raise
            self._session = session
            self._idle()
        finally:
            self._in_use = False

    async def close(self) -> None:
        """Say goodbye to a session that is kept. Bounded by its deadlines; a later `use` opens another one."""
        self._stop_idling()
        session, self._session = self._session, None
        if session is not None:
            self._retire(session)
        if self._retiring:
            await to_the_end(_settled(set(self._retiring)))

    async def _ready(self) -> SpeechSession:
        session, self._session = self._session, None
        if session is not None:
            if self._clock() - self._opened_s < self._keeping.renew_s and await self._answers(session):
                return session
            self._retire(session)
        session = await SpeechSession.open(self._transport, deadlines=self._deadlines)
        self._opened_s = self._clock()
        return session

    async def _answers(self, session: SpeechSession) -> bool:
        try:
            async with asyncio.timeout(self._keeping.answer_s):
                await session.ping()
        except (TimeoutError, SpeechError):
            return False
        except BaseException:
            await _drop(session)
            raise
        return True

    def _idle(self) -> None:
        if self._session is not None:
            left_s = self._keeping.renew_s - (self._clock() - self._opened_s)
            wait_s = max(0.0, min(self._keeping.idle_s, left_s))
            self._idling = asyncio.get_running_loop().call_later(wait_s, self._expire)

    def _stop_idling(self) -> None:
        if self._idling is not None:
            self._idling.cancel()
            self._idling = None

    def _expire(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            self._retire(session)

    def _retire(self, session: SpeechSession) -> None:
        """Say goodbye while something else goes on."""
        task = asyncio.create_task(_part(session))
        self._retiring.add(task)
        task.add_done_callback(self._retiring.discard)


async def _part(session: SpeechSession) -> None:
    try:
        await session.close(in_order=session.is_open)
    except SpeechError as error:
        _LOG.debug("a kept session did not end in order: %s", type(error).__name__)


async def _drop(session: SpeechSession) -> None:
    try:
        await session.close(in_order=False)
    except SpeechError as error:
        _LOG.debug("a session did not end in order: %s", type(error).__name__)


async def _settled(tasks: set[asyncio.Task[None]]) -> None:
    await asyncio.wait(tasks)
