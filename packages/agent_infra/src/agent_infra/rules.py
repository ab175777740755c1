"""The rules of an agent's templates, beside those that every template must keep."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from infra_common.rules import COMMON_RULES, Rule, Template, is_by_digest, literal_end, of_type

_RUNTIME: Final = "AWS::BedrockAgentCore::Runtime"
_ENDPOINT: Final = "AWS::BedrockAgentCore::RuntimeEndpoint"


def _by_digest(template: Template) -> Iterator[tuple[str, str, str]]:
    for name, properties in of_type(template, _RUNTIME):
        image = properties.get("AgentRuntimeArtifact", {}).get("ContainerConfiguration", {}).get("ContainerUri", "")
        if not is_by_digest(image):
            yield name, "Properties.AgentRuntimeArtifact", f"the image is {literal_end(image)[-40:] or 'not named'!r}"


def _pinned(template: Template) -> Iterator[tuple[str, str, str]]:
    for name, properties in of_type(template, _ENDPOINT):
        if not properties.get("AgentRuntimeVersion"):
            yield name, "Properties.AgentRuntimeVersion", "the endpoint names no version, so nobody knows what it runs"


def _exact_models(template: Template) -> Iterator[tuple[str, str, str]]:
    for name, properties in of_type(template, "AWS::IAM::Policy"):
        for statement in properties.get("PolicyDocument", {}).get("Statement", []):
            actions = [action for action in _listed(statement.get("Action")) if str(action).startswith("bedrock:")]
            loose = [each for each in _listed(statement.get("Resource")) if literal_end(each).endswith("*")]
            if actions and loose:
                yield name, "Properties.PolicyDocument", f"{actions[0]} on {literal_end(loose[0])!r}"


RULES: Final = (
    Rule("image-by-digest", "name the image as repository@sha256:…", _by_digest),
    Rule("endpoint-by-version", "set AgentRuntimeVersion to the runtime's own", _pinned),
    Rule("exact-models", "name each model's ARN, and the profile's", _exact_models),
    *COMMON_RULES,
)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
