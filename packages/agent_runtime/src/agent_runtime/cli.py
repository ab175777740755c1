"""The `agent-runtime` command: what the image starts, and what a local stack starts as a child."""

import os
import sys
from typing import Annotated

import typer

from .errors import SettingsError
from .log import configure_logging
from .settings import Settings
from .telemetry import STARTED, instrumented

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)


@app.callback()
def agent_runtime() -> None:
    """The voice agent: a Strands agent on Amazon Bedrock that speaks while it writes.

    Its settings come from the environment (see `agent_runtime.settings`): BEDROCK_MODEL_ID, AWS_REGION, and either
    SPEECH_ENDPOINT_NAME (a SageMaker endpoint) or SPEECH_WEBSOCKET_URL (a speech container of your own).
    """


@app.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on; AGENT_HOST, else 127.0.0.1.")] = None,
    port: Annotated[
        int | None, typer.Option(help="Port; AGENT_PORT, else 8080. 0 takes a free one.", min=0, max=65_535)
    ] = None,
) -> None:
    """Answer POST /invocations with server-sent events, WS /ws with frames, and GET /ping.

    Try it: curl -N localhost:8080/invocations -d '{"prompt": "Why is the sky blue?"}'
    """
    _start_instrumented()
    try:
        settings = Settings.from_environment(os.environ)
        configure_logging(settings.log_level)
        # Strands, boto3 and AgentCore take seconds to import; --help and a bad setting need none of them.
        from .answer import VoiceAgent
        from .app import create_app
        from .server import bind
        from .server import serve as run
        from .turns import Turns

        listener = bind(settings.host if host is None else host, settings.port if port is None else port)
        agent = VoiceAgent(settings)
        turns = Turns(
            agent.answer, agent.converse, max_turns=settings.max_turns, max_prompt_chars=settings.max_prompt_chars
        )
    except SettingsError as error:
        typer.echo(f"agent-runtime: {error}", err=True)
        raise typer.Exit(2) from error
    run(create_app(turns), listener, lambda url: typer.echo(f"agent-runtime: listening on {url}"), turns.drain)


def _start_instrumented() -> None:
    """Where an exporter of traces is set: this process, once more, with the instrumentation loaded first."""
    try:
        command = instrumented(os.environ, sys.argv)
    except FileNotFoundError as error:
        typer.echo(f"agent-runtime: {error}", err=True)
        raise typer.Exit(2) from error
    if command is not None:
        os.execve(command[0], command, os.environ | {STARTED: "1"})  # noqa: S606 - ourselves, under the instrumentation


def main() -> None:
    """Entry point of the console script."""
    app()
