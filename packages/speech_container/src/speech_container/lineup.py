"""The sentences of one session on their way to the engine, in the order of its answers.

One at a time: the next turn's first sentence is not queued before the last one of the turn in front is. A listener's
jobs share one look-ahead, so work that ran ahead behind a context whose text is slow would use it up, and the slow
context, which has to be heard first, could never go on.

The first sentence of a turn is admitted or refused like any request. What follows in a context was promised with it:
where the engine's queue is full it waits for a place, for `_PATIENCE_S` at most, and nobody waits for it.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final

from speech_protocol import ErrorCode, Synthesize

from .context import Sentence
from .errors import Refusal
from .narration import nothing_to_say
from .synthesis import Recitation
from .turn import Turn

Recite = Callable[[Synthesize], Awaitable[Recitation]]

_AHEAD: Final = 16  # sentences of one turn in the engine's queue: 40 s of audio, where the look-ahead is 10 s
_PATIENCE_S: Final = 30.0


class Entry:
    """One turn's place: sentences in, recitations out."""

    def __init__(self, turn: Turn, recite: Recite, clock: Callable[[], float]) -> None:
        self._turn = turn
        self._recite = recite
        self._clock = clock
        self._sentences: deque[Sentence] = deque()
        self._is_whole = False
        self._recitations: deque[tuple[Sentence, Recitation]] = deque()
        self._current: Recitation | None = None
        self._refusal: Refusal | None = None
        self._is_over = False
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def add(self, sentences: tuple[Sentence, ...], *, is_all: bool) -> None:
        """More of the turn's text; `is_all`: the last of it."""
        if not self._is_over:
            self._sentences += sentences
            self._is_whole = is_all
            self._changed.set()

    def stop(self) -> None:
        """Nothing more of this turn is wanted. Its recitations end before the engine's next step."""
        self._is_over = True
        self._sentences.clear()
        if self._task is not None:
            self._task.cancel()
        if self._current is not None:
            self._current.cancel()
        for _, recitation in self._recitations:
            recitation.cancel()
        self._recitations.clear()
        self._changed.set()

    async def next(self) -> tuple[Sentence, Recitation] | None:
        """What is to be delivered now, once it is there; None at the end. Raises `Refusal` where that came early."""
        await self._until(lambda: bool(self._recitations) or self._is_over)
        if self._recitations:
            sentence, self._current = self._recitations.popleft()
            self._changed.set()
            return sentence, self._current
        if self._refusal is not None:
            raise self._refusal
        return None

    async def run(self) -> None:
        """Queue sentence after sentence at the engine, until the turn is over."""
        if self._is_over:
            return
        self._task = asyncio.create_task(self._run(), name="lineup-entry")
        await asyncio.wait({self._task})
        if not self._task.cancelled():
            self._task.result()

    async def _run(self) -> None:
        try:
            spoken = 0
            while (sentence := await self._next_sentence()) is not None:
                recitation = await self._recitation(sentence, is_first=not spoken)
                if recitation is not None:
                    spoken += 1
                    self._recitations.append((sentence, recitation))
                    self._changed.set()
                await self._until(lambda: len(self._recitations) < _AHEAD)
            if not spoken:
                raise nothing_to_say()
        except Refusal as refusal:
            self._refusal = refusal
        finally:
            self._is_over = True
            self._changed.set()

    async def _next_sentence(self) -> Sentence | None:
        await self._until(lambda: bool(self._sentences) or self._is_whole)
        return self._sentences.popleft() if self._sentences else None

    async def _recitation(self, sentence: Sentence, *, is_first: bool) -> Recitation | None:
        """None where a sentence of a context holds nothing to pronounce (a rule, an emoji): the rest goes on."""
        request = replace(self._turn.synthesize, text=sentence.text)
        patience_ends_s = self._clock() + _PATIENCE_S
        while True:
            try:
                return await self._recite(request)
            except Refusal as refusal:
                if self._turn.context is not None and refusal.code is ErrorCode.TEXT_EMPTY:
                    return None
                if is_first or refusal.code is not ErrorCode.BUSY or self._clock() > patience_ends_s:
                    raise
                await asyncio.sleep(refusal.retry_after_s or 0)

    async def _until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            self._changed.clear()
            await self._changed.wait()


class Lineup:
    """`recite` queues one sentence for the session's listener. `clock`: seconds that never go back."""

    def __init__(self, recite: Recite, clock: Callable[[], float] = time.monotonic) -> None:
        self._recite = recite
        self._clock = clock
        self._entries: asyncio.Queue[Entry] = asyncio.Queue()  # as many as the session has turns

    def enter(self, turn: Turn) -> Entry:
        """A place behind all others."""
        entry = Entry(turn, self._recite, self._clock)
        self._entries.put_nowait(entry)
        return entry

    async def run(self) -> None:
        """For ever."""
        while True:
            entry = await self._entries.get()
            await entry.run()
