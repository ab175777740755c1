"""What the agent adds to the time to first audio with many sessions at once, against the tone engine.

    uv run python -m benchmarks.agent_overhead [--sessions 200] [--every 15] [--turns 4] [--write docs/latency.md]

Four processes: a Bedrock that recites, the agent, a speech server whose engine makes beeps at once, and this one, which
holds a WebSocket for every session. Each session asks at a random moment and again every `--every` seconds, about the
time that its answer plays for; an answer is four sentences. All clocks are the machine's monotonic one.

Of every answer three moments count: the token that ends the first sentence leaves the model (as the sentence chunker
sees it: the end is sure), the agent hands the sentence to the voice and hears its first audio, and the first audio
frame reaches the caller. The agent's overhead is the way from the first to the last without the voice's part. Fails
above 20 ms at the 95th percentile.
"""

import argparse
import asyncio
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psutil
from local_cloud.bedrock import Bedrock
from local_cloud.language_model import Conversation
from local_cloud.script_model import ScriptModel, tokens
from local_cloud.signatures import Credentials
from speech_text import IncrementalSentenceChunker
from websockets.asyncio.client import connect

TEXT: Final = (
    "To make a good cup of tea, begin with fresh water. Bring it to the boil, but take it off the heat quickly. "
    "While you wait, warm the pot with a little hot water. Then take one spoon of leaves for each person."
)
KEYS: Final = Credentials("AKIALOCALBENCH", "secret-of-this-benchmark")
TARGET_P95_MS: Final = 20.0
BEGIN, END = "<!-- overhead -->", "<!-- /overhead -->"
START_S: Final = 60
PATIENCE_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Measured:
    """One answer, in milliseconds from the end of its first sentence. `voice_ms`: what the speech server took of it."""

    total_ms: float
    voice_ms: float

    @property
    def overhead_ms(self) -> float:
        return self.total_ms - self.voice_ms


class TimedModel:
    """Recites, and writes down when the token left that made the end of the first sentence sure."""

    def __init__(self, rate: float) -> None:
        self._script = ScriptModel(TEXT, rate)
        self._sure_at = sure_token()

    async def stream(self, conversation: Conversation) -> AsyncGenerator[str]:
        number = 0
        async for token in self._script.stream(conversation):
            if number == self._sure_at:
                sys.stdout.write(json.dumps([conversation.turns[-1].text, time.monotonic()]) + "\n")
                sys.stdout.flush()
            yield token
            number += 1

    async def prepare(self) -> None:
        """Nothing to load."""

    async def close(self) -> None:
        """Nothing to give back."""


def sure_token() -> int:
    """The token with which the first sentence is out."""
    chunker = IncrementalSentenceChunker()
    return next(number for number, token in enumerate(tokens(TEXT)) if chunker.feed(token))


async def recite(rate: float) -> None:
    """The Bedrock process: its address, then a line for every first sentence."""
    async with Bedrock(TimedModel(rate), credentials=KEYS) as plane:
        sys.stdout.write(plane.url + "\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


@contextmanager
def running(command: list[str], out: Path, **environment: str) -> Iterator[tuple[int, str]]:
    """A service: its process id, and the address that it printed first. All that it prints goes to `out`."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "AGENT_", "SPEECH_"))}
    with out.open("wb") as lines:
        process = subprocess.Popen(command, stdout=lines, stderr=subprocess.DEVNULL, env=clean | environment)
    try:
        deadline_s = time.monotonic() + START_S
        while (found := re.search(r"http://\S+", out.read_text(encoding="utf-8"))) is None:
            if process.poll() is not None or time.monotonic() > deadline_s:
                raise SystemExit(f"{command[0]} did not start")
            time.sleep(0.05)
        yield process.pid, found[0]
    finally:
        process.terminate()
        process.wait(START_S)


@dataclass(frozen=True, slots=True)
class Heard:
    """One answer as its caller had it: when its first audio came, and the agent's own account of the first sentence."""

    prompt: str
    first_audio_s: float
    voice_ms: float


async def converse(url: str, number: int, arguments: argparse.Namespace, heard: list[Heard]) -> None:
    """One session: a socket, and a question every so often."""
    await asyncio.sleep(random.Random(number).uniform(0, arguments.every))
    async with connect(url.replace("http", "ws", 1) + "/ws", compression=None, max_size=None, proxy=None) as socket:
        for turn in range(arguments.turns):
            prompt = f"Question {turn} of session {number}"
            asked_s = time.monotonic()
            await socket.send(json.dumps({"prompt": prompt}))
            first_audio_s = 0.0
            async with asyncio.timeout(PATIENCE_S):
                while True:
                    frame = await socket.recv()
                    if isinstance(frame, bytes):
                        first_audio_s = first_audio_s or time.monotonic()
                        continue
                    event: dict[str, Any] = json.loads(frame)
                    if event["type"] == "error":
                        raise SystemExit(f"the agent answered {event['code']}: {event['message']}")
                    if event["type"] == "agent_end":
                        break
            first = event["sentences"][0]
            heard.append(Heard(prompt, first_audio_s, first["heard_ms"] - first["sent_ms"]))
            if turn + 1 < arguments.turns:
                await asyncio.sleep(max(0.0, asked_s + arguments.every - time.monotonic()))


async def measure(url: str, arguments: argparse.Namespace) -> list[Heard]:
    heard: list[Heard] = []
    async with asyncio.TaskGroup() as sessions:
        for number in range(arguments.sessions):
            sessions.create_task(converse(url, number, arguments, heard))
    return heard


def joined(heard: list[Heard], model_lines: str) -> list[Measured]:
    """What callers heard, with what the model wrote down."""
    ends_s = dict(json.loads(line) for line in model_lines.splitlines() if line.startswith("["))
    return [Measured((one.first_audio_s - ends_s[one.prompt]) * 1000, one.voice_ms) for one in heard]


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def table(measured: list[Measured]) -> str:
    rows = [
        ("agent's overhead", [one.overhead_ms for one in measured]),
        ("voice, as the agent sees it", [one.voice_ms for one in measured]),
        ("end of the first sentence to first audio", [one.total_ms for one in measured]),
    ]
    lines = ["| ms | median | p95 | p99 | worst |", "|---|--:|--:|--:|--:|"]
    for name, values in rows:
        shown = (statistics.median(values), percentile(values, 0.95), percentile(values, 0.99), max(values))
        lines.append(f"| {name} | " + " | ".join(f"{value:.1f}" for value in shown) + " |")
    return "\n".join(lines)


def run(arguments: argparse.Namespace, directory: Path) -> tuple[list[Measured], str]:
    """The measurements, and a line about the machine."""
    scripts = Path(sys.executable).parent
    itself = [sys.executable, __file__, "--recite", "--rate", str(arguments.rate)]
    speech_command = [str(scripts / "speech-container"), "serve", "--engine", "tone", "--port", "0"]
    agent_command = [str(scripts / "agent-runtime"), "serve", "--port", "0"]
    with ExitStack() as life:
        _, bedrock = life.enter_context(running(itself, directory / "model"))
        speech_pid, speech = life.enter_context(running(speech_command, directory / "speech"))
        agent_pid, agent = life.enter_context(
            running(
                agent_command,
                directory / "agent",
                AWS_REGION="us-east-1",
                AWS_ACCESS_KEY_ID=KEYS.access_key_id,
                AWS_SECRET_ACCESS_KEY=KEYS.secret_access_key,
                AWS_ENDPOINT_URL_BEDROCK_RUNTIME=bedrock,
                BEDROCK_MODEL_ID="local.language-model-v1:0",
                SPEECH_WEBSOCKET_URL=speech.replace("http", "ws", 1),
                AGENT_MAX_TURNS=str(arguments.sessions),
                AGENT_TOOLS="none",
            )
        )
        services = [psutil.Process(agent_pid), psutil.Process(speech_pid)]
        before = [sum(service.cpu_times()[:2]) for service in services]
        began_s = time.monotonic()
        heard = asyncio.run(measure(agent, arguments))
        took_s = time.monotonic() - began_s
        used_s = [sum(service.cpu_times()[:2]) - at_first for service, at_first in zip(services, before, strict=True)]
        resident = services[0].memory_info().rss / 2**20
        model_lines = (directory / "model").read_text(encoding="utf-8")
    load = (
        f"{arguments.sessions} sessions, {len(heard)} answers in {took_s:.0f} s. The agent used "
        f"{used_s[0] / took_s:.2f} of a core, {used_s[0] / len(heard) * 1000:.0f} ms an answer, and {resident:.0f} "
        f"MiB; the speech server {used_s[1] / took_s:.2f} of a core. Load average {os.getloadavg()[0]:.1f} on "
        f"{len(os.sched_getaffinity(0))} cores."
    )
    return joined(heard, model_lines), load


def write(path: Path, text: str) -> None:
    """Put `text` between this benchmark's marks in a document."""
    document = path.read_text(encoding="utf-8")
    before, _, rest = document.partition(BEGIN)
    _, _, after = rest.partition(END)
    if not after:
        raise SystemExit(f"{path} has no {BEGIN} … {END}")
    path.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--turns", type=int, default=4, help="questions a session asks")
    parser.add_argument("--every", type=float, default=15.0, help="seconds from one question to the next")
    parser.add_argument("--rate", type=float, default=20.0, help="tokens a second of the model")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the table into this document")
    parser.add_argument("--recite", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.recite:
        asyncio.run(recite(arguments.rate))
        return
    with tempfile.TemporaryDirectory() as directory:
        measured, load = run(arguments, Path(directory))
    print(load)
    print(table(measured))
    if arguments.write is not None:
        write(arguments.write, f"{load}\n\n{table(measured)}")
    p95_ms = percentile([one.overhead_ms for one in measured], 0.95)
    if p95_ms > TARGET_P95_MS:
        raise SystemExit(
            f"the agent's overhead is {p95_ms:.1f} ms at the 95th percentile; the target is {TARGET_P95_MS:g}"
        )


if __name__ == "__main__":
    main()
