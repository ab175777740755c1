"""`cleanup`: what a model's deployment has left in the account, found by asking AWS, from any machine.

Everything of ours is under names that follow from stage and model, and carries our tags; log groups, which SageMaker
makes, go by name alone. What carries somebody else's tags, or none, is told and never purged.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from infra_common.bootstrap import STACK as BOOTSTRAP_STACK
from infra_common.bootstrap import assets_bucket
from infra_common.leftovers import Leftover, gigabytes
from infra_common.prices import (
    ECR_GB_MONTH_USD,
    HOURS_A_MONTH,
    KMS_KEY_MONTH_USD,
    LOGS_GB_MONTH_USD,
    S3_GB_MONTH_USD,
)

from speech_infra.endpoint import endpoint_state
from speech_infra.kept_key import owned_keys
from speech_infra.object_versions import delete_bucket, measure_bucket
from speech_infra.ours import bucket_tags, repository_tags
from speech_infra.release_history import live_release
from speech_infra.status import instance_price
from speech_infra.target import Target

_SOMEBODY_ELSES = "somebody else made it: no tags of this stage; it is never touched"
_GB = 1e9


def leftovers_of(target: Target) -> list[Leftover]:
    """Of one model in one stage, dearest kinds first. Raises what botocore raises."""
    return [
        *_running(target),
        *_stacks(target),
        *_bucket(target, target.names.weights_bucket, "weights stay for the next deployment"),
        *_bucket(target, target.names.access_log_bucket, "who read the weights; ages out after 90 days"),
        *_repository(target),
        *_log_groups(target),
        *_keys(target),
    ]


def shared_leftovers(target: Target) -> list[Leftover]:
    """What the CDK itself keeps in the account: reported, never deleted."""
    if target.stack(BOOTSTRAP_STACK) is None:
        return []
    names = target.names
    bucket = assets_bucket(names.account, names.region)
    s3 = target.client("s3")
    measured = measure_bucket(s3, bucket)
    size = gigabytes(measured.size_bytes) if measured else "unknown"
    cost = measured.size_bytes / _GB * S3_GB_MONTH_USD if measured else None
    why = "the CDK's bootstrap, shared by every CDK app in the account"
    return [Leftover("CDK bootstrap", BOOTSTRAP_STACK, size, cost, why, "yours to decide; nothing here deletes it")]


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


def _stacks(target: Target) -> Iterator[Leftover]:
    for name in target.names.stacks:
        state = target.stack(name)
        if state is None:
            continue
        if not target.owner.owns(state.tags):
            yield Leftover("stack", name, state.status, None, _SOMEBODY_ELSES, "–")
            continue
        yield Leftover(
            "stack", name, state.status, 0.0, "not destroyed yet", target.command("destroy"), _must_be_destroyed(target)
        )


def _must_be_destroyed(target: Target) -> Any:
    from speech_infra.removal import destroy

    return lambda: destroy(target)


def _bucket(target: Target, bucket: str, why: str) -> Iterator[Leftover]:
    s3 = target.client("s3")
    tags = bucket_tags(s3, bucket)
    if tags is None:
        return
    measured = measure_bucket(s3, bucket)
    size_bytes = measured.size_bytes if measured else 0
    text = f"{gigabytes(size_bytes)} in {measured.versions if measured else 0} versions"
    cost = size_bytes / _GB * S3_GB_MONTH_USD
    if not target.owner.owns(tags):
        yield Leftover("bucket", bucket, text, cost, _SOMEBODY_ELSES, "–")
        return
    yield Leftover(
        "bucket", bucket, text, cost, why, target.command("cleanup", "--purge"), lambda: delete_bucket(s3, bucket)
    )


def _repository(target: Target) -> Iterator[Leftover]:
    name = target.names.repository
    ecr = target.client("ecr")
    tags = repository_tags(ecr, name)
    if tags is None:
        return
    images = target.images.images()
    size_bytes = sum(image.size_bytes for image in images)
    text = f"{gigabytes(size_bytes)} in {len(images)} images"
    cost = size_bytes / _GB * ECR_GB_MONTH_USD
    if not target.owner.owns(tags):
        yield Leftover("repository", name, text, cost, _SOMEBODY_ELSES, "–")
        return
    yield Leftover(
        "repository",
        name,
        text,
        cost,
        "images stay to be rolled back to",
        target.command("cleanup", "--purge"),
        lambda: ecr.delete_repository(repositoryName=name, force=True),
    )


def _log_groups(target: Target) -> Iterator[Leftover]:
    logs = target.client("logs")
    wanted = target.names.log_group
    for page in logs.get_paginator("describe_log_groups").paginate(logGroupNamePrefix=wanted):
        for group in page["logGroups"]:
            if group["logGroupName"] != wanted:
                continue  # another endpoint's, whose name begins alike
            size_bytes = int(group.get("storedBytes", 0))
            yield Leftover(
                "log group",
                wanted,
                gigabytes(size_bytes),
                size_bytes / _GB * LOGS_GB_MONTH_USD,
                "SageMaker made it and keeps it for ever",
                target.command("cleanup", "--purge"),
                lambda: logs.delete_log_group(logGroupName=wanted),
            )


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
