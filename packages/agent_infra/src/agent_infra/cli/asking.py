"""Verbs that talk to the agent: invoke, demo, stop-session."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agent_infra.cli.situation import DEFAULT_AGENT, AgentOption, Situation, situated

app = typer.Typer()
VoiceOption = Annotated[str, typer.Option(help="One of the 54 voices; `kokoro-weights list` names them.")]
DEFAULT_VOICE = "af_heart"
QUESTION = "Why is the sky blue?"


@app.command(epilog='Example: agent-infra invoke "How do I make tea?" -o tea.mp3 --voice bf_emma')
@situated
def invoke(
    prompt: Annotated[str, typer.Argument(help="The question.")],
    *,
    here: Situation,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The audio file: .wav, .mp3, .opus or .aac.", metavar="FILE")
    ],
    agent: AgentOption = DEFAULT_AGENT,
    mode: Annotated[str, typer.Option(help="bidi speaks while the model writes, batch waits for it.")] = "bidi",
    voice: VoiceOption = DEFAULT_VOICE,
) -> None:
    """Ask the deployed agent: its text is printed as it comes, its speech goes into a file."""
    import asyncio
    import sys
    from typing import Any

    from infra_common.errors import OptionRefused

    from agent_infra.calling import deployed_caller, format_of, write_answer

    if mode not in {"bidi", "batch"}:
        raise OptionRefused(f"--mode {mode!r}: expected bidi or batch")
    target = here.target(agent)
    audio_format = format_of(output)
    caller = deployed_caller(target)

    def show(event: dict[str, Any]) -> None:
        if event.get("type") == "text_delta" and not here.console.as_json:
            sys.stdout.write(event["text"])
            sys.stdout.flush()

    answer = asyncio.run(caller.ask(prompt, mode=mode, voice=voice, audio_format=audio_format, on_event=show))
    here.console.line()
    write_answer(answer, output)
    here.console.result({"file": str(output), **answer.as_dict()})
    heard = "" if answer.first_audio_ms is None else f", first audio after {answer.first_audio_ms / 1000:.2f} s"
    here.console.line(f"{output}: {answer.duration_s:.2f} s{heard}")


@app.command(epilog="Example: agent-infra demo --local")
@situated
def demo(
    prompt: Annotated[str, typer.Argument(help="The question.", show_default=True)] = QUESTION,
    *,
    here: Situation,
    agent: AgentOption = DEFAULT_AGENT,
    local: Annotated[bool, typer.Option("--local", help="On this machine, without AWS (`voice-local ask`).")] = False,
    runs: Annotated[int, typer.Option(help="Ask this often in each mode; medians are shown.", min=1, max=100)] = 1,
    voice: VoiceOption = DEFAULT_VOICE,
    out: Annotated[Path, typer.Option(help="Where answer.wav, timeline.png and timings.json go.")] = Path("out"),
) -> None:
    """Ask in both modes, and show when each sentence was written and heard, and how much sooner bidi speaks."""
    import asyncio

    from agent_infra.calling import deployed_caller
    from agent_infra.demonstration import local_demo, show_result

    if local:
        raise typer.Exit(local_demo(prompt, runs, voice, out, as_json=here.console.as_json))
    from local_cloud.ask import Question, ask
    from local_cloud.console import Console

    caller = deployed_caller(here.target(agent))
    question = Question(prompt, runs=runs, voice=voice)
    result = asyncio.run(ask(caller, question, Console().step))
    paths = result.write(out)
    here.console.result(result.as_dict())
    if not here.console.as_json:
        show_result(result, paths)


@app.command("stop-session", epilog="Example: agent-infra stop-session voice-local-0f0c…")
@situated
def stop_session(
    session: Annotated[str, typer.Argument(help="A runtime session id, 33 to 256 characters.", metavar="SESSION")],
    *,
    here: Situation,
    agent: AgentOption = DEFAULT_AGENT,
) -> None:
    """End a session at once: whoever talks in it is cut off, and it costs nothing more."""
    from agent_infra.calling import stop_session as stop

    done = stop(here.target(agent), session)
    here.console.result(done)
    here.console.line(f"session {session} is stopped")
