"""The engine and the one thread that owns it; requests meet it here and nowhere else.

The thread asks the scheduler for a step, synthesises it, and hands each waveform to its `Recitation`, which lives on
the event loop. It never waits for a listener: how far it may run ahead of one is the scheduler's rule, so a slow
reader costs the others nothing. A lock guards the scheduler; it is held for microseconds, never across a synthesis or
a send.
"""

import asyncio
import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from speech_protocol import ErrorCode

from .engine import Engine, Utterance, Waveform
from .errors import QueueFull, Refusal
from .listener import Piece
from .narration import Line, Script
from .playback import Playback
from .scheduler import Scheduler, Step, Wake

logger = logging.getLogger(__name__)

_LAST_STEP_S: Final = 1.5  # of SageMaker's 30 s after SIGTERM, what draining and closing leave


@dataclass(frozen=True, slots=True, eq=False)
class Spoken:
    """One line of a script with its audio, or a chunk of it. `index` counts lines from 0, `part` the line's chunks."""

    index: int
    line: Line
    waveform: Waveform
    part: int = 0

    @property
    def is_last(self) -> bool:
        """Whether the line ends with this."""
        return self.waveform.rest is None

    @property
    def line_s(self) -> float:
        """Seconds from the beginning of this to the end of the line."""
        return self.waveform.duration_s + sum(self.waveform.to_come_s)


@dataclass(frozen=True, slots=True)
class _Failure:
    """There is no more audio to come, because of `refusal`."""

    refusal: Refusal


class _Cancelled:
    """Nobody wants the rest."""


class Recitation:
    """A script on its way through the engine: an async iterator of `Spoken`, in order.

    A line of low latency may come as several. Ends early after `cancel`; raises `Refusal` where the engine failed or
    was given up. Use it as a context manager, so that whatever ends the request also ends its work before the engine's
    next step.
    """

    def __init__(self, synthesis: "Synthesis", script: Script, job: int, submitted_s: float) -> None:
        self.script = script
        self.cancelled = False
        self.queue_s: float | None = None
        """Seconds from submission until the engine began with the first line; None before that."""
        self.playback = Playback()
        """What its listener would have heard."""
        self.rest: Utterance | None = None
        """Of the line in hand, what is to be synthesised next. For the engine's thread."""
        self._synthesis = synthesis
        self._job = job
        self._submitted_s = submitted_s
        self._arrivals: asyncio.Queue[Spoken | _Failure | _Cancelled] = asyncio.Queue()  # bounded by the look-ahead
        self._received = 0

    def __enter__(self) -> "Recitation":
        return self

    def __exit__(self, *_: object) -> None:
        self._synthesis.end(self._job)

    def __aiter__(self) -> "Recitation":
        return self

    async def __anext__(self) -> Spoken:
        if self.cancelled or self._received == len(self.script.lines):
            raise StopAsyncIteration
        clock = self._synthesis.clock
        asked_s = clock()
        match await self._arrivals.get():
            case Spoken() as spoken:
                self._received += spoken.is_last
                now_s = clock()
                self.playback.arrived(now_s, spoken.waveform.duration_s, now_s - asked_s)
                return spoken
            case _Cancelled():
                raise StopAsyncIteration
            case _Failure(refusal):
                raise refusal

    def delivered(self, audio_s: float) -> None:
        """So much audio has been sent to the listener, who hears it from now on and may get more ahead."""
        self._synthesis.delivered(self._job, audio_s)

    def cancel(self) -> None:
        """Stop: no step takes a line of this script any more, and the iterator ends."""
        self.cancelled = True
        self._synthesis.end(self._job)
        self._arrivals.put_nowait(_Cancelled())

    def begun(self, at_s: float) -> None:
        """The engine takes a line at `at_s`. Called by the engine's thread."""
        if self.queue_s is None:
            self.queue_s = at_s - self._submitted_s

    def arrive(self, arrival: Spoken | _Failure) -> None:
        """What the engine made. Called on the event loop."""
        self._arrivals.put_nowait(arrival)


class Synthesis:
    """Owns `engine`. Made on the event loop; `start` loads the engine, `recite` takes scripts, until `stop`.

    `clock`: seconds that never go back, from any thread.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        max_waiting_segments: int,
        look_ahead_s: float,
        max_wait_s: float = math.inf,
        batch_window_s: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.engine = engine
        self.clock = clock
        self._scheduler = Scheduler(
            max_batch=engine.max_batch,
            max_waiting=max_waiting_segments,
            look_ahead_s=look_ahead_s,
            max_wait_s=max_wait_s,
            batch_window_s=batch_window_s,
        )
        self._recitations: dict[int, Recitation] = {}
        self._changed = threading.Condition()
        self._stopping = False
        self._abandoned = False
        self._loop = asyncio.get_running_loop()
        self._loaded: asyncio.Future[None] = self._loop.create_future()
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)

    @property
    def jobs(self) -> int:
        """The requests that the engine still has to do with."""
        with self._changed:
            return self._scheduler.jobs

    @property
    def waiting_segments(self) -> int:
        """The segments that no step has taken yet."""
        with self._changed:
            return self._scheduler.waiting

    @property
    def is_working(self) -> bool:
        """Whether the engine's thread is alive."""
        return self._thread.is_alive()

    async def start(self) -> None:
        """Load the engine in its thread. Raises what `Engine.load` raises."""
        self._thread.start()
        await self._loaded

    async def stop(self) -> None:
        """End the thread after the step in hand, and close the engine; a step that takes long is not waited for."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        if self._thread.is_alive():
            await asyncio.to_thread(self._thread.join, _LAST_STEP_S)

    def recite(self, listener: int, script: Script, *, paced: bool = True) -> Recitation:
        """Queue a script for `listener`, behind the scripts it already has. Raises `Refusal` (`busy`).

        `paced`: the audio is played as it comes, so it is made `look_ahead_s` ahead of real time at most. Not so for
        an answer that is only worth something as a whole.
        """
        if self._abandoned:
            raise _shutting_down()
        phonemes = [len(line.utterance.token_ids) for line in script.lines]
        in_chunks = "low" in self.engine.latencies and script.options.latency == "low"
        with self._changed:
            now_s = self.clock()
            try:
                job = self._scheduler.submitted(listener, phonemes, now_s, paced=paced, in_chunks=in_chunks)
            except QueueFull as error:
                raise busy(error.retry_after_s) from None
            recitation = Recitation(self, script, job, now_s)
            self._recitations[job] = recitation
            self._changed.notify()
        return recitation

    def abandon(self) -> None:
        """Give up all recitations: each raises `Refusal` (`shutting_down`), and none is taken any more."""
        self._abandoned = True
        with self._changed:
            for job, recitation in self._recitations.items():
                self._scheduler.cancelled(job, self.clock())
                recitation.arrive(_Failure(_shutting_down()))
            self._recitations.clear()

    def delivered(self, job: int, audio_s: float) -> None:
        """See `Recitation.delivered`."""
        with self._changed:
            self._scheduler.delivered(job, audio_s, self.clock())
            self._changed.notify()

    def end(self, job: int) -> None:
        """The job was delivered, or is not wanted any more: no step takes a line of it. Ending twice is fine."""
        with self._changed:
            self._scheduler.cancelled(job, self.clock())
            self._recitations.pop(job, None)
            self._changed.notify()

    def interrupt(self, listener: int) -> None:
        """The listener has stopped listening to what was sent (barge-in): what it asks for next is urgent."""
        with self._changed:
            self._scheduler.interrupted(listener, self.clock())
            self._changed.notify()

    def disconnect(self, listener: int) -> None:
        """The listener is gone: its recitations are cancelled before the next step, and nothing of it is kept."""
        with self._changed:
            jobs = self._scheduler.disconnected(listener)
            gone = [self._recitations.pop(job) for job in jobs]
        for recitation in gone:
            recitation.cancel()

    def _run(self) -> None:
        try:
            self.engine.load()
        except Exception as error:  # noqa: BLE001 - whatever a library raises is for start(), which waits for it
            self._tell_loaded(error)
            return
        self._tell_loaded(None)
        while step := self._next_step():
            self._perform(step)
        self.engine.close()

    def _tell_loaded(self, error: Exception | None) -> None:
        def tell() -> None:
            if self._loaded.cancelled():
                return
            if error is None:
                self._loaded.set_result(None)
            else:
                self._loaded.set_exception(error)

        self._post(tell)

    def _next_step(self) -> list[tuple[Piece, Recitation]]:
        """The next step, waiting for one; empty when it is time to stop."""
        with self._changed:
            while not self._stopping:
                now_s = self.clock()
                match self._scheduler.tick(now_s):
                    case Step(pieces):
                        return [(piece, self._recitations[piece.job]) for piece in pieces]
                    case Wake(at_s):
                        self._changed.wait(None if at_s is None else at_s - now_s)
        return []

    def _perform(self, step: Sequence[tuple[Piece, Recitation]]) -> None:
        begun_s = self.clock()
        utterances = []
        for piece, recitation in step:
            recitation.begun(begun_s)
            utterances.append(recitation.rest or recitation.script.lines[piece.index].utterance)
        waveforms = self._synthesize(utterances)
        with self._changed:
            audio_s = [waveform.duration_s if waveform else None for waveform in waveforms]
            to_come_s = [waveform.to_come_s if waveform else () for waveform in waveforms]
            self._scheduler.step_finished(audio_s, self.clock(), to_come_s)
            for (piece, _), waveform in zip(step, waveforms, strict=True):
                if waveform is None:
                    self._recitations.pop(piece.job, None)
        for (piece, recitation), waveform in zip(step, waveforms, strict=True):
            recitation.rest = None if waveform is None else waveform.rest
            self._post(partial(recitation.arrive, _arrival(piece, recitation, waveform)))

    def _synthesize(self, utterances: Sequence[Utterance]) -> list[Waveform | None]:
        """The waveforms; None for one on which the engine fails. A failed batch is done again one by one."""
        try:
            return list(self.engine.synthesize(utterances))
        except Exception:  # an engine's library may raise anything; one bad line must not end the server
            if len(utterances) == 1:
                logger.exception("the engine failed", extra={"fields": {"tokens": len(utterances[0].token_ids)}})
                return [None]
        return [waveform for utterance in utterances for waveform in self._synthesize([utterance])]

    def _post(self, callback: Callable[[], None]) -> None:
        """Run `callback` on the event loop, unless that has ended."""
        try:
            self._loop.call_soon_threadsafe(callback)
        except RuntimeError:  # the loop was closed without stop(): nobody is left to tell
            logger.debug("the event loop is closed")


def _arrival(piece: Piece, recitation: Recitation, waveform: Waveform | None) -> Spoken | _Failure:
    if waveform is None:
        return _Failure(_engine_failed())
    return Spoken(piece.index, recitation.script.lines[piece.index], waveform, piece.part)


def _engine_failed() -> Refusal:
    return Refusal(ErrorCode.SYNTHESIS_FAILED, "the speech engine failed on this text; try it again")


def _shutting_down() -> Refusal:
    return Refusal(ErrorCode.SHUTTING_DOWN, "the server had to shut down before this request was finished")


def busy(retry_after_s: float) -> Refusal:
    """Too much waits already."""
    return Refusal(ErrorCode.BUSY, "the server has as much to say as it takes; try again later", retry_after_s)
