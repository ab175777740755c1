"""CloudFormation's functions over a template's values: pure, given what names and attributes stand for."""

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from .errors import validation

_NO_VALUE: Final = object()
_SUBSTITUTION: Final = re.compile(r"\$\{([^}]+)\}")


@dataclass(frozen=True, slots=True)
class Scope:
    """What a template's names stand for."""

    reference: Callable[[str], Any]
    attribute: Callable[[str, str], Any]
    imported: Callable[[str], str]
    mappings: Mapping[str, Any]
    conditions: Mapping[str, Any]
    zones: tuple[str, ...] = ("a", "b", "c")

    def holds(self, name: str) -> bool:
        """Whether a condition of the template is true."""
        if name not in self.conditions:
            raise validation(f"Template error: unresolved condition dependency {name} in the Resources block")
        return bool(evaluate(self.conditions[name], self))


def evaluate(value: Any, scope: Scope) -> Any:
    """`value` with every function carried out; properties that are `AWS::NoValue` are left out."""
    result = _evaluate(value, scope)
    return None if result is _NO_VALUE else result


def references(value: Any) -> Iterator[str]:
    """Every logical id or parameter that a value names."""
    if isinstance(value, list):
        for item in value:
            yield from references(item)
    elif isinstance(value, dict):
        if set(value) == {"Ref"}:
            yield value["Ref"]
        elif set(value) == {"Fn::GetAtt"}:
            yield _split_attribute(value["Fn::GetAtt"])[0]
        elif set(value) == {"Fn::Sub"}:
            text, given = _sub_parts(value["Fn::Sub"])
            yield from references(list(given.values()))
            for name in _SUBSTITUTION.findall(text):
                if name not in given and not name.startswith("!"):
                    yield name.partition(".")[0]
        else:
            for item in value.values():
                yield from references(item)


def _evaluate(value: Any, scope: Scope) -> Any:
    if isinstance(value, list):
        return [item for item in (_evaluate(item, scope) for item in value) if item is not _NO_VALUE]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        (name, argument), *_ = value.items()
        if name in _FUNCTIONS:
            return _FUNCTIONS[name](argument, scope)
    pairs = ((key, _evaluate(item, scope)) for key, item in value.items())
    return {key: item for key, item in pairs if item is not _NO_VALUE}


def _ref(name: str, scope: Scope) -> Any:
    return _NO_VALUE if name == "AWS::NoValue" else scope.reference(name)


def _get_att(argument: Any, scope: Scope) -> Any:
    return scope.attribute(*_split_attribute(argument))


def _join(argument: Any, scope: Scope) -> str:
    separator, parts = argument
    return str(separator).join(str(part) for part in _evaluate(parts, scope))


def _split(argument: Any, scope: Scope) -> list[str]:
    separator, text = argument
    return str(_evaluate(text, scope)).split(separator)


def _select(argument: Any, scope: Scope) -> Any:
    index, items = argument
    return _evaluate(items, scope)[int(_evaluate(index, scope))]


def _sub(argument: Any, scope: Scope) -> str:
    text, given = _sub_parts(argument)
    values = {name: _evaluate(item, scope) for name, item in given.items()}

    def replace(match: re.Match[str]) -> str:
        name = match[1]
        if name.startswith("!"):
            return f"${{{name[1:]}}}"
        if name in values:
            return str(values[name])
        logical_id, _, attribute = name.partition(".")
        return str(scope.attribute(logical_id, attribute) if attribute else scope.reference(logical_id))

    return _SUBSTITUTION.sub(replace, text)


def _if(argument: Any, scope: Scope) -> Any:
    name, then, otherwise = argument
    return _evaluate(then if scope.holds(name) else otherwise, scope)


def _find_in_map(argument: Any, scope: Scope) -> Any:
    name, first, second = (_evaluate(part, scope) for part in argument)
    return scope.mappings[name][first][second]


def _zones(argument: Any, scope: Scope) -> list[str]:
    region = _evaluate(argument, scope) or scope.reference("AWS::Region")
    return [f"{region}{zone}" for zone in scope.zones]


def _condition(argument: Any, scope: Scope) -> bool:
    return scope.holds(argument) if isinstance(argument, str) else bool(_evaluate(argument, scope))


_FUNCTIONS: Final[Mapping[str, Callable[[Any, Scope], Any]]] = {
    "Ref": _ref,
    "Fn::GetAtt": _get_att,
    "Fn::Join": _join,
    "Fn::Split": _split,
    "Fn::Select": _select,
    "Fn::Sub": _sub,
    "Fn::If": _if,
    "Fn::FindInMap": _find_in_map,
    "Fn::GetAZs": _zones,
    "Fn::ImportValue": lambda argument, scope: scope.imported(_evaluate(argument, scope)),
    "Fn::Base64": lambda argument, scope: base64.b64encode(str(_evaluate(argument, scope)).encode()).decode(),
    "Fn::ToJsonString": lambda argument, scope: json.dumps(_evaluate(argument, scope)),
    "Fn::Equals": lambda argument, scope: len({str(_evaluate(item, scope)) for item in argument}) == 1,
    "Fn::Not": lambda argument, scope: not _condition(argument[0], scope),
    "Fn::And": lambda argument, scope: all(_condition(item, scope) for item in argument),
    "Fn::Or": lambda argument, scope: any(_condition(item, scope) for item in argument),
    "Condition": lambda argument, scope: (
        scope.holds(argument) if isinstance(argument, str) else {"Condition": _evaluate(argument, scope)}
    ),
}


def _split_attribute(argument: Any) -> tuple[str, str]:
    if isinstance(argument, str):
        logical_id, _, attribute = argument.partition(".")
        return logical_id, attribute
    return argument[0], argument[1]


def _sub_parts(argument: Any) -> tuple[str, dict[str, Any]]:
    return (argument, {}) if isinstance(argument, str) else (argument[0], argument[1])
