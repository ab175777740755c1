"""The `voice-local` command: the whole voice path on this machine, without an AWS account.

Exit codes: 0 done, 1 something did not work (one line on standard error says what and what to do), 2 the command line
is wrong, 130 interrupted.
"""

import asyncio
import io
import json
import signal
import sys
from collections.abc import Coroutine
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from local_cloud.console import Console
from local_cloud.errors import LocalCloudError
from local_cloud.typed_text import piped_text, typed_text

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="""The voice path on this machine: real clients and services, with loopback stand-ins for AWS between them.

    The agent writes with a small language model, hands each finished sentence to Kokoro, and speaks while it writes.
    Nothing leaves 127.0.0.1, no AWS account is needed, and nothing keeps running after a command ends.
    """,
)


INTO_A_FILE_S = 3600.0  # the look-ahead where nobody listens: no answer is longer


class Mode(StrEnum):
    """`bidi` speaks while the model writes; `batch` waits for the whole text, as a baseline."""

    BIDI = "bidi"
    BATCH = "batch"
    BOTH = "both"


class Transport(StrEnum):
    """The agent's faces: server-sent events, or a WebSocket with bare audio."""

    SSE = "sse"
    WS = "ws"


class Engine(StrEnum):
    """Engines of the speech container."""

    AUTO = "auto"
    OPENVINO = "openvino"
    ONNX = "onnx"
    TORCH = "torch"
    TORCH_GRAPHS = "torch-graphs"
    TONE = "tone"


EngineOption = Annotated[
    Engine,
    typer.Option(
        help="auto: Kokoro on the CPU, openvino where that is faster than onnx. tone: instant beeps, to test the path. "
        "torch: needs its extra. torch-graphs: the same, and a CUDA device."
    ),
]
WeightsOption = Annotated[
    Path | None, typer.Option(help="A directory of prepared weights; by default the one `kokoro-weights prepare` made.")
]
VoiceOption = Annotated[str, typer.Option(help="One of the 54 voices; `kokoro-weights list` names them.")]
ModelOption = Annotated[
    str | None,
    typer.Option(
        help="**llama** (a small model, the default where it runs) or **script:FILE**, a text at --rate.",
        show_default=False,
    ),
]
RateOption = Annotated[
    float, typer.Option(help="Tokens a second: of a script, and at most of llama.", min=0.1, max=100_000)
]
LogsOption = Annotated[Path, typer.Option(help="Where the services' logs go.")]


@app.command(
    epilog="Examples: `voice-local ask 'Why is the sky blue?'` · "
    "`voice-local ask Hello --model script:answer.txt --rate 20 --runs 3`"
)
def ask(
    prompt: Annotated[str, typer.Argument(help="The question.")],
    mode: Annotated[Mode, typer.Option(help="bidi, batch, or both to compare them.")] = Mode.BOTH,
    out: Annotated[Path, typer.Option(help="Where answer.wav, timeline.png and timings.json go.")] = Path("out"),
    model: ModelOption = None,
    rate: RateOption = 20.0,
    runs: Annotated[int, typer.Option(help="Ask this often in each mode; medians are shown.", min=1, max=100)] = 1,
    voice: VoiceOption = "af_heart",
    transport: Annotated[
        Transport, typer.Option(help="sse: POST /invocations. ws: /ws, without base64.")
    ] = Transport.SSE,
    engine: EngineOption = Engine.AUTO,
    weights: WeightsOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the timings as JSON instead of tables.")] = False,
) -> None:
    """Ask the agent a question, let it speak, and see when each sentence was written and heard."""
    from local_cloud.ask import Question, Result
    from local_cloud.ask import ask as ask_agent
    from local_cloud.model_choice import choose_model
    from local_cloud.stack import LocalStack, StackSettings

    console = Console()
    modes = ("bidi", "batch") if mode is Mode.BOTH else (mode.value,)
    question = Question(typed_text(prompt), modes, runs, voice, transport.value)
    choice = choose_model(model, rate)
    if choice.notice:
        console.note(choice.notice)

    async def answer() -> Result:
        settings = StackSettings(
            model=choice.model, engine=engine.value, weights=weights, logs=out / "logs", look_ahead_s=INTO_A_FILE_S
        )
        async with LocalStack(settings, console.step) as stack:
            return await ask_agent(stack.caller(), question, console.step)

    result = _run(answer())
    paths = result.write(out)
    if as_json:
        console.out.print_json(json.dumps(result.as_dict()), ensure_ascii=True)
        return
    shown = result.last(modes[0])
    console.line(f"\nQuestion  {question.prompt}", "bold")
    console.line(f"Answer    {' '.join(shown.text.split())}")
    console.sentences(shown)
    console.comparison(result.comparison)
    console.line("Wrote " + ", ".join(str(path) for path in paths))


@app.command(epilog="Example: `voice-local say 'Hello there.' -o hello.wav --voice bf_emma`")
def say(
    text: Annotated[str, typer.Argument(help="What to say, or - to read it from standard input.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The WAV file to write.")],
    voice: VoiceOption = "af_heart",
    speed: Annotated[float, typer.Option(help="1.0 is the voice's own speed.", min=0.5, max=2.0)] = 1.0,
    engine: EngineOption = Engine.AUTO,
    weights: WeightsOption = None,
    logs: LogsOption = Path("out/logs"),
) -> None:
    """Say a text: through the SageMaker client, the gateway and the speech container, into a WAV file."""
    from speech_protocol import VoiceOptions

    from local_cloud.say import Spoken
    from local_cloud.say import say as speak
    from local_cloud.stack import LocalStack, StackSettings

    console = Console()
    spoken_text = piped_text(sys.stdin.buffer if sys.stdin else None) if text == "-" else typed_text(text)

    async def speech() -> Spoken:
        settings = StackSettings(engine=engine.value, weights=weights, logs=logs, look_ahead_s=INTO_A_FILE_S)
        async with LocalStack(settings, console.step) as stack:
            with console.step("Kokoro speaks") as progress:
                options = VoiceOptions(voice=voice, speed=speed)
                return await speak(stack, spoken_text, options, lambda s: progress(f"{s:.1f} s of audio"))

    spoken = _run(speech())
    spoken.write_wav(output)
    console.line(f"{output}: {spoken.duration_s:.2f} s")


@app.command(epilog="Example: `voice-local serve --speech-port 8080`, then the curl lines of the README.")
def serve(
    model: ModelOption = None,
    rate: RateOption = 20.0,
    engine: EngineOption = Engine.AUTO,
    weights: WeightsOption = None,
    logs: LogsOption = Path("out/logs"),
    speech_port: Annotated[
        int, typer.Option(help="Port of the speech container; 0 is a free one.", min=0, max=65535)
    ] = 0,
    agent_port: Annotated[int, typer.Option(help="Port of the agent; 0 is a free one.", min=0, max=65535)] = 0,
    agentcore_port: Annotated[int, typer.Option(help="Port of the AgentCore plane.", min=0, max=65535)] = 0,
) -> None:
    """Bring all services up, print where they are, and serve until Ctrl-C."""
    from local_cloud.model_choice import choose_model
    from local_cloud.stack import LocalStack, StackSettings

    console = Console()
    choice = choose_model(model, rate)
    settings = StackSettings(
        model=choice.model,
        engine=engine.value,
        weights=weights,
        logs=logs,
        speech_port=speech_port,
        agent_port=agent_port,
        agentcore_port=agentcore_port,
    )

    async def forever() -> None:
        async with LocalStack(settings, console.step) as stack:
            for name, value in stack.addresses().items():
                console.line(f"{name:<28} {value}")
            console.note("Serving until Ctrl-C.")
            await stack.until_a_service_ends()

    _run(forever())


def main() -> None:
    """Entry point: an expected failure is one line and a code, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # where the locale cannot show a tick or an accent
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:  # four packages have a tree of their own, imported only once one of them has failed
        if not _is_expected(error):
            raise
        Console().error(_words(error))
        sys.exit(1)


def _run[T](work: Coroutine[Any, Any, T]) -> T:
    """Run to the end. An interrupt, SIGTERM or a closed terminal ends it in order; another one, without waiting."""

    async def with_signals() -> T:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine runs in a task
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
                asyncio.get_running_loop().add_signal_handler(number, task.cancel)
        return await work

    try:
        return asyncio.run(with_signals())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


def _words(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def _is_expected(error: Exception) -> bool:
    """Whether `error` is one of our own trees', written for people."""
    from kokoro_weights import WeightsError
    from speech_client import SpeechError

    return isinstance(error, LocalCloudError | SpeechError | WeightsError | OSError)
