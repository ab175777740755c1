"""Everything that can be known before anything is made: can this deployment work, and if not, which command helps."""

from __future__ import annotations

from typing import Final

from infra_common.checks import Check, Finding, failed, ok
from infra_common.container_engine import ContainerEngine
from infra_common.preflight import account_checks, disk_check, engine_checks, package_check, tool_checks

from speech_infra.catalogue import GPU_MACHINE_IMAGE, has_gpu
from speech_infra.endpoint import endpoint_state
from speech_infra.images import PLATFORM, ImageRecipe
from speech_infra.options import EndpointOptions
from speech_infra.ours import is_encrypted_by_key, require_ours
from speech_infra.quotas import endpoint_quota, request_command
from speech_infra.target import Target

PACKAGES: Final = {"aws-cdk-lib": "2.275.0", "boto3": "1.42", "aws-sdk-sagemaker-runtime-http2": "0.12.0"}
_CUDA_OF: Final = {GPU_MACHINE_IMAGE: "13.0"}
_IMAGE_BYTES: Final = {"gpu": 16_000_000_000, "cpu": 4_000_000_000}
"""A build's layers and its context, about twice the image."""


def checks(
    target: Target, options: EndpointOptions, recipe: ImageRecipe | None, engine: ContainerEngine
) -> list[Check]:
    """In the order in which a person would look. `recipe` None: an image that is there is used."""

    def image_is_there() -> bool:
        return recipe is None or target.images.find(recipe.content_tag()) is not None

    def quota() -> Finding:
        return _quota(target, options)

    def names() -> Finding:
        require_ours(target)
        return ok(f"stage {target.stage}: nothing of somebody else's is in the way")

    def encryption() -> Finding:
        return _encryption(target, options)

    def driver() -> Finding:
        return _driver(target, options)

    return [
        *account_checks(target.session, "sagemaker", "SageMaker"),
        Check("quota", quota, needs=("identity", "region")),
        Check("names", names, needs=("identity", "region")),
        Check("encryption", encryption, needs=("names",)),
        Check("driver", driver),
        *engine_checks(engine, PLATFORM, image_is_there),
        *tool_checks(target.root),
        package_check(PACKAGES),
        disk_check(target.root, _IMAGE_BYTES[target.model.image_target], "an image build"),
    ]


def _quota(target: Target, options: EndpointOptions) -> Finding:
    live = endpoint_state(target.client("sagemaker"), target.names.endpoint)
    # An update runs beside what serves; a creation does not.
    wanted = options.instances if live is None else options.peak_instances
    later = options.peak_instances
    found = endpoint_quota(target.session.client("service-quotas"), options.instance_type)
    if found is None:
        return failed(
            f"SageMaker has no quota for {options.instance_type} endpoints in {target.session.region}: "
            "the type is not offered there",
            "choose another --instance-type or --region",
        )
    have = int(found.value)
    if have < wanted or have < later:
        reason = (
            f"{options.instance_type}: the account may have {have}, and {later} are needed "
            f"({options.instances} to serve"
            + (
                f", {later - options.instances} more while a {options.strategy} update goes on)"
                if later > options.instances
                else ")"
            )
        )
        return failed(reason, request_command(found, later, target.session.region))
    return ok(f"{options.instance_type}: {have} allowed, {later} needed at most while an update goes on")


def _encryption(target: Target, options: EndpointOptions) -> Finding:
    present = is_encrypted_by_key(target.client("ecr"), target.names.repository)
    wanted = options.kms_key is not None
    if present is None or present == wanted:
        return ok("with a KMS key" if wanted else "with the services' own keys")
    return failed(
        f"repository {target.names.repository} is encrypted {'with' if present else 'without'} a KMS key, "
        "and ECR never changes that",
        f"deploy {'with' if present else 'without'} --kms-key, or with another --stage, or first "
        f"{target.command('destroy')} and {target.command('cleanup', '--purge')}",
    )


def _driver(target: Target, options: EndpointOptions) -> Finding:
    model = target.model
    if not has_gpu(options.instance_type):
        return ok(f"{options.instance_type} has no GPU, the {model.image_target} image needs none")
    image = str(model.gpu_machine_image)
    if _CUDA_OF.get(image) != model.cuda:
        return failed(
            f"machine image {image} has CUDA {_CUDA_OF.get(image, 'of unknown version')}, the container {model.cuda}",
            "change both together in catalogue.py; a mismatch hangs in Creating without a log",
        )
    return ok(f"{image} and CUDA {model.cuda} belong together")
