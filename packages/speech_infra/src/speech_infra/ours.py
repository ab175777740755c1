"""Which resources of an endpoint have to be ours before anything is done with their names."""

from __future__ import annotations

from typing import Any

from infra_common.resource_tags import bucket_tags, repository_tags
from infra_common.resource_tags import require_ours as require

from speech_infra.target import Target


def is_encrypted_by_key(ecr: Any, repository: str) -> bool | None:
    """Whether a repository's images are encrypted with a KMS key; None where there is no repository."""
    try:
        found = ecr.describe_repositories(repositoryNames=[repository])["repositories"][0]
    except ecr.exceptions.RepositoryNotFoundException:
        return None
    return bool(found.get("encryptionConfiguration", {}).get("encryptionType") == "KMS")


def require_ours(target: Target) -> None:
    """Raises NotOurs where a stack, bucket or repository with our name was made by somebody else."""
    names = target.names
    s3, ecr = target.client("s3"), target.client("ecr")
    stacks = {f"stack {name}": target.stack(name) for name in names.stacks}
    require(
        {
            f"bucket {names.weights_bucket}": bucket_tags(s3, names.weights_bucket),
            f"bucket {names.access_log_bucket}": bucket_tags(s3, names.access_log_bucket),
            f"repository {names.repository}": repository_tags(ecr, names.repository),
        }
        | {what: None if state is None else state.tags for what, state in stacks.items()},
        target.owner,
    )
