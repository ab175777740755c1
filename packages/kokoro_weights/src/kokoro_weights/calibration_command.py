"""The command `kokoro-weights calibrate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from kokoro_weights.console import shown_count, shown_progress
from kokoro_weights.directory import WeightsDirectory
from kokoro_weights.preparation import prepare
from kokoro_weights.summary import summary

_notes = Console(stderr=True)


def calibrate_command(
    weights: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DIR]",
            help="A prepared directory with an ONNX export. Default: the weights of the source 'packages'.",
            show_default=False,
        ),
    ] = None,
    directory: Annotated[
        Path | None, typer.Option(metavar="NEW", help="Make the result at exactly this path, not in the cache.")
    ] = None,
    voice: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this voice; may be given often. Default: all.")
    ] = None,
    sentences: Annotated[
        int | None,
        typer.Option(min=2, help="Only the first so many of each voice; 12 are nearly as good.", show_default=False),
    ] = None,
    noise: Annotated[
        bool, typer.Option("--noise", help="For engines that draw the noise of the source: torch.")
    ] = False,
    threads: Annotated[int, typer.Option(min=1, max=64, help="Cores that one sentence may use.")] = 1,
    cache: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where results and what was measured are kept, as with prepare."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")] = False,
) -> None:
    """Measure what audio inside a sentence is predicted from, and print where the weights with that table are.

    Not needed for the source 'packages': its tables come with this program. Other weights have none, and an engine then
    decodes every sentence whole. Every voice speaks 40 sentences: two to three minutes of one core a voice, and two
    hours for all 54. A run that was interrupted goes on where it stopped. The torch engine, whose source has noise,
    wants a table of its own: --noise.

    Example: kokoro-weights calibrate ./model --directory ./calibrated
    """
    from kokoro_weights.calibration import calibrate

    if weights is None:
        with shown_progress(_notes) as progress:
            opened = prepare("packages", cache=cache, progress=progress)
    else:
        opened = WeightsDirectory.open(weights)
    with shown_count(_notes) as count:
        made = calibrate(
            opened,
            voices=voice or (),
            directory=directory,
            cache=cache,
            progress=count,
            threads=threads,
            sentences=sentences,
            noise=noise,
        )
    if as_json:
        typer.echo(json.dumps(summary(made), indent=2))
    else:
        typer.echo(made.path)
