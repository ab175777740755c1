"""Does a deployed endpoint speak as it should? One session through the real SDK client, in about five seconds.

It greets, says the three sentences of AWS's own check (as text frames and as a binary one), sends a broken message in
between, which must cost one error and nothing else, and closes. Of every sentence the bytes must be the announced
seconds of 24 kHz 16-bit audio, and it must be neither silent nor clipped.
"""

from __future__ import annotations

import array
import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Protocol

from speech_client import Message, SpeechError, SpeechProtocolError
from speech_protocol import (
    Audio,
    Capabilities,
    Close,
    ErrorEvent,
    FragmentJoiner,
    Hello,
    ProtocolError,
    ServerEvent,
    SessionClosed,
    SynthesisComplete,
    SynthesisStart,
    Synthesize,
    VoiceOptions,
    read_frame,
    render_message,
)

SENTENCES: Final = ("Hello there.", "This is a post deployment check.", "It has three sentences.")
BROKEN: Final = '{"type": "synthesize", "text": '
BYTES_A_SECOND: Final = 48_000
ANSWER_S: Final = 30.0
"""Longest wait for one answer: a first sentence on a cold CPU takes a few seconds."""
CLOSE_S: Final = 5.0
QUIETEST_PEAK: Final = 0.02
CLIPPED: Final = 0.001
"""Share of samples at the limit from which a sentence counts as clipped."""
_FULL_SCALE: Final = 32_768
_MOST_EVENTS: Final = 100_000


class CheckedConnection(Protocol):
    """What the check needs of a connection: both kinds of frame."""

    async def send(self, text: str) -> None:
        """A text frame."""

    async def send_binary(self, data: bytes) -> None:
        """A binary frame."""

    async def receive(self) -> Message | None:
        """The next message, None at the end."""

    async def close(self, grace_s: float) -> None:
        """End the stream."""


@dataclass(frozen=True, slots=True)
class Case:
    """One thing that was looked at. `failure` is empty where it is as it should be."""

    name: str
    took_s: float
    failure: str = ""
    figures: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SmokeResult:
    """All of them, in order."""

    endpoint: str
    at: datetime
    cases: tuple[Case, ...]

    @property
    def has_passed(self) -> bool:
        """Whether nothing failed."""
        return all(not case.failure for case in self.cases)

    def as_dict(self) -> dict[str, Any]:
        """For --json."""
        return {
            "endpoint": self.endpoint,
            "at": self.at.isoformat(timespec="seconds"),
            "passed": self.has_passed,
            "cases": [
                {"name": case.name, "took_s": round(case.took_s, 3), "failure": case.failure or None, **case.figures}
                for case in self.cases
            ],
        }


class _Unexpected(Exception):
    """An answer other than the contract's; becomes a case's failure."""


async def smoke_test(
    connect: Callable[[], Awaitable[CheckedConnection]],
    endpoint: str,
    *,
    clock: Callable[[], float] = time.monotonic,
    each: Callable[[Case], None] = lambda _case: None,
) -> SmokeResult:
    """Never raises for what the endpoint does: that is a failed case. Cases after a broken session are not run."""
    cases: list[Case] = []
    at = datetime.now(UTC)

    def note(case: Case) -> None:
        cases.append(case)
        each(case)

    started = clock()
    try:
        connection = await connect()
    except SpeechError as error:
        note(Case("session opens", clock() - started, str(error)))
        return SmokeResult(endpoint, at, tuple(cases))
    session = _Session(connection, clock)
    try:
        for name, check in session.checks():
            started = clock()
            try:
                async with asyncio.timeout(ANSWER_S):
                    figures = await check()
            except _Unexpected as wrong:
                note(Case(name, clock() - started, str(wrong)))
            except TimeoutError:
                note(Case(name, clock() - started, f"no answer within {ANSWER_S:g} s"))
                break
            except SpeechError as error:
                note(Case(name, clock() - started, str(error)))
                break
            else:
                note(Case(name, clock() - started, "", figures))
    finally:
        await session.end()
    return SmokeResult(endpoint, at, tuple(cases))


class _Session:
    """The conversation of the check. One task receives, as the SDK wants it."""

    def __init__(self, connection: CheckedConnection, clock: Callable[[], float]) -> None:
        self._connection = connection
        self._clock = clock
        self._joiner = FragmentJoiner()
        self._inbox: asyncio.Queue[ServerEvent | Audio | SpeechError | None] = asyncio.Queue(256)
        self._reader = asyncio.create_task(self._read())

    def checks(self) -> list[tuple[str, Callable[[], Awaitable[dict[str, float]]]]]:
        """What is looked at, in order."""
        return [
            ("session opens", self._greet),
            (f"text frame: {SENTENCES[0]}", lambda: self._say(SENTENCES[0], "1", as_binary=False)),
            ("broken message costs one error", self._break),
            (f"binary frame: {SENTENCES[1]}", lambda: self._say(SENTENCES[1], "2", as_binary=True)),
            (f"text frame: {SENTENCES[2]}", lambda: self._say(SENTENCES[2], "3", as_binary=False)),
            ("session closes", self._close),
        ]

    async def end(self) -> None:
        """Free the connection and the reader."""
        await self._connection.close(CLOSE_S)
        self._reader.cancel()
        await asyncio.gather(self._reader, return_exceptions=True)

    async def _greet(self) -> dict[str, float]:
        await self._connection.send(render_message(Hello()))
        _expect(await self._next(), Capabilities)
        return {}

    async def _say(self, text: str, request_id: str, *, as_binary: bool) -> dict[str, float]:
        message = render_message(Synthesize(text, VoiceOptions(), request_id))
        started = self._clock()
        if as_binary:
            await self._connection.send_binary(message.encode())
        else:
            await self._connection.send(message)
        _expect(await self._next(), SynthesisStart)
        pcm = bytearray()
        first_audio_s = 0.0
        for _ in range(_MOST_EVENTS):
            event = await self._next()
            if not isinstance(event, Audio):
                break
            if not pcm:
                first_audio_s = self._clock() - started
            pcm += event.data
        complete = _expect(event, SynthesisComplete)
        _check_audio(bytes(pcm), complete.total_duration_s)
        return {"audio_s": round(complete.total_duration_s, 3), "first_audio_s": round(first_audio_s, 3)}

    async def _break(self) -> dict[str, float]:
        await self._connection.send(BROKEN)
        error = _expect(await self._next(), ErrorEvent)
        if error.code != "invalid_json":
            raise _Unexpected(f"expected the error invalid_json, got {error.code}")
        return {}

    async def _close(self) -> dict[str, float]:
        await self._connection.send(render_message(Close()))
        _expect(await self._next(), SessionClosed)
        return {}

    async def _next(self) -> ServerEvent | Audio:
        event = await self._inbox.get()
        if event is None:
            raise SpeechError("the endpoint ended the session")
        if isinstance(event, SpeechError):
            raise event
        return event

    async def _read(self) -> None:
        try:
            while (message := await self._connection.receive()) is not None:
                frame = self._joiner.feed(message.data, is_text=message.is_text, final=message.is_final)
                if frame is not None:
                    await self._inbox.put(read_frame(frame))
            await self._inbox.put(None)
        except SpeechError as error:
            await self._inbox.put(error)
        except ProtocolError as error:
            await self._inbox.put(SpeechProtocolError(str(error)))


def _expect[T](event: ServerEvent | Audio, kind: type[T]) -> T:
    if isinstance(event, kind):
        return event
    if isinstance(event, ErrorEvent):
        raise _Unexpected(f"expected {kind.__name__}, got the error {event.code}: {event.message}")
    raise _Unexpected(f"expected {kind.__name__}, got {type(event).__name__}")


def _check_audio(pcm: bytes, announced_s: float) -> None:
    wanted = round(announced_s * BYTES_A_SECOND)
    if len(pcm) != wanted:
        raise _Unexpected(f"expected {announced_s:g} s x {BYTES_A_SECOND} = {wanted} bytes of audio, got {len(pcm)}")
    samples = array.array("h", pcm)
    if sys.byteorder == "big":
        samples.byteswap()
    loudest = max((abs(sample) for sample in samples), default=0)
    if loudest < QUIETEST_PEAK * _FULL_SCALE:
        raise _Unexpected(
            f"expected speech, got silence: the loudest sample is {loudest / _FULL_SCALE:.4f} of full scale"
        )
    clipped = sum(abs(sample) >= _FULL_SCALE - 1 for sample in samples)
    if clipped > CLIPPED * len(samples):
        raise _Unexpected(f"expected clean speech, got {clipped} of {len(samples)} samples at the limit")
