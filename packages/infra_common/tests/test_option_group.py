"""A group of options is to typer as if each had been written down, and to the command one value."""

from dataclasses import dataclass
from typing import Annotated

import typer
from infra_common.option_group import OptionGroup
from infra_common.situation import CommonOptions, with_common_options
from typer.testing import CliRunner


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes(OptionGroup):
    width: Annotated[int, typer.Option("--wide", help="How wide.", min=1)]
    colours: Annotated[list[str] | None, typer.Option("--colour")] = None
    is_round: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Place(OptionGroup):
    shelf: str = "top"


app = typer.Typer()
given: list[tuple[str, Sizes, Place, bool, str]] = []


@app.command()
@with_common_options("shelve", CommonOptions)
def shelve(what: str, *, here: CommonOptions, sizes: Sizes, loud: bool = False, place: Place) -> None:
    """Put something on a shelf."""
    given.append((what, sizes, place, loud, here.stage))


def run(*arguments: str) -> tuple[int, str]:
    given.clear()
    result = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "200", "NO_COLOR": "1"})
    return result.exit_code, result.output


def test_the_command_gets_each_group_as_one_value() -> None:
    code, said = run("cup", "--wide", "3", "--colour", "red", "--colour", "blue", "--is-round", "--stage", "test")
    assert code == 0, said
    assert given == [("cup", Sizes(width=3, colours=["red", "blue"], is_round=True), Place(), False, "test")]


def test_what_is_not_said_is_the_fields_default() -> None:
    assert run("cup", "--wide", "1", "--shelf", "middle", "--loud")[0] == 0
    assert given == [("cup", Sizes(width=1), Place(shelf="middle"), True, "dev")]


def test_a_field_without_a_default_must_be_given() -> None:
    code, said = run("cup")
    assert code == 2
    assert "Missing option '--wide'" in said


def test_typer_holds_a_field_to_its_limits() -> None:
    code, said = run("cup", "--wide", "0")
    assert code == 2
    assert "--wide" in said


def test_help_has_every_option_in_the_groups_place() -> None:
    code, said = run("--help")
    assert code == 0
    at = [said.index(option) for option in ("--wide", "--colour", "--is-round", "--loud", "--shelf", "--stage")]
    assert at == sorted(at)
    assert "How wide." in said
    assert "sizes" not in said
