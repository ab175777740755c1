"""`cleanup`: what a model's deployment has left in the account, found by asking AWS, from any machine.

Everything of ours is under names that follow from stage and model, and carries our tags; log groups, which SageMaker
makes, go by name alone. What carries somebody else's tags, or none, is told and never purged.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from infra_common.console import Console
from infra_common.kept_resources import KeptResources
from infra_common.leftovers import Leftover
from infra_common.prices import HOURS_A_MONTH, KMS_KEY_MONTH_USD
from infra_common.session import AwsSession

from speech_infra.catalogue import MODELS
from speech_infra.endpoint import endpoint_state
from speech_infra.kept_key import owned_keys
from speech_infra.release_history import live_release
from speech_infra.status import instance_price
from speech_infra.target import Target


def leftovers_of(target: Target) -> list[Leftover]:
    """Of one model in one stage, dearest kinds first. Raises what botocore raises."""
    names = target.names
    kept = KeptResources(target, target.owner, target.command("destroy"), target.command("cleanup", "--purge"))
    return [
        *_running(target),
        *kept.stacks(names.stacks, partial(_destroy, target)),
        *kept.bucket(names.weights_bucket, "weights stay for the next deployment"),
        *kept.bucket(names.access_log_bucket, "who read the weights; ages out after 90 days"),
        *kept.repository(names.repository),
        # Another endpoint's group may begin alike.
        *kept.log_groups(names.log_group, names.log_group.__eq__, "SageMaker made it and keeps it for ever"),
        *_keys(target),
    ]


def leftovers_of_stage(stage: str, session: AwsSession, console: Console) -> list[Leftover]:
    """Of every model."""
    return [each for name in MODELS for each in leftovers_of(Target.of(name, stage, session, console))]


def _running(target: Target) -> Iterator[Leftover]:
    names = target.names
    sagemaker = target.client("sagemaker")
    state = endpoint_state(sagemaker, names.endpoint)
    if state is None:
        return
    release = live_release(target.client("ssm"), names.release_parameter)
    instance_type = release.options.instance_type if release else target.model.instance_type
    price = instance_price(target, instance_type).usd_an_hour
    monthly = None if price is None else price * HOURS_A_MONTH * max(state.instances, 1)
    yield Leftover(
        "endpoint",
        names.endpoint,
        f"{state.instances} x {instance_type}",
        monthly,
        "it is still serving",
        target.command("destroy"),
        lambda: sagemaker.delete_endpoint(EndpointName=names.endpoint),
    )


def _destroy(target: Target) -> None:
    from speech_infra.removal import destroy

    destroy(target)


def _keys(target: Target) -> Iterator[Leftover]:
    kms = target.client("kms")
    for arn in owned_keys(kms, target.owner):
        key = arn.rpartition("/")[2]
        yield Leftover(
            "KMS key",
            key,
            "1 key",
            KMS_KEY_MONTH_USD,
            "without it the weights cannot be read",
            target.command("cleanup", "--purge"),
            partial(kms.schedule_key_deletion, KeyId=key, PendingWindowInDays=7),
        )
