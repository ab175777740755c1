"""Leftovers of the kinds that every deployment has, found by asking AWS: stacks, buckets, repositories, log groups.

What carries somebody else's tags, or none, is told and never purged. Log groups that a service makes carry none: there
the name alone says whose they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from infra_common.bootstrap import STACK as BOOTSTRAP_STACK
from infra_common.bootstrap import assets_bucket
from infra_common.deployment_target import DeploymentTarget
from infra_common.image_store import ImageStore
from infra_common.leftovers import Leftover, gigabytes
from infra_common.object_versions import delete_bucket, measure_bucket
from infra_common.ownership import Owner
from infra_common.prices import ECR_GB_MONTH_USD, LOGS_GB_MONTH_USD, S3_GB_MONTH_USD
from infra_common.resource_tags import bucket_tags, repository_tags

_SOMEBODY_ELSES: Final = "somebody else made it: no tags of this stage; it is never touched"
_GB: Final = 1e9


@dataclass(frozen=True, slots=True)
class KeptResources:
    """Of one owner; `destroy` and `purge` are the commands that a person types."""

    target: DeploymentTarget
    owner: Owner
    destroy: str
    purge: str

    def stacks(self, names: Iterable[str], remove: Callable[[], Any]) -> Iterator[Leftover]:
        """Those that are there; `remove` takes all of them down."""
        for name in names:
            state = self.target.stack(name)
            if state is None:
                continue
            if self.owner.owns(state.tags):
                yield Leftover("stack", name, state.status, 0.0, "not destroyed yet", self.destroy, remove)
            else:
                yield Leftover("stack", name, state.status, None, _SOMEBODY_ELSES, "–")

    def bucket(self, name: str, why: str) -> Iterator[Leftover]:
        """It, with every version of its objects."""
        s3 = self.target.client("s3")
        tags = bucket_tags(s3, name)
        if tags is None:
            return
        measured = measure_bucket(s3, name)
        size_bytes = measured.size_bytes if measured else 0
        size = f"{gigabytes(size_bytes)} in {measured.versions if measured else 0} versions"
        cost = size_bytes / _GB * S3_GB_MONTH_USD
        if self.owner.owns(tags):
            yield Leftover("bucket", name, size, cost, why, self.purge, lambda: delete_bucket(s3, name))
        else:
            yield Leftover("bucket", name, size, cost, _SOMEBODY_ELSES, "–")

    def repository(self, name: str) -> Iterator[Leftover]:
        """It, with its images."""
        ecr = self.target.client("ecr")
        tags = repository_tags(ecr, name)
        if tags is None:
            return
        images = ImageStore(ecr, name).images()
        size_bytes = sum(image.size_bytes for image in images)
        size = f"{gigabytes(size_bytes)} in {len(images)} images"
        cost = size_bytes / _GB * ECR_GB_MONTH_USD
        if self.owner.owns(tags):
            delete = partial(ecr.delete_repository, repositoryName=name, force=True)
            yield Leftover("repository", name, size, cost, "images stay to be rolled back to", self.purge, delete)
        else:
            yield Leftover("repository", name, size, cost, _SOMEBODY_ELSES, "–")

    def log_groups(self, prefix: str, is_ours: Callable[[str], bool], why: str) -> Iterator[Leftover]:
        """Those whose name begins with `prefix` and is ours."""
        logs = self.target.client("logs")
        for page in logs.get_paginator("describe_log_groups").paginate(logGroupNamePrefix=prefix):
            for group in page["logGroups"]:
                name, size_bytes = group["logGroupName"], int(group.get("storedBytes", 0))
                if is_ours(name):
                    cost = size_bytes / _GB * LOGS_GB_MONTH_USD
                    delete = partial(logs.delete_log_group, logGroupName=name)
                    yield Leftover("log group", name, gigabytes(size_bytes), cost, why, self.purge, delete)


def shared_leftovers(target: DeploymentTarget) -> list[Leftover]:
    """What the CDK itself keeps in the account: reported, never deleted."""
    if target.stack(BOOTSTRAP_STACK) is None:
        return []
    measured = measure_bucket(target.client("s3"), assets_bucket(target.session.account, target.session.region))
    size = gigabytes(measured.size_bytes) if measured else "unknown"
    cost = measured.size_bytes / _GB * S3_GB_MONTH_USD if measured else None
    why = "the CDK's bootstrap, shared by every CDK app in the account"
    return [Leftover("CDK bootstrap", BOOTSTRAP_STACK, size, cost, why, "yours to decide; nothing here deletes it")]
