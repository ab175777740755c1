"""The rules of a speech endpoint's templates, beside those that every template must keep."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from infra_common.rules import COMMON_RULES, Rule, Template, is_by_digest, literal_end, of_type

from speech_infra.catalogue import has_gpu


def _isolated(template: Template) -> Iterator[tuple[str, str, str]]:
    for name, properties in of_type(template, "AWS::SageMaker::Model"):
        if properties.get("EnableNetworkIsolation") is not True:
            yield name, "Properties.EnableNetworkIsolation", "the container could reach a network"


def _by_digest(template: Template) -> Iterator[tuple[str, str, str]]:
    for name, properties in of_type(template, "AWS::SageMaker::Model"):
        image = properties.get("PrimaryContainer", {}).get("Image", "")
        if not is_by_digest(image):
            yield name, "Properties.PrimaryContainer.Image", f"the image is {literal_end(image)[-40:] or 'not named'!r}"


def _machine_image(template: Template) -> Iterator[tuple[str, str, str]]:
    for name, properties in of_type(template, "AWS::SageMaker::EndpointConfig"):
        for variant in properties.get("ProductionVariants", []):
            if has_gpu(str(variant.get("InstanceType"))) and not variant.get("InferenceAmiVersion"):
                yield name, "Properties.ProductionVariants", f"{variant.get('InstanceType')} without a machine image"


def _guarded(template: Template) -> Iterator[tuple[str, str, str]]:
    for name, properties in of_type(template, "AWS::SageMaker::Endpoint"):
        rollback = properties.get("DeploymentConfig", {}).get("AutoRollbackConfiguration", {})
        if not rollback.get("Alarms"):
            yield name, "Properties.DeploymentConfig", "no alarm would turn a bad update back"


RULES: Final = (
    Rule("network-isolation", "set EnableNetworkIsolation to true", _isolated),
    Rule("image-by-digest", "name the image as repository@sha256:…", _by_digest),
    Rule("machine-image", "set InferenceAmiVersion to the one that fits the image's CUDA", _machine_image),
    Rule("guarded-update", "name alarms in AutoRollbackConfiguration", _guarded),
    *COMMON_RULES,
)
