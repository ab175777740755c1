"""A repository of images. Left behind it costs about 0.10 USD a GB and month.

Kept when its stack goes, by name, so that the next deployment adopts it. Tags are content hashes and immutable: a tag
says what was built, a digest what runs.
"""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_kms as kms
from constructs import Construct

_IMAGES_KEPT = 5
_UNTAGGED_DAYS = 7


def image_repository(scope: Construct, name: str, key: kms.IKey | None = None) -> ecr.Repository:
    """The repository; `key` encrypts it where it is given."""
    return ecr.Repository(
        scope,
        "Images",
        repository_name=name,
        image_scan_on_push=True,
        image_tag_mutability=ecr.TagMutability.IMMUTABLE,
        encryption=ecr.RepositoryEncryption.KMS if key else ecr.RepositoryEncryption.AES_256,
        encryption_key=key,
        removal_policy=cdk.RemovalPolicy.RETAIN,
        lifecycle_rules=[
            ecr.LifecycleRule(
                description="builds that lost their tag",
                tag_status=ecr.TagStatus.UNTAGGED,
                max_image_age=cdk.Duration.days(_UNTAGGED_DAYS),
            ),
            ecr.LifecycleRule(description="enough to roll back to", max_image_count=_IMAGES_KEPT),
        ],
    )
