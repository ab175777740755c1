"""A CloudFormation template as the stack engine needs it: parameters with values, resources in order, outputs."""

import graphlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

import yaml

from .errors import validation
from .intrinsics import references

RETAINED = frozenset({"Retain", "RetainExceptOnCreate"})


@dataclass(frozen=True, slots=True)
class Template:
    """`body` is what was sent, `document` what it means."""

    body: str
    document: Mapping[str, Any]

    @classmethod
    def parse(cls, body: str) -> "Template":
        """Read JSON or YAML with long-form functions (the CDK CLI's bootstrap template is YAML)."""
        try:
            document = json.loads(body)
        except ValueError:
            document = yaml.load(body, Loader=_long_forms())
        if not isinstance(document, dict) or not document.get("Resources"):
            raise validation("Template format error: At least one Resources member must be defined.")
        return cls(body, document)

    @property
    def resources(self) -> Mapping[str, Any]:
        """Logical id to resource."""
        found: Mapping[str, Any] = self.document["Resources"]
        return found

    def section(self, name: str) -> Mapping[str, Any]:
        """Outputs, Conditions, Mappings or Parameters; empty where there are none."""
        found: Mapping[str, Any] = self.document.get(name) or {}
        return found

    def in_order(self) -> list[str]:
        """Logical ids, each after what it depends on."""
        graph: dict[str, set[str]] = {}
        for logical_id, resource in self.resources.items():
            explicit = resource.get("DependsOn", [])
            named = {explicit} if isinstance(explicit, str) else set(explicit)
            named |= set(references(resource.get("Properties", {})))
            missing = {name for name in named if name not in self.resources and not self._is_parameter(name)}
            if missing:
                raise validation(
                    f"Template format error: Unresolved resource dependencies [{', '.join(sorted(missing))}] "
                    "in the Resources block of the template"
                )
            graph[logical_id] = named & self.resources.keys()
        try:
            return list(graphlib.TopologicalSorter(graph).static_order())
        except graphlib.CycleError as error:
            raise validation(f"Circular dependency between resources: {error.args[1]}") from error

    def parameter_values(
        self, given: Mapping[str, str], previous: Mapping[str, str], stored: Callable[[str], str]
    ) -> dict[str, Any]:
        """Each parameter's value: given, previous or default; `stored` reads those that live in SSM."""
        values: dict[str, Any] = {}
        for name, parameter in self.section("Parameters").items():
            value = given.get(name, previous.get(name, parameter.get("Default")))
            if value is None:
                raise validation(f"Parameters: [{name}] must have values")
            kind = parameter.get("Type", "String")
            if kind.startswith("AWS::SSM::Parameter::Value"):
                value = stored(str(value))
            elif kind == "CommaDelimitedList" or kind.startswith("List<"):
                value = [part.strip() for part in str(value).split(",")] if value else []
            values[name] = value
        return values

    def _is_parameter(self, name: str) -> bool:
        return name.startswith("AWS::") or name in self.section("Parameters")


def template_place(url: str) -> tuple[str, str]:
    """Bucket and key of a TemplateURL, in either of S3's forms."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    path = unquote(parts.path).lstrip("/")
    if host.startswith("s3.") or host[0].isdigit():
        bucket, _, key = path.partition("/")
        return bucket, key
    return host.partition(".s3.")[0], path


def _long_forms() -> type[yaml.SafeLoader]:
    class Loader(yaml.SafeLoader):  # type: ignore[misc]  # yaml ships no types
        pass

    def long_form(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> dict[str, Any]:
        match node:
            case yaml.ScalarNode():
                value: Any = loader.construct_scalar(node)
            case yaml.SequenceNode():
                value = loader.construct_sequence(node, deep=True)
            case yaml.MappingNode():
                value = loader.construct_mapping(node, deep=True)
            case _:
                raise validation(f"Template format error: unknown node {node}")
        if suffix == "GetAtt" and isinstance(value, str):
            value = value.split(".", 1)
        return {suffix if suffix in {"Ref", "Condition"} else f"Fn::{suffix}": value}

    Loader.add_multi_constructor("!", long_form)
    Loader.yaml_implicit_resolvers = {  # 2012-10-17 is the version of a policy, not a day
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    return Loader
