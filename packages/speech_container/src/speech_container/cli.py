"""`speech-container serve`: what the image runs, and the way to run the server on a laptop. `entry` calls it."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from . import log, tracing
from .settings import ENGINE_NAMES, Settings

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, no_args_is_help=True)


@app.callback()
def speech_container() -> None:
    """The Kokoro text-to-speech server."""


@app.command()
def serve(
    engine: Annotated[
        str | None, typer.Option(help=f"{', '.join(ENGINE_NAMES)}. (default: $SPEECH_ENGINE or auto)", metavar="NAME")
    ] = None,
    weights: Annotated[
        Path | None,
        typer.Option(
            help="A prepared weights directory. (default: $SPEECH_WEIGHTS, /opt/ml/model, or the packaged ones)"
        ),
    ] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on. (default: $SPEECH_HOST or 127.0.0.1)")] = None,
    port: Annotated[
        int | None, typer.Option(help="Port to listen on, 0 for a free one. (default: $SPEECH_PORT or 8080)")
    ] = None,
    stay_up: Annotated[
        bool | None,
        typer.Option(
            "--stay-up/--no-stay-up",
            help="Where the weights cannot be loaded: answer /ping with 503 until stopped, or end at once. "
            "(default: stay up with the weights in /opt/ml/model)",
        ),
    ] = None,
) -> None:
    """Serve speech over WebSocket and HTTP until SIGTERM.

    Two lines on stdout tell a supervisor how far it is: "listening on URL" when connections are taken, "ready (...)"
    when /ping answers 200. Everything else that can be set comes from the environment: SPEECH_LOOK_AHEAD_S and others,
    which the README of speech-container lists.
    """
    from .server import STARTUP_ERRORS, serve

    try:
        settings = Settings.from_environment(engine=engine, weights=weights, host=host, port=port)
        log.configure(settings.log_level)
        tracing.configure()
        serve(settings, stay_up=stay_up)
    except STARTUP_ERRORS as error:
        message = " ".join(str(error).split())
        typer.echo(f"speech-container: {message}", err=True)
        sys.exit(1)
