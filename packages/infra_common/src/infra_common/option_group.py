"""Options that several commands take together, said once: a frozen dataclass whose fields are typer's options.

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Sizes(OptionGroup):
        instances: Annotated[int, typer.Option(help="How many.")] = 1

    def deploy(model: str, *, sizes: Sizes) -> None: ...

typer knows no such thing, so it is shown a signature with the fields in the group's place (`ungrouped`), and what it
finds is made a group again (`grouped`). The field's name is the option's, its default the option's; a field without one
must be given.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterable, Mapping
from typing import Any, get_type_hints


class OptionGroup:
    """Base of such dataclasses."""

    __slots__ = ()


def ungrouped(parameters: Iterable[inspect.Parameter]) -> list[inspect.Parameter]:
    """A command's parameters as typer is to see them: all of a group's fields in its place."""
    return [option for each in parameters for option in (_options(each.annotation) if _is_group(each) else [each])]


def grouped(parameters: Iterable[inspect.Parameter], values: Mapping[str, Any]) -> dict[str, Any]:
    """The command's own arguments from typer's: each group is made of the values of its fields."""
    arguments = dict(values)
    for each in parameters:
        if _is_group(each):
            fields = dataclasses.fields(each.annotation)
            arguments[each.name] = each.annotation(**{field.name: arguments.pop(field.name) for field in fields})
    return arguments


def _is_group(parameter: inspect.Parameter) -> bool:
    return isinstance(parameter.annotation, type) and issubclass(parameter.annotation, OptionGroup)


def _options(group: Any) -> list[inspect.Parameter]:
    annotations = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default,
            annotation=annotations[field.name],
        )
        for field in dataclasses.fields(group)
    ]
