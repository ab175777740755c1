"""A server under everything that clients do, for minutes or for an hour, and what must be true of it all the while.

    uv run python -m tests.load.soak [--minutes 60] [--clients 24] [--engine tone] [--seed 1]

Two dozen clients at a time pick what they do by chance: talk, write, interrupt, drop their sockets, read slowly or not
at all, send nonsense, hang up, leave requests half said. It fails where a client sees what docs/protocol.md does not
allow, where the server's log or metrics tell another story than its clients, where memory keeps growing, and where
something is left behind at the end.
"""

import argparse
import asyncio
import random
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import httpx
from speech_container.session import MAX_TEXT_CONTEXTS
from websockets.exceptions import WebSocketException

from tests.load import requests, rudeness, sessions
from tests.load.caller import TurnedAway
from tests.load.ledger import Violation
from tests.load.memory import ALLOWED_BYTES, ALLOWED_IN_MINUTES_BYTES, MEBIBYTE, Level
from tests.load.reading import Limits
from tests.load.record import Record, differences
from tests.load.server import Footprint, LoadedServer
from tests.load.target import PATIENCE_S, Target

Behaviour = Callable[[Target, random.Random, str], Awaitable[None]]

BEHAVIOURS: Final[Mapping[Behaviour, int]] = {
    sessions.talk: 10,
    sessions.write: 10,
    sessions.interrupt: 10,
    sessions.close_early: 4,
    sessions.drop: 10,
    sessions.read_slowly: 4,
    sessions.stop_reading: 2,
    sessions.babble: 6,
    sessions.cut_frames: 4,
    sessions.say_too_much: 2,
    sessions.flood: 3,
    sessions.ask_for_life: 3,
    requests.invoke: 8,
    requests.speak_as_openai: 6,
    requests.send_nonsense: 5,
    requests.hang_up: 8,
    requests.look_around: 2,
    rudeness.leave_half_open: 4,
    rudeness.trickle: 1,
    rudeness.pipeline_and_read_nothing: 1,
    rudeness.hang_up_while_asking: 5,
    rudeness.break_the_handshake: 3,
    rudeness.break_frames: 4,
    rudeness.flood_with_pings: 1,
}
"""What clients do, and how often."""

LIMITS: Final = Limits(max_text_chars=4000, max_waiting=16, max_contexts=MAX_TEXT_CONTEXTS)
MAX_MESSAGE_BYTES: Final = 256 * 1024
GIVES_UP_S: Final = 8.0
SETTINGS: Final[Mapping[str, object]] = {
    "max_requests_per_minute": 1_000_000,
    "max_text_chars": LIMITS.max_text_chars,
    "max_message_bytes": MAX_MESSAGE_BYTES,
    "max_waiting_segments": 64,
    "max_waiting_requests": LIMITS.max_waiting,
    "max_sessions": 22,
    "context_idle_s": 1.5,
    "look_ahead_s": 4,
    "send_timeout_s": GIVES_UP_S,
}
"""Small, so that every limit is met again and again."""

SAMPLE_S: Final = 1.0
_THINKS_S: Final = 0.5
"""How long a client may do nothing between two things."""
_HEARTBEAT_S: Final = 0.2
_DRAINS_S: Final = 30.0
"""How long the server may take to be at rest once the last client has gone."""


@dataclass(slots=True)
class Outcome:
    """What became of a run. `samples`: the server's resident bytes, one a second."""

    record: Record
    samples: list[int] = field(default_factory=list)
    before: Footprint | None = None
    after: Footprint | None = None
    problems: list[str] = field(default_factory=list)
    level: Level | None = None
    requests: int = 0
    warnings: dict[str, int] = field(default_factory=dict)


async def soak(
    seconds: float,
    *,
    clients: int = 24,
    seed: int = 1,
    engine: str = "tone",
    say: Callable[[str], None] = lambda _: None,
) -> Outcome:
    """Run it. `say` gets a line now and then."""
    async with LoadedServer(engine, SETTINGS) as server:
        target = Target(server.url, LIMITS, MAX_MESSAGE_BYTES, GIVES_UP_S, Record())
        outcome = Outcome(target.record)
        feeling = asyncio.create_task(_feel_stalls(target.record), name="soak-stalls")
        await _warm_up(target, seed)
        await _at_rest(server)
        outcome.before = server.footprint()
        ends_s = time.monotonic() + seconds
        watching = asyncio.create_task(_watch(server, outcome, ends_s, say), name="soak-watch")
        async with asyncio.TaskGroup() as group:
            for number in range(clients):
                group.create_task(_live(target, number, seed, ends_s))
        await watching
        feeling.cancel()
        outcome.problems += await _at_rest(server)
        outcome.after = server.footprint()
        await _judge(server, outcome)
        return outcome


async def _live(target: Target, number: int, seed: int, ends_s: float) -> None:
    """One client: one thing after the other, until it is time. All of them together begin with each thing once."""
    chance = random.Random(f"{seed}/{number}")
    behaviours, weights = list(BEHAVIOURS), list(BEHAVIOURS.values())
    behaviour = behaviours[number % len(behaviours)]
    done = 0
    while time.monotonic() < ends_s:
        done += 1
        await _behave(target, behaviour, chance, f"c{number}.{done}")
        await asyncio.sleep(chance.random() * _THINKS_S)
        behaviour = chance.choices(behaviours, weights)[0]


async def _behave(target: Target, behaviour: Behaviour, chance: random.Random, name: str) -> None:
    what = behaviour.__name__
    target.record.did[what] += 1
    begun_s = time.monotonic()
    try:
        async with asyncio.timeout(2 * PATIENCE_S):
            await behaviour(target, chance, name)
    except TurnedAway:
        return
    except Violation as violation:
        target.record.complain(f"{name} ({what}): {violation}")
    except (OSError, EOFError, httpx.TransportError, WebSocketException) as error:
        if target.record.stalled_since(begun_s) >= target.gives_up_s / 2:
            target.record.did["hung up on while this machine stalled"] += 1  # as the server should
        else:
            target.record.complain(f"{name} ({what}): {type(error).__name__}: {error}")


async def _warm_up(target: Target, seed: int) -> None:
    """Everything once, so that libraries are loaded and threads are there before anything is compared."""
    chance = random.Random(f"{seed}/warm-up")
    quick = [behaviour for behaviour in BEHAVIOURS if behaviour not in _SLOW]
    for round_number in range(2):
        await asyncio.gather(
            *(
                _behave(target, behaviour, random.Random(chance.random()), f"w{round_number}.{number}")
                for number, behaviour in enumerate(quick)
            )
        )


_SLOW: Final = {
    sessions.stop_reading,
    rudeness.leave_half_open,
    rudeness.trickle,
    rudeness.pipeline_and_read_nothing,
    rudeness.flood_with_pings,
}


async def _feel_stalls(record: Record) -> None:
    """Write down when this program itself was held up: a server hangs up on clients who are."""
    while True:
        begun_s = time.monotonic()
        await asyncio.sleep(_HEARTBEAT_S)
        record.note_stall(time.monotonic(), time.monotonic() - begun_s - _HEARTBEAT_S)


async def _watch(server: LoadedServer, outcome: Outcome, ends_s: float, say: Callable[[str], None]) -> None:
    begun_s = said_s = time.monotonic()
    while (now_s := time.monotonic()) < ends_s:
        footprint = server.footprint()
        outcome.samples.append(footprint.resident_bytes)
        if now_s - said_s >= 15:
            said_s = now_s
            problems = len(outcome.record.problems) + len(server.log.problems)
            held = f"{footprint.threads} threads  {footprint.descriptors} descriptors"
            memory = f"{footprint.resident_bytes / MEBIBYTE:6.1f} MiB"
            requests_so_far = f"{server.log.totals.total()} requests"
            say(f"{now_s - begun_s:6.0f} s  {memory}  {held}  {requests_so_far}  {problems} problems")
        await asyncio.sleep(SAMPLE_S)


async def _at_rest(server: LoadedServer) -> list[str]:
    """Wait until nothing is left of the clients; what is, in words, if it stays."""
    until_s = time.monotonic() + _DRAINS_S
    while True:
        metrics = await server.metrics()
        gauges = ("speech_sessions", "speech_waiting_segments", "speech_running_requests")
        left = {name: sum(metrics[name].values()) for name in gauges}
        if not any(left.values()):
            return []
        if time.monotonic() > until_s:
            return [f"{_DRAINS_S:g} s after the last client had gone there were still {left}"]
        await asyncio.sleep(0.1)


async def _judge(server: LoadedServer, outcome: Outcome) -> None:
    metrics = await server.metrics()
    code = await server.stop()
    record, log = outcome.record, server.log
    problems = outcome.problems
    problems += record.problems + log.problems + differences(record, log)
    counted = {(labels[0], labels[2]): 0.0 for labels in metrics["speech_requests_total"]}
    for labels, value in metrics["speech_requests_total"].items():
        counted[labels[0], labels[2]] += value
    if counted != {key: float(count) for key, count in log.totals.items()}:
        problems.append(f"speech_requests_total says {counted}, the log {dict(log.totals)}")
    if code != 0:
        problems.append(f"the server ended with {code}")
    assert outcome.before is not None
    assert outcome.after is not None
    if outcome.after.descriptors > outcome.before.descriptors:
        problems.append(f"{outcome.before.descriptors} descriptors before, {outcome.after.descriptors} after")
    if outcome.after.threads > outcome.before.threads:
        problems.append(f"{outcome.before.threads} threads before, {outcome.after.threads} after")
    outcome.level = Level.of(outcome.samples)
    is_long = len(outcome.samples) * SAMPLE_S >= 600
    if outcome.level.rises(ALLOWED_BYTES if is_long else ALLOWED_IN_MINUTES_BYTES):
        problems.append(f"memory does not level off: {outcome.level}")
    outcome.requests = log.totals.total()
    outcome.warnings = dict(log.warnings)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--clients", type=int, default=24)
    parser.add_argument("--engine", default="tone")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    outcome = asyncio.run(
        soak(
            arguments.minutes * 60,
            clients=arguments.clients,
            seed=arguments.seed,
            engine=arguments.engine,
            say=lambda line: print(line, flush=True),
        )
    )
    record = outcome.record
    print("did:     ", dict(record.did.most_common()))
    print("endings: ", dict(record.endings.most_common()))
    print("warnings:", outcome.warnings)
    print("before:  ", outcome.before)
    print("after:   ", outcome.after)
    print("memory:  ", outcome.level)
    print(f"stalls:   {record.longest_stall_s:.1f} s at most, of the clients' own")
    for problem in outcome.problems:
        print("PROBLEM:", problem[:6000])
    sys.exit(1 if outcome.problems else 0)


if __name__ == "__main__":
    main()
