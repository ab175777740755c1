"""What the whole stack adds to the engine: the time to first audio, part by part, and the processor time of framing.

    uv run python -m benchmarks.overhead [--rounds 20] [--profile-s 30] [--write]

First audio is measured through everything that a deployed caller goes through: the real SageMaker SDK client, HTTP/2
over TLS with signed events, the local gateway, a WebSocket, the server, the engine. From it is taken the bare engine
call for the same text, whose phonemes are ready. Three ways to the same text take turns in changing order: the bare
call in this process, the whole stack, and a plain WebSocket without client SDK and gateway. All sessions are open and
warm, and the listener of each is made to have nothing left to hear, as after a barge-in.

Two calls of the engine differ by more than what is looked for, unless the machine is quiet. So the same is also taken
from the engine's call inside each request, which `/metrics` tells; what is left has these parts: *phonemes* and
*encoding*, timed alone in this process; *queue*, as the server says in its answer; *hand-over*, what remains until the
server's own first audio (threads and event loop); *client, gateway, wires*, what remains until the caller's.

Then the server is profiled (see `rig/profile.py`) while four listeners hear text after text, half of which send theirs
token by token, all with word times; and with the tone engine and 40 of them, which shows where the server's own time
goes. Fails where the stack adds more than 15 ms at the median, or where framing and JSON take more than 1 % of the
samples with the onnx engine.

`--write` puts the figures into benchmarks/results/overhead.json and the tables into the README of speech-container.
"""

import argparse
import asyncio
import itertools
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Final

from local_cloud.say import transport
from local_cloud.stack import LocalStack, StackSettings
from speech_client import (
    Audio,
    SpeechSession,
    SynthesisComplete,
    VoiceOptions,
)
from speech_container.encoders import encoder_for
from speech_container.engine import Engine, Waveform
from speech_container.narration import Script
from speech_container.settings import EngineName, Settings
from speech_container.studio import open_studio
from speech_protocol import AudioFramer, Synthesize

from .rig.busy_listeners import hear_texts, hear_tokens
from .rig.profile import PROTOCOL, RATE_HZ, NotProfiled, sample
from .rig.report import ROOT, Machine, Spread, put_blocks, save
from .rig.servers import engine_s, running, speech_container

TEXT: Final = "Hello there, how are you?"
TARGET_MS: Final = 15.0
TARGET_SHARE: Final = 0.01
DOCUMENT: Final = ROOT / "packages" / "speech_container" / "README.md"
ENGINES: Final[tuple[EngineName, ...]] = ("onnx", "tone")
PROFILED: Final[dict[EngineName, int]] = {"onnx": 4, "tone": 40}
"""How many listeners each engine has while the server is profiled."""
WARM_UP_ROUNDS: Final = 2
OPTIONS: Final = VoiceOptions()


class Bare:
    """An engine and its front end in this process, and `TEXT`, ready for it."""

    def __init__(self, engine_name: EngineName) -> None:
        studio = open_studio(Settings(engine=engine_name))
        for check in studio.checks:
            check()
        self._engine: Engine = studio.engine
        self._engine.load()
        self._narrator = studio.narrator
        self._script = self.phonemes()
        if len(self._script.lines) != 1:
            raise SystemExit(f"{TEXT!r} is more than one utterance; choose a text that the engine takes at once")

    def phonemes(self) -> Script:
        """What the front end does with the text."""
        return self._narrator.script(Synthesize(TEXT, OPTIONS))

    def call(self) -> Waveform:
        """What the engine does with its phonemes."""
        (waveform,) = self._engine.synthesize([line.utterance for line in self._script.lines])
        return waveform


@dataclass(frozen=True, slots=True)
class Asked:
    """One request, in seconds: as its caller saw it, and as the server did."""

    first_audio_s: float
    server_first_audio_s: float
    queue_s: float
    engine_s: float


@dataclass(frozen=True, slots=True)
class Round:
    """One of each."""

    bare_s: float
    phonemes_s: float
    encoding_s: float
    stack: Asked
    websocket: Asked

    @property
    def added_ms(self) -> float:
        """What the whole stack adds to the bare call."""
        return (self.stack.first_audio_s - self.bare_s) * 1000

    @property
    def around_ms(self) -> float:
        """What of the request was not the engine's own call in it."""
        return (self.stack.first_audio_s - self.stack.engine_s) * 1000

    @property
    def plain_ms(self) -> float:
        """The same without client SDK and gateway."""
        return (self.websocket.first_audio_s - self.websocket.engine_s) * 1000

    @property
    def parts_ms(self) -> dict[str, float]:
        """What that consists of."""
        asked = self.stack
        known_s = asked.engine_s + asked.queue_s + self.phonemes_s + self.encoding_s
        parts_s = {
            "phonemes": self.phonemes_s,
            "queue": asked.queue_s,
            "encoding": self.encoding_s,
            "hand-over": asked.server_first_audio_s - known_s,
            "client, gateway, wires": asked.first_audio_s - asked.server_first_audio_s,
        }
        return {name: seconds * 1000 for name, seconds in parts_s.items()}


class Caller:
    """Asks over an open session of the server at `url`."""

    def __init__(self, session: SpeechSession, url: str) -> None:
        self._session = session
        self._url = url

    async def ask(self) -> Asked:
        """`TEXT`, once. Afterwards nothing is left to hear."""
        before_s = await engine_s(self._url)
        first_s: float | None = None
        asked_s = time.monotonic()
        async for event in self._session.speak(TEXT, OPTIONS):
            match event:
                case Audio() if first_s is None:
                    first_s = time.monotonic() - asked_s
                case SynthesisComplete(first_audio_s=server_s, queue_s=queue_s):
                    pass
                case _:
                    pass
        await self._session.cancel()
        await self._session.ping()  # so that the cancel has come
        if first_s is None:
            raise SystemExit("a request was answered without audio")
        return Asked(first_s, server_s, queue_s, await engine_s(self._url) - before_s)


Rounds = dict[EngineName, list[Round]]
Samples = dict[EngineName, Counter[str]]


class Bench:
    """The three ways, and what is timed beside them."""

    def __init__(self, bare: Bare, stack: Caller, websocket: Caller) -> None:
        self._bare = bare
        self._stack = stack
        self._websocket = websocket

    async def round(self, turn: int) -> Round:
        """Each once. The first of them changes with `turn`."""
        bare_s = phonemes_s = encoding_s = 0.0
        asked: dict[str, Asked] = {}
        ways = ("bare", "stack", "websocket")
        for way in ways[turn % 3 :] + ways[: turn % 3]:
            match way:
                case "bare":
                    _, phonemes_s = timed(self._bare.phonemes)
                    waveform, bare_s = timed(self._bare.call)
                    _, encoding_s = timed(partial(encode, waveform))
                case "stack":
                    asked[way] = await self._stack.ask()
                case _:
                    asked[way] = await self._websocket.ask()
        return Round(bare_s, phonemes_s, encoding_s, asked["stack"], asked["websocket"])


def timed[T](work: Callable[[], T]) -> tuple[T, float]:
    """What it gave, and the seconds that it took."""
    began_s = time.perf_counter()
    given = work()
    return given, time.perf_counter() - began_s


def encode(waveform: Waveform) -> list[bytes]:
    """What the server does between the engine and the socket."""
    encoder = encoder_for(OPTIONS.format, OPTIONS.sample_rate)
    return AudioFramer().feed(encoder.feed(waveform.samples))


async def measure(engine: EngineName, rounds: int) -> list[Round]:
    """All rounds with one engine, after some for warming up."""
    bare = Bare(engine)
    with tempfile.TemporaryDirectory(prefix="benchmark-") as logs:
        async with (
            LocalStack(StackSettings(engine=engine, logs=Path(logs)), _unseen) as stack,
            SpeechSession.connect(transport(stack)) as through_all,
            SpeechSession.connect(stack.speech.url.replace("http", "ws", 1)) as through_websocket,
        ):
            url = stack.speech.url
            bench = Bench(bare, Caller(through_all, url), Caller(through_websocket, url))
            done = [await bench.round(turn) for turn in range(WARM_UP_ROUNDS + rounds)]
    return done[WARM_UP_ROUNDS:]


async def profile(engine: EngineName, seconds: float) -> Counter[str]:
    """Samples by owner of a server with its listeners. Raises `NotProfiled`."""
    async with running(speech_container(engine)) as server:
        hears = itertools.cycle((hear_texts, hear_tokens))
        listeners = [
            asyncio.create_task(hear(server.session_url, number))
            for number, hear in enumerate(itertools.islice(hears, PROFILED[engine]))
        ]
        try:
            return await sample(server.process.pid, seconds)
        finally:
            for task in listeners:
                task.cancel()
            for outcome in await asyncio.gather(*listeners, return_exceptions=True):
                if isinstance(outcome, Exception):
                    raise outcome


def added_table(rounds: Rounds) -> str:
    """Medians in milliseconds: what was measured, the differences, and their parts."""

    def line(name: str, value: Callable[[Round], float]) -> str:
        cells = (f"{statistics.median(map(value, each)):.1f}" for each in rounds.values())
        return f"| {name} | {' | '.join(cells)} |"

    def difference(name: str, value: Callable[[Round], float]) -> str:
        quarters = [statistics.quantiles(map(value, each), n=4) for each in rounds.values()]
        return f"| {name} | {' | '.join(f'**{half:.1f}** ({low:.1f} to {high:.1f})' for low, half, high in quarters)} |"

    def part(name: str) -> str:
        return line(f"· {name}", lambda one: one.parts_ms[name])

    return "\n".join(
        (
            f"| milliseconds, medians, with quartiles | {' | '.join(rounds)} |",
            f"|--|{'--:|' * len(rounds)}",
            line("first audio through the whole stack", lambda one: one.stack.first_audio_s * 1000),
            line("bare engine call, in turn", lambda one: one.bare_s * 1000),
            difference("added to the bare call", lambda one: one.added_ms),
            difference("added to the engine's call in the same request", lambda one: one.around_ms),
            *map(part, next(iter(rounds.values()))[0].parts_ms),
            line("the same by a plain WebSocket", lambda one: one.plain_ms),
        )
    )


def profile_table(samples: Samples) -> str:
    """Shares, the largest first."""
    heads = (
        f"{engine}, {PROFILED[engine]} listeners, {counted.total():,} samples" for engine, counted in samples.items()
    )
    owners = [name for name, _ in sum(samples.values(), start=Counter()).most_common()]
    missing = set().union(*samples.values()).difference(owners)
    rows = (
        f"| {name} | {' | '.join(f'{counted[name] / counted.total():.2%}' for counted in samples.values())} |"
        for name in (*owners, *sorted(missing))
    )
    return "\n".join((f"| whose work | {' | '.join(heads)} |", f"|--|{'--:|' * len(samples)}", *rows))


@contextmanager
def _unseen(_what: str) -> Iterator[None]:
    """Nobody watches the stack start."""
    yield


def main() -> None:
    """Measure, print, and write where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--profile-s", type=float, default=30.0, help="how long to profile; 0 leaves it out")
    parser.add_argument("--write", action="store_true", help="into benchmarks/results and the server's README")
    arguments = parser.parse_args()
    machine = Machine.here()
    print(f"{machine}\n", flush=True)
    rounds = {engine: asyncio.run(measure(engine, arguments.rounds)) for engine in ENGINES}
    blocks = {"Added": added_table(rounds)}
    print(f"{blocks['Added']}\n", flush=True)
    samples: Samples = {}
    if arguments.profile_s:
        try:
            samples = {engine: asyncio.run(profile(engine, arguments.profile_s)) for engine in ENGINES}
        except NotProfiled as error:
            raise SystemExit(f"{error}; or leave the profile out with --profile-s 0") from None
        blocks["Profile"] = profile_table(samples)
        print(f"{blocks['Profile']}\n", flush=True)
    if arguments.write:
        write_down(machine, rounds, samples, blocks)
    judge(machine, rounds, samples)


def write_down(machine: Machine, rounds: Rounds, samples: Samples, blocks: dict[str, str]) -> None:
    """Into the results and the document."""
    figures = {
        "text": TEXT,
        "added_to_bare_call_ms": {
            engine: asdict(Spread.of([one.added_ms for one in each])) for engine, each in rounds.items()
        },
        "added_to_call_in_request_ms": {
            engine: asdict(Spread.of([one.around_ms for one in each])) for engine, each in rounds.items()
        },
        "profile": {"rate_hz": RATE_HZ, "listeners": PROFILED, "samples": samples},
        "rounds": {engine: [asdict(one) for one in each] for engine, each in rounds.items()},
    }
    print(save("overhead", machine, figures))
    put_blocks(DOCUMENT, {name: f"{block}\n\n{machine}." for name, block in blocks.items()}, "benchmarks/overhead.py")


def judge(machine: Machine, rounds: Rounds, samples: Samples) -> None:
    """Raises `SystemExit` where a limit is missed.

    The bare call is another call of the same engine: while other work runs, two calls differ by far more than the
    limit. So it is judged on a quiet machine only.
    """
    missed = []
    for engine, each in rounds.items():
        found = {"the engine's call in the same request": statistics.median(one.around_ms for one in each)}
        if machine.is_quiet:
            found["the bare call"] = statistics.median(one.added_ms for one in each)
        missed += [
            f"with the {engine} engine the stack adds {added_ms:.1f} ms to {what}, more than {TARGET_MS:g} ms"
            for what, added_ms in found.items()
            if added_ms > TARGET_MS
        ]
    if samples and (share := samples["onnx"][PROTOCOL] / samples["onnx"].total()) > TARGET_SHARE:
        missed.append(f"{PROTOCOL} take {share:.2%} of the samples, more than {TARGET_SHARE:.0%}")
    if missed:
        raise SystemExit("; ".join(missed))


if __name__ == "__main__":
    main()
