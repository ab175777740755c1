"""A versioned bucket as what it costs: every version of every object counts, and all must go before the bucket does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from infra_common.aws_errors import code_of
from infra_common.errors import OutcomeError


@dataclass(frozen=True, slots=True)
class Measured:
    """Objects with all their versions; deletion markers weigh nothing."""

    versions: int
    size_bytes: int


def measure_bucket(s3: Any, bucket: str) -> Measured | None:
    """None where there is no such bucket, or it is not ours to list."""
    versions = size_bytes = 0
    try:
        for page in _pages(s3, bucket):
            found = page.get("Versions", [])
            versions += len(found)
            size_bytes += sum(each["Size"] for each in found)
    except s3.exceptions.ClientError as error:
        if code_of(error) in {"NoSuchBucket", "AccessDenied"}:
            return None
        raise
    return Measured(versions, size_bytes)


def delete_bucket(s3: Any, bucket: str) -> None:
    """Every version, every deletion marker, then the bucket. Raises OutcomeError for what would not go."""
    for page in _pages(s3, bucket):
        objects = [
            {"Key": each["Key"], "VersionId": each["VersionId"]}
            for each in (*page.get("Versions", []), *page.get("DeleteMarkers", []))
        ]
        if objects:
            answer = s3.delete_objects(Bucket=bucket, Delete={"Objects": objects, "Quiet": True})
            errors = answer.get("Errors", [])
            if errors:
                raise OutcomeError(f"bucket {bucket}: {errors[0]['Key']} could not be deleted: {errors[0]['Message']}")
    s3.delete_bucket(Bucket=bucket)


def _pages(s3: Any, bucket: str) -> Iterator[dict[str, Any]]:
    pages: Iterator[dict[str, Any]] = s3.get_paginator("list_object_versions").paginate(Bucket=bucket)
    return pages
