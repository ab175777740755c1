"""What a `Stage` drives by hand: a loop without time, a pool without threads, and an engine without either."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import Context
from typing import Any, Final

import numpy as np
from speech_container.engine import FRAME_SAMPLES, Utterance, Waveform
from speech_container.listener import Piece
from speech_container.scheduler import Step
from speech_container.synthesis import Recitation, Synthesis
from speech_container.tone_engine import ToneEngine

from tests.load.ledger import Violation

_CALM_TURNS: Final = 3
_MAX_TURNS: Final = 20_000


class StillLoop(asyncio.SelectorEventLoop):
    """An event loop whose time stands still until somebody moves it, and that can be asked whether it is at rest."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s = 1000.0
        self.scheduled = 0

    def time(self) -> float:
        """Seconds on the stage's clock."""
        return self.now_s

    def call_soon[*Ts](
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """See `asyncio`."""
        self.scheduled += 1
        return super().call_soon(callback, *args, context=context)

    def call_soon_threadsafe[*Ts](
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """See `asyncio`."""
        self.scheduled += 1
        return super().call_soon_threadsafe(callback, *args, context=context)

    async def settle(self) -> None:
        """Let everything run that can run now."""
        calm_turns = 0
        for _ in range(_MAX_TURNS):
            before = self.scheduled
            await asyncio.sleep(0)
            calm_turns = calm_turns + 1 if self.scheduled == before + 1 else 0
            if calm_turns == _CALM_TURNS:
                return
        raise Violation("the server is busy for ever, and nothing happens")


class Bench(ThreadPoolExecutor):
    """A thread pool without threads: work lies there until somebody does it. `is_prompt`: it is done at once."""

    def __init__(self, *, is_prompt: bool) -> None:
        super().__init__(max_workers=1)
        self._is_prompt = is_prompt
        self._work: deque[tuple[Future[Any], Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = deque()

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **keywords: Any) -> Future[Any]:
        """See `concurrent.futures`."""
        future: Future[Any] = Future()
        self._work.append((future, function, arguments, keywords))
        if self._is_prompt:
            self.do_one()
        return future

    def do_one(self) -> bool:
        """The oldest piece of work; False where there is none."""
        while self._work:
            future, function, arguments, keywords = self._work.popleft()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(function(*arguments, **keywords))
            except Exception as error:  # noqa: BLE001 - as a pool does: it is whoever waits that gets it
                future.set_exception(error)
            return True
        return False


class SilentEngine(ToneEngine):
    """Twenty-five milliseconds a token, at once; `broken`: the next batch fails."""

    broken = False

    def synthesize(self, batch: Sequence[Utterance]) -> list[Waveform]:
        """See `Engine`."""
        if self.broken:
            raise ValueError("a library that is broken")
        return [_silence(len(utterance.token_ids) + 2) for utterance in batch]


def _silence(tokens: int) -> Waveform:
    return Waveform(np.zeros(tokens * FRAME_SAMPLES, np.float32), np.ones(tokens, np.int64))


class SteppedSynthesis(Synthesis):
    """Has no thread: its steps are begun and finished by hand."""

    _begun: list[tuple[Piece, Recitation]] | None = None

    async def start(self) -> None:
        """Nothing to wait for."""
        self.engine.load()

    async def stop(self) -> None:
        """Nothing to end."""

    def begin(self) -> bool:
        """Begin the step that is due; False where none is, or one has begun."""
        decision = self._scheduler.tick(self.clock())
        if not isinstance(decision, Step):
            return False
        self._begun = [(piece, self._recitations[piece.job]) for piece in decision.pieces]
        return True

    def finish(self) -> bool:
        """Finish the step that was begun; False where none was."""
        if self._begun is None:
            return False
        step, self._begun = self._begun, None
        self._perform(step)
        return True

    @property
    def held(self) -> dict[str, int]:
        """What it keeps of whoever is served."""
        return {"listeners": self._scheduler.listeners, "recitations": len(self._recitations)}
