"""House rules over plain templates: what a review would look for first, whichever stack it is.

Each rule is a function from a template to what breaks it; it is silent where its subject does not occur. A command adds
rules for what it makes to `COMMON_RULES`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from infra_common.ownership import APPLICATION_KEY, STAGE_KEY

Template = Mapping[str, Any]
_DIGEST: Final = re.compile(r"@sha256:[0-9a-f]{64}$")
_TAGGED: Final = frozenset(
    {
        "AWS::BedrockAgentCore::Runtime",
        "AWS::CodeBuild::Project",
        "AWS::EC2::VPC",
        "AWS::ECR::Repository",
        "AWS::IAM::Role",
        "AWS::KMS::Key",
        "AWS::Logs::LogGroup",
        "AWS::S3::Bucket",
        "AWS::SageMaker::Endpoint",
        "AWS::SageMaker::EndpointConfig",
        "AWS::SageMaker::Model",
        "AWS::SSM::Parameter",
    }
)


@dataclass(frozen=True, slots=True)
class Breach:
    """One resource that breaks one rule."""

    rule: str
    resource: str
    location: str
    what: str
    fix: str


@dataclass(frozen=True, slots=True)
class Rule:
    """`check` yields logical id, location and what was found."""

    name: str
    fix: str
    check: Callable[[Template], Iterator[tuple[str, str, str]]]


def breaches(template: Template, rules: Sequence[Rule]) -> list[Breach]:
    """Everything that breaks a rule."""
    return [
        Breach(rule.name, resource, location, what, rule.fix)
        for rule in rules
        for resource, location, what in rule.check(template)
    ]


def _bound_trust(template: Template) -> Iterator[tuple[str, str, str]]:
    for name, properties in of_type(template, "AWS::IAM::Role"):
        for statement in _statements(properties.get("AssumeRolePolicyDocument")):
            by_service = "Service" in _mapping(statement.get("Principal"))
            conditions = statement.get("Condition", {})
            if by_service and not any("aws:SourceAccount" in test for test in conditions.values()):
                yield name, "Properties.AssumeRolePolicyDocument", "a service may take it for any account"


def _bound_federation(template: Template) -> Iterator[tuple[str, str, str]]:
    for name, properties in of_type(template, "AWS::IAM::Role"):
        for statement in _statements(properties.get("AssumeRolePolicyDocument")):
            if "Federated" not in _mapping(statement.get("Principal")):
                continue
            exact = _mapping(statement.get("Condition", {}).get("StringEquals"))
            claims = {key.rpartition(":")[2]: value for key, value in exact.items()}
            loose = [claim for claim in ("aud", "sub") if not isinstance(claims.get(claim), str)]
            if loose or "*" in f"{claims['aud']}{claims['sub']}":
                what = f"tokens are not held to one {' and one '.join(loose or ['sub'])}"
                yield name, "Properties.AssumeRolePolicyDocument", what


def _tls_only(template: Template) -> Iterator[tuple[str, str, str]]:
    policies = dict(of_type(template, "AWS::S3::BucketPolicy"))
    for name, _ in of_type(template, "AWS::S3::Bucket"):
        guarding = [each for each in policies.values() if each.get("Bucket") == {"Ref": name}]
        denies = [
            statement
            for each in guarding
            for statement in _statements(each.get("PolicyDocument"))
            if statement.get("Effect") == "Deny"
            and statement.get("Condition", {}).get("Bool", {}).get("aws:SecureTransport") == "false"
        ]
        if not denies:
            yield name, "Properties", "requests without TLS are not refused"


def _owned(template: Template) -> Iterator[tuple[str, str, str]]:
    for name, resource in template.get("Resources", {}).items():
        if resource.get("Type") not in _TAGGED:
            continue
        tags = resource.get("Properties", {}).get("Tags", [])
        keys = set(tags) if isinstance(tags, Mapping) else {tag.get("Key") for tag in tags}
        missing = {APPLICATION_KEY, STAGE_KEY} - keys
        if missing:
            yield name, "Properties.Tags", f"without {', '.join(sorted(missing))} nobody knows whose it is"


COMMON_RULES: Final = (
    Rule("bound-trust", "add aws:SourceAccount to the trust's conditions", _bound_trust),
    Rule("bound-federation", "hold aud and sub to one value each with StringEquals", _bound_federation),
    Rule("tls-only", "deny aws:SecureTransport false in the bucket's policy", _tls_only),
    Rule("ownership-tags", "tag the app with Owner.tags()", _owned),
)


def is_by_digest(image: Any) -> bool:
    """Whether a template's image, text or join, ends in a digest."""
    return bool(_DIGEST.search(literal_end(image)))


def of_type(template: Template, kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Logical id and properties of every resource of a type."""
    for name, resource in template.get("Resources", {}).items():
        if resource.get("Type") == kind:
            yield name, resource.get("Properties", {})


def _statements(document: Any) -> list[Mapping[str, Any]]:
    found = _mapping(document).get("Statement", [])
    return found if isinstance(found, list) else [found]


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def literal_end(value: Any) -> str:
    """A value's literal end: of a join, its last part."""
    if isinstance(value, Mapping) and "Fn::Join" in value:
        parts = value["Fn::Join"][1]
        return literal_end(parts[-1]) if parts else ""
    if isinstance(value, Mapping) and "Fn::Sub" in value:
        return literal_end(value["Fn::Sub"])
    return value if isinstance(value, str) else json.dumps(value)
