"""The options that every command has, and what they make: a console and a session with AWS."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from infra_common.option_group import grouped, ungrouped

if TYPE_CHECKING:
    from infra_common.console import Console
    from infra_common.session import AwsSession

RegionOption = Annotated[
    str | None, typer.Option(help="AWS region. Default: AWS_REGION, or the profile's.", metavar="REGION")
]
ProfileOption = Annotated[
    str | None, typer.Option(help="A profile of the AWS config files. Default: AWS_PROFILE.", metavar="NAME")
]
StageOption = Annotated[
    str,
    typer.Option(
        help="Which deployment: several fit one account.", metavar="NAME", envvar="SPEECH_STAGE", show_default=True
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document on standard output, notes on the other.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Answer every question with yes.")]
ColorOption = Annotated[bool, typer.Option("--no-color", help="No colours, also not on a terminal.")]


@dataclass(frozen=True, slots=True)
class CommonOptions:
    """What was asked for, before AWS is asked anything."""

    region: str | None
    profile: str | None
    stage: str
    console: Console

    def session(self) -> AwsSession:
        """A session with AWS."""
        from infra_common.session import AwsSession

        return AwsSession(self.region, self.profile)


def with_common_options(
    program: str, situation: Callable[[str | None, str | None, str, Console], Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A decorator that gives a command the common options; it gets one `situation` as `here` instead of them.

    What the command takes as an `OptionGroup` is an option for each of the group's fields.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        parameters = inspect.signature(command, eval_str=True).parameters.values()
        taken = [each for each in parameters if each.name != "here"]

        @functools.wraps(command)
        def with_options(
            *args: Any,
            region: str | None,
            profile: str | None,
            stage: str,
            as_json: bool,
            yes: bool,
            no_color: bool,
            **own: Any,
        ) -> None:
            from infra_common.console import Console

            console = Console(program, as_json=as_json, no_color=no_color, assume_yes=yes)
            command(*args, here=situation(region, profile, stage, console), **grouped(taken, own))

        common = [
            _option("stage", StageOption, "dev"),
            _option("region", RegionOption, None),
            _option("profile", ProfileOption, None),
            _option("as_json", JsonOption, False),
            _option("yes", YesOption, False),
            _option("no_color", ColorOption, False),
        ]
        described: Any = with_options  # typer reads both, and a function's type has no signature of its own
        described.__signature__ = inspect.Signature([*ungrouped(taken), *common])
        described.__annotations__ = {each.name: each.annotation for each in (*ungrouped(taken), *common)}
        return with_options

    return decorate


def _option(name: str, annotation: Any, default: object) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
