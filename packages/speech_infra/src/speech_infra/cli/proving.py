"""Verbs that let the endpoint speak: smoke-test, invoke; and the proof at the end of those that change it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from speech_infra.cli.situation import DEFAULT_MODEL, ModelArgument, Situation, situated

if TYPE_CHECKING:
    from speech_infra.deployment import Outcome
    from speech_infra.smoke_test import Case
    from speech_infra.target import Target

app = typer.Typer()
SmokeOption = Annotated[bool, typer.Option("--smoke-test/--no-smoke-test", help="Let it speak at the end.")]


@app.command(
    "smoke-test",
    epilog="Exit code 6 where it failed. Example: speech-infra smoke-test kokoro-82m --junit out/smoke.xml",
)
@situated
def smoke_test(
    model: ModelArgument = DEFAULT_MODEL,
    *,
    here: Situation,
    junit: Annotated[Path | None, typer.Option(help="Also write JUnit XML there.", metavar="FILE")] = None,
) -> None:
    """Let the endpoint say three sentences in one session, and check every byte that can be checked."""
    target = here.target(model)
    target.require_deployed()
    here.console.result(run_smoke_test(target, junit))


@app.command(epilog='Example: speech-infra invoke "Hello there." -o hello.wav --voice bf_emma')
@situated
def invoke(
    text: Annotated[str, typer.Argument(help="What to say.")],
    *,
    here: Situation,
    output: Annotated[Path, typer.Option("--output", "-o", help="The WAV file to write.", metavar="FILE")],
    model: Annotated[str, typer.Option(help="Which deployment speaks.", metavar="MODEL")] = DEFAULT_MODEL,
    voice: Annotated[str, typer.Option(help="One of the 54 voices; `kokoro-weights list` names them.")] = "af_heart",
    speed: Annotated[float, typer.Option(help="1.0 is the voice's own speed.", min=0.5, max=2.0)] = 1.0,
) -> None:
    """Say a text through the deployed endpoint, into a WAV file."""
    import asyncio

    from speech_client import VoiceOptions

    from speech_infra.data_plane import endpoint_transport
    from speech_infra.speaking import speak

    target = here.target(model)
    target.require_deployed()
    with here.console.step(f"{target.names.endpoint} speaks") as say:
        options = VoiceOptions(voice=voice, speed=speed)
        spoken = asyncio.run(
            speak(endpoint_transport(target), text, options, lambda seconds: say(f"{seconds:.0f} s of audio"))
        )
    spoken.write(output)
    figures = {"duration_s": round(spoken.duration_s, 3), "first_audio_s": round(spoken.first_audio_s, 3)}
    here.console.result({"file": str(output), **figures})
    here.console.line(f"{output}: {spoken.duration_s:.2f} s, first audio after {spoken.first_audio_s:.2f} s")


def run_smoke_test(target: Target, junit: Path | None) -> dict[str, Any]:
    """Run it, remember it in the account, return it. Raises SmokeTestFailed."""
    import asyncio

    from speech_infra.data_plane import endpoint_transport
    from speech_infra.errors import SmokeTestFailed
    from speech_infra.smoke_report import record, write_junit
    from speech_infra.smoke_test import smoke_test as run

    console = target.console

    def show(case: Case) -> None:
        figures = ", ".join(
            f"{name.removesuffix('_s').replace('_', ' ')} {value:.2f} s" for name, value in case.figures.items()
        )
        mark = "✗" if case.failure else "✓"
        console.note(f"  {mark} {case.name}  {case.failure or figures}")

    with console.step("smoke test"):
        transport = endpoint_transport(target)
        result = asyncio.run(run(transport.connect, target.names.endpoint, each=show))
    if junit is not None:
        write_junit(result, junit)
    record(target.client("ssm"), target.names.parameters.prefix, target.owner, result)
    if not result.has_passed:
        failed = next(case for case in result.cases if case.failure)
        if console.as_json:
            console.note(json.dumps(result.as_dict()))
        raise SmokeTestFailed(
            f"{target.names.endpoint} does not speak as it should: {failed.name}: {failed.failure}",
            fix=f"{target.command('logs')}   (then {target.command('rollback')} where an update brought it)",
        )
    return result.as_dict()


def finish(target: Target, outcome: Outcome, *, prove: bool) -> None:
    """Smoke test and summary."""
    from infra_common.status import show_outcome

    from speech_infra.status import gather

    if prove and not outcome.release.is_paused:
        run_smoke_test(target, None)
    show_outcome(outcome.changed, gather(target), target.names.endpoint, target.console)
