"""Is a resource under one of our names ours? What somebody else made is never touched: not adopted, not emptied."""

from __future__ import annotations

from typing import Any

from infra_common.aws_errors import code_of
from infra_common.ownership import tag_map

from speech_infra.errors import NotOurs
from speech_infra.target import Target


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


def is_encrypted_by_key(ecr: Any, repository: str) -> bool | None:
    """Whether a repository's images are encrypted with a KMS key; None where there is no repository."""
    try:
        found = ecr.describe_repositories(repositoryNames=[repository])["repositories"][0]
    except ecr.exceptions.RepositoryNotFoundException:
        return None
    return bool(found.get("encryptionConfiguration", {}).get("encryptionType") == "KMS")


def require_ours(target: Target) -> None:
    """Raises NotOurs where a stack, bucket or repository with our name was made by somebody else."""
    names, owner = target.names, target.owner
    s3, ecr = target.client("s3"), target.client("ecr")
    found = {
        f"bucket {names.weights_bucket}": bucket_tags(s3, names.weights_bucket),
        f"bucket {names.access_log_bucket}": bucket_tags(s3, names.access_log_bucket),
        f"repository {names.repository}": repository_tags(ecr, names.repository),
    }
    for name in names.stacks:
        state = target.stack(name)
        found[f"stack {name}"] = None if state is None else state.tags
    for what, tags in found.items():
        if tags is not None and not owner.owns(tags):
            raise NotOurs(
                f"{what} exists and does not carry the tags of stage {target.stage}: somebody else made it, "
                "so it is neither used nor changed",
                fix="choose another --stage, or tag or remove it yourself if it is yours",
            )
