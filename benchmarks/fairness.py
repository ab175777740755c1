"""How long listeners wait for their first audio as they get more: our scheduler against one lock around each request.

    uv run python benchmarks/fairness.py [--seeds 20] [--listeners 1,5,10,20,30,50,60] [--out docs]

A simulation, with no sleeping and no threads: the scheduler that the server runs, on a clock that jumps from event to
event, with a model of the engine (56 ms for one sentence, 90 ms for eight at once, in between on a line). The other
server has the same engine and takes one request at a time, first come, first served; it holds its lock until the
request's last sentence, and its listeners too get every sentence as soon as it is made. Both serve the same arrivals:
each listener starts at a random moment and then asks at a fixed interval. What is sent arrives at once and is heard
from then on. Prints the tables; `--out` writes them to fairness.md between its marks, and draws fairness.png.
"""

import argparse
import heapq
import itertools
import math
import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from speech_container.errors import QueueFull
from speech_container.scheduler import Scheduler, Step
from speech_container.settings import Settings

SOLO_S: Final = 0.056
MAX_BATCH: Final = 8
FULL_BATCH_S: Final = 0.090
SENTENCE_S: Final = (1.5, 3.5)
"""Shortest and longest sentence, in seconds of audio."""
PHONEMES_A_SECOND: Final = 15
WARM_UP_S: Final = 20.0
MEASURED_S: Final = 60.0
TARGET_LISTENERS: Final = 30
TARGET_P95_S: Final = 0.150
MARK: Final = "<!-- {} table: written by benchmarks/fairness.py -->"


@dataclass(frozen=True, slots=True)
class Traffic:
    """What every listener does: `sentences` at once, every `interval_s`."""

    name: str
    sentences: int
    interval_s: float


SINGLE: Final = Traffic("sentence", 1, 4.0)
ANSWERS: Final = Traffic("answer", 4, 16.0)


@dataclass(slots=True)
class Request:
    """One text and when each of its sentences was there to be heard."""

    arrives_s: float
    listener: int
    sentences_s: tuple[float, ...]
    made_s: list[float] = field(default_factory=list)
    refused: bool = False

    @property
    def first_audio_s(self) -> float:
        return self.made_s[0] - self.arrives_s

    @property
    def silence_s(self) -> float:
        """How long the listener heard nothing between its first audio and its last."""
        silence_s = 0.0
        dry_s = self.made_s[0]
        for made_s, audio_s in zip(self.made_s, self.sentences_s, strict=True):
            silence_s += max(0.0, made_s - dry_s)
            dry_s = max(dry_s, made_s) + audio_s
        return silence_s


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the listeners of one server heard."""

    median_s: float
    p95_s: float
    underruns: float
    """The share of answers in which the listener ran dry before the end."""
    refused: int

    @classmethod
    def of(cls, requests: Sequence[Request]) -> "Outcome":
        answered = [request for request in requests if not request.refused]
        waits_s = sorted(request.first_audio_s for request in answered)
        dry = sum(request.silence_s > 0 for request in answered)
        refused = len(requests) - len(answered)
        return cls(
            statistics.median(waits_s), waits_s[math.ceil(0.95 * len(waits_s)) - 1], dry / len(answered), refused
        )


def takes_s(batch: int) -> float:
    """How long the engine takes over so many sentences at once."""
    return SOLO_S + (FULL_BATCH_S - SOLO_S) * (batch - 1) / (MAX_BATCH - 1)


def arrivals(traffic: Traffic, listeners: int, seed: int) -> list[Request]:
    """All requests of one run, in order of arrival."""
    chance = random.Random(seed)  # noqa: S311 - a simulation
    requests = []
    for listener in range(listeners):
        at_s = chance.uniform(0, traffic.interval_s)
        while at_s < WARM_UP_S + MEASURED_S:
            sentences_s = tuple(chance.uniform(*SENTENCE_S) for _ in range(traffic.sentences))
            requests.append(Request(at_s, listener, sentences_s))
            at_s += traffic.interval_s
    return sorted(requests, key=lambda request: request.arrives_s)


def serve_with_one_lock(requests: Sequence[Request]) -> None:
    """First come, first served; the lock is held until a request's last sentence is made."""
    free_s = 0.0
    for request in requests:
        free_s = max(free_s, request.arrives_s)
        for _ in request.sentences_s:
            free_s += takes_s(1)
            request.made_s.append(free_s)


def serve_with_scheduler(requests: Sequence[Request]) -> None:
    """The server's scheduler, told of every event at its time."""
    defaults = Settings()
    scheduler = Scheduler(
        max_batch=MAX_BATCH,
        max_waiting=defaults.max_waiting_segments,
        look_ahead_s=defaults.look_ahead_s,
        batch_window_s=defaults.batch_window_ms / 1000,
        max_wait_s=defaults.max_wait_s,
    )
    request_of: dict[int, Request] = {}
    order = itertools.count()
    events: list[tuple[float, int, Request | Step | None]] = [
        (request.arrives_s, next(order), request) for request in requests
    ]
    heapq.heapify(events)
    while events:
        now_s, _, event = heapq.heappop(events)
        if isinstance(event, Request):
            phonemes = [round(audio_s * PHONEMES_A_SECOND) for audio_s in event.sentences_s]
            try:
                request_of[scheduler.submitted(event.listener, phonemes, now_s)] = event
            except QueueFull:
                event.refused = True
        elif isinstance(event, Step):
            audio_s = [request_of[piece.job].sentences_s[piece.index] for piece in event.pieces]
            scheduler.step_finished(audio_s, now_s)
            for piece, piece_s in zip(event.pieces, audio_s, strict=True):
                request_of[piece.job].made_s.append(now_s)
                scheduler.delivered(piece.job, piece_s, now_s)
        decision = scheduler.tick(now_s)
        if isinstance(decision, Step):
            heapq.heappush(events, (now_s + takes_s(len(decision.pieces)), next(order), decision))
        elif decision.at_s is not None:
            heapq.heappush(events, (decision.at_s, next(order), None))


def measure(serve: Callable[[Sequence[Request]], None], traffic: Traffic, listeners: int, seeds: int) -> Outcome:
    """The requests of the measured minute of all seeds together."""
    measured = []
    for seed in range(seeds):
        requests = arrivals(traffic, listeners, seed)
        serve(requests)
        measured += [request for request in requests if request.arrives_s >= WARM_UP_S]
    return Outcome.of(measured)
