"""The whole server without a socket, a thread or a clock: what happens, and when, is up to whoever drives it.

The application, its sessions, queues, scheduler and telemetry are the real ones. A `Stage` plays the event loop's time,
the front end's thread, the engine's thread and every client's network, one small step at a time; so each order of
events that a busy machine could ever bring about can be had again, exactly. Every frame that comes out is held against
its session's `Ledger`.
"""

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from speech_container.app import build_app
from speech_container.narration import Narrator
from speech_container.service import Service, State
from speech_container.session import MAX_TEXT_CONTEXTS
from speech_container.settings import Settings
from speech_container.spelling import Spelling, SpellingFrontEnd
from speech_container.studio import Studio
from speech_container.voices import VoiceBook

from tests.fuzz.clockwork import Bench, SilentEngine, SteppedSynthesis, StillLoop
from tests.fuzz.peers import HttpPeer, SocketPeer
from tests.load.ledger import Violation
from tests.load.reading import Limits

SETTINGS: Final = Settings(
    engine="tone",
    max_text_chars=120,
    max_message_bytes=1 << 16,
    max_waiting_segments=6,
    max_waiting_requests=10,
    max_requests_per_minute=60,
    max_sessions=4,
    context_idle_s=5.0,
    look_ahead_s=1.0,
    max_wait_s=4.0,
    frame_bytes=4096,
    send_timeout_s=30.0,
)
"""Small, so that a few messages meet every limit."""
LIMITS: Final = Limits(SETTINGS.max_text_chars, SETTINGS.max_waiting_requests, MAX_TEXT_CONTEXTS)


_MAX_ROUNDS: Final = 2000
_WINDOW_S: Final = SETTINGS.batch_window_ms / 1000
_HOUR_S: Final = 3600.0
_VOICES: Final = VoiceBook.of_tones()


class _Watch(logging.Handler):
    """Counts the requests that the log tells of, and takes every complaint for a fault."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.requests: Counter[str] = Counter()
        self.faults: list[str] = []
        self.expects_failure = False

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        if message.startswith("request "):
            self.requests[vars(record)["fields"]["face"]] += 1
        elif record.levelno >= logging.ERROR and not (self.expects_failure and message == "the engine failed"):
            self.faults.append(f"{message}: {record.exc_info[1]!r}" if record.exc_info else message)


class Stage:
    """See the module. Use it as a context manager; `max_batch`: how many segments the engine takes at once."""

    def __init__(self, max_batch: int = 1) -> None:
        self.loop = StillLoop()
        self.peers: list[SocketPeer] = []
        self.callers: list[HttpPeer] = []
        self._max_batch = max_batch
        self._engine = SilentEngine(max_batch)
        self._front_end = Bench(is_prompt=False)
        self._codecs = Bench(is_prompt=True)
        self._watch = _Watch()
        self.loop.set_default_executor(self._codecs)
        self.loop.set_exception_handler(self._note_fault)
        self.service = self._run(self._make())
        self._app = build_app(self.service)

    def __enter__(self) -> "Stage":
        logger = logging.getLogger("speech_container")
        logger.addHandler(self._watch)
        self._level = logger.level
        logger.setLevel(logging.INFO)
        return self

    def __exit__(self, *_: object) -> None:
        logger = logging.getLogger("speech_container")
        logger.setLevel(self._level)
        logger.removeHandler(self._watch)
        self.loop.run_until_complete(self._end())
        self.loop.close()

    @property
    def synthesis(self) -> SteppedSynthesis:
        """The engine's owner."""
        found = self.service._synthesis
        assert isinstance(found, SteppedSynthesis)
        return found

    @property
    def clients(self) -> list[SocketPeer | HttpPeer]:
        """All of them."""
        return [*self.peers, *self.callers]

    # What may happen

    def connect(self) -> SocketPeer:
        """A new session."""
        peer = SocketPeer(LIMITS)
        self.peers.append(peer)
        self._run(self._serve(peer))
        return peer

    def post(self, path: str, body: bytes) -> HttpPeer:
        """An HTTP request."""
        caller = HttpPeer(path, body)
        self.callers.append(caller)
        self._run(self._serve(caller))
        return caller

    def prepare(self) -> bool:
        """The front end makes the phonemes of the text that has waited longest."""
        return self._front_end.do_one()

    def begin_step(self) -> bool:
        """The engine begins with what is most urgent."""
        return self.synthesis.begin()

    def finish_step(self, *, fails: bool = False) -> bool:
        """The engine is done."""
        self._engine.broken = self._watch.expects_failure = fails
        done = self.synthesis.finish()
        self._engine.broken = False
        return done

    def work(self) -> bool:
        """The front end and the engine do all that there is to do; whether there was anything."""
        did = False
        for _ in range(_MAX_ROUNDS):
            did_now = self.prepare()
            self.settle()
            did_now |= self.begin_step() | self.finish_step()
            if not did_now and self._max_batch > 1:
                self.wait(_WINDOW_S)
                did_now = self.begin_step() | self.finish_step()
            self.settle()
            if not did_now:
                return did
            did = True
        raise Violation("there is no end to the work")

    def wait(self, seconds: float) -> None:
        """Time passes."""
        self.loop.now_s += seconds

    def drain(self) -> None:
        """The platform wants the server to end."""
        self.service.drain()

    def abandon(self) -> None:
        """Its time is over."""
        self.service.drain()
        self.service.abandon()

    def settle(self) -> None:
        """Everything has happened that follows. Raises `Violation`."""
        self._run(self.loop.settle())
        self.check()

    # What must be

    def check(self) -> None:
        """Raises `Violation` where something has gone wrong already."""
        for peer in self.clients:
            if peer.violation is not None:
                raise peer.violation
        if self._watch.faults:
            raise Violation(self._watch.faults[0])
        for peer in self.peers:
            if peer.is_listening and peer.ledger.is_waiting_for_silence:
                raise Violation(f"{peer.ledger.owed[0]} was cancelled, is next, and is not answered")

    def finish(self) -> None:
        """Everybody reads, everything is answered once, all leave, and nothing is left. Raises `Violation`."""
        for peer in self.clients:
            peer.read_on()
        self._until(lambda: all(peer.is_answered for peer in self.peers if peer.is_listening), "an answer")
        for peer in self.peers:
            if peer.is_listening:
                peer.ledger.require_quiet()
                peer.say('{"type": "close"}')
        self._until(lambda: all(peer.is_over for peer in self.clients), "an end")
        self._require_rest()
        self._require_accounts()

    def _until(self, holds: Callable[[], bool], what: str) -> None:
        for _ in range(_MAX_ROUNDS):
            self.settle()
            if holds():
                return
            if not self.work():
                self.wait(0.5)
        owed = [peer.ledger.owed for peer in self.peers if peer.ledger.owed]
        raise Violation(f"{what} never came; owed {owed}")

    def _require_rest(self) -> None:
        service = self.service
        self.wait(_HOUR_S)
        self.begin_step()
        self.settle()
        left = {
            "running": service.running,
            "jobs": service.jobs,
            "waiting": service.waiting_segments,
            "sessions": service.telemetry.sessions,
            **self.synthesis.held,
            "preparing": service._preparing,
            "to be told": len(service._when_abandoned),
            "tasks": len(asyncio.all_tasks(self.loop)),
        }
        if any(left.values()):
            raise Violation(f"everybody has gone, and there is still {left}")

    def _require_accounts(self) -> None:
        """The log tells of each request once; of one that was cut off, where its client has heard of it."""
        ledgers = [peer.ledger for peer in self.peers]
        least = sum(len(ledger.ended) + ledger.is_turned_away for ledger in ledgers)
        least += sum(entry.is_started for ledger in ledgers for entry in ledger.owed)
        most = sum(len(ledger.ended) + len(ledger.owed) + ledger.is_turned_away for ledger in ledgers)
        told = self._watch.requests["websocket"]
        if not least <= told <= most:
            raise Violation(f"sessions had {least} to {most} requests, and the log tells of {told}")
        least = sum(caller.status is not None for caller in self.callers)
        told = self._watch.requests["invocations"] + self._watch.requests["openai"]
        if not least <= told <= len(self.callers):
            raise Violation(f"{least} to {len(self.callers)} HTTP requests were made, and the log tells of {told}")

    def _run(self, awaitable: Any) -> Any:
        return self.loop.run_until_complete(awaitable)

    async def _make(self) -> Service:
        narrator = Narrator(SpellingFrontEnd(), Spelling(), _VOICES)
        service = Service(
            SETTINGS,
            lambda _: Studio(self._engine, narrator, ()),
            clock=self.loop.time,
            front_end=self._front_end,
            new_synthesis=SteppedSynthesis,
        )
        loading = asyncio.ensure_future(service.load())
        while not loading.done():
            await self.loop.settle()
            self._front_end.do_one()
            synthesis = service._synthesis
            if isinstance(synthesis, SteppedSynthesis):
                self.loop.now_s += _WINDOW_S
                synthesis.begin()
                synthesis.finish()
        await loading
        assert service.state is State.READY
        return service

    async def _serve(self, peer: SocketPeer | HttpPeer) -> None:
        peer.task = asyncio.ensure_future(self._app(peer.scope, peer.receive, peer.send))

    async def _end(self) -> None:
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _note_fault(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self._watch.faults.append(json.dumps(context, default=repr))
