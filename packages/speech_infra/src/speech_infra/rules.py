"""The house rules that every template must keep, over plain templates: what a review would look for first.

Each rule is a function from a template to what breaks it; it is silent where its subject does not occur.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from infra_common.ownership import APPLICATION_KEY, STAGE_KEY

from speech_infra.catalogue import has_gpu

Template = Mapping[str, Any]
_DIGEST: Final = re.compile(r"@sha256:[0-9a-f]{64}$")
_TAGGED: Final = frozenset(
    {
        "AWS::EC2::VPC",
        "AWS::ECR::Repository",
        "AWS::IAM::Role",
        "AWS::KMS::Key",
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


def breaches(template: Template) -> list[Breach]:
    """Everything that breaks a rule."""
    return [
        Breach(rule.name, resource, location, what, rule.fix)
        for rule in RULES
        for resource, location, what in rule.check(template)
    ]


def _isolated(template: Template) -> Iterator[tuple[str, str, str]]:
    for name, properties in _of_type(template, "AWS::SageMaker::Model"):
        if properties.get("EnableNetworkIsolation") is not True:
            yield name, "Properties.EnableNetworkIsolation", "the container could reach a network"


def _by_digest(template: Template) -> Iterator[tuple[str, str, str]]:
    for name, properties in _of_type(template, "AWS::SageMaker::Model"):
        image = properties.get("PrimaryContainer", {}).get("Image", "")
        if not _DIGEST.search(_text(image)):
            yield name, "Properties.PrimaryContainer.Image", f"the image is {_text(image)[-40:] or 'not named'!r}"


def _machine_image(template: Template) -> Iterator[tuple[str, str, str]]:
    for name, properties in _of_type(template, "AWS::SageMaker::EndpointConfig"):
        for variant in properties.get("ProductionVariants", []):
            if has_gpu(str(variant.get("InstanceType"))) and not variant.get("InferenceAmiVersion"):
                yield name, "Properties.ProductionVariants", f"{variant.get('InstanceType')} without a machine image"


def _guarded(template: Template) -> Iterator[tuple[str, str, str]]:
    for name, properties in _of_type(template, "AWS::SageMaker::Endpoint"):
        rollback = properties.get("DeploymentConfig", {}).get("AutoRollbackConfiguration", {})
        if not rollback.get("Alarms"):
            yield name, "Properties.DeploymentConfig", "no alarm would turn a bad update back"


def _bound_trust(template: Template) -> Iterator[tuple[str, str, str]]:
    for name, properties in _of_type(template, "AWS::IAM::Role"):
        for statement in _statements(properties.get("AssumeRolePolicyDocument")):
            by_service = "Service" in _mapping(statement.get("Principal"))
            conditions = statement.get("Condition", {})
            if by_service and not any("aws:SourceAccount" in test for test in conditions.values()):
                yield name, "Properties.AssumeRolePolicyDocument", "a service may take it for any account"


def _bound_federation(template: Template) -> Iterator[tuple[str, str, str]]:
    for name, properties in _of_type(template, "AWS::IAM::Role"):
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
    policies = dict(_of_type(template, "AWS::S3::BucketPolicy"))
    for name, _ in _of_type(template, "AWS::S3::Bucket"):
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


RULES: Final = (
    Rule("network-isolation", "set EnableNetworkIsolation to true", _isolated),
    Rule("image-by-digest", "name the image as repository@sha256:…", _by_digest),
    Rule("machine-image", "set InferenceAmiVersion to the one that fits the image's CUDA", _machine_image),
    Rule("guarded-update", "name alarms in AutoRollbackConfiguration", _guarded),
    Rule("bound-trust", "add aws:SourceAccount to the trust's conditions", _bound_trust),
    Rule("bound-federation", "hold aud and sub to one value each with StringEquals", _bound_federation),
    Rule("tls-only", "deny aws:SecureTransport false in the bucket's policy", _tls_only),
    Rule("ownership-tags", "tag the app with Owner.tags()", _owned),
)


def _of_type(template: Template, kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, resource in template.get("Resources", {}).items():
        if resource.get("Type") == kind:
            yield name, resource.get("Properties", {})


def _statements(document: Any) -> list[Mapping[str, Any]]:
    found = _mapping(document).get("Statement", [])
    return found if isinstance(found, list) else [found]


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str:
    """A value's literal end: of a join, its last part."""
    if isinstance(value, Mapping) and "Fn::Join" in value:
        parts = value["Fn::Join"][1]
        return _text(parts[-1]) if parts else ""
    if isinstance(value, Mapping) and "Fn::Sub" in value:
        return _text(value["Fn::Sub"])
    return value if isinstance(value, str) else json.dumps(value)
