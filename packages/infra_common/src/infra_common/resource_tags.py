"""Is a resource under one of our names ours? What somebody else made is never touched: not adopted, not emptied."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from infra_common.aws_errors import code_of
from infra_common.errors import NotOurs
from infra_common.ownership import Owner, tag_map


def bucket_tags(s3: Any, bucket: str) -> dict[str, str] | None:
    """A bucket's tags; None where there is no such bucket, or it belongs to another account."""
    try:
        return tag_map(s3.get_bucket_tagging(Bucket=bucket)["TagSet"])
    except s3.exceptions.ClientError as error:
        if code_of(error) in {"NoSuchBucket", "404", "AccessDenied"}:
            return None
        if code_of(error) == "NoSuchTagSet":
            return {}
        raise


def repository_tags(ecr: Any, repository: str) -> dict[str, str] | None:
    """A repository's tags; None where there is none."""
    try:
        found = ecr.describe_repositories(repositoryNames=[repository])["repositories"][0]
    except ecr.exceptions.RepositoryNotFoundException:
        return None
    return tag_map(ecr.list_tags_for_resource(resourceArn=found["repositoryArn"])["tags"])


def require_ours(found: Mapping[str, Mapping[str, str] | None], owner: Owner) -> None:
    """`found`: resources with their tags, None for what is not there. Raises NotOurs where one is somebody else's."""
    for what, tags in found.items():
        if tags is not None and not owner.owns(tags):
            raise NotOurs(
                f"{what} exists and does not carry the tags of stage {owner.stage}: somebody else made it, "
                "so it is neither used nor changed",
                fix="choose another --stage, or tag or remove it yourself if it is yours",
            )
