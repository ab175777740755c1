"""Images in ECR: is that content there already, and under which digest; push it if not."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any, Final

from infra_common.container_engine import ContainerEngine, Say
from infra_common.errors import OutcomeError, PreconditionError

_PAGE: Final = 100


@dataclass(frozen=True, slots=True)
class StoredImage:
    """One image of a repository."""

    digest: str
    tags: tuple[str, ...]
    size_bytes: int


class ImageStore:
    """One repository."""

    def __init__(self, ecr: Any, repository: str) -> None:
        self._ecr = ecr
        self.repository = repository

    def find(self, tag: str) -> StoredImage | None:
        """The image with that tag, or None; None too where there is no repository yet."""
        try:
            found = self._ecr.describe_images(repositoryName=self.repository, imageIds=[{"imageTag": tag}])
        except (self._ecr.exceptions.ImageNotFoundException, self._ecr.exceptions.RepositoryNotFoundException):
            return None
        return _stored(found["imageDetails"][0])

    def has_digest(self, digest: str) -> bool:
        """Whether that image is still there."""
        try:
            self._ecr.describe_images(repositoryName=self.repository, imageIds=[{"imageDigest": digest}])
        except (self._ecr.exceptions.ImageNotFoundException, self._ecr.exceptions.RepositoryNotFoundException):
            return False
        return True

    def images(self) -> list[StoredImage]:
        """All of them; none where there is no repository."""
        pages = self._ecr.get_paginator("describe_images").paginate(
            repositoryName=self.repository, PaginationConfig={"PageSize": _PAGE}
        )
        try:
            return [_stored(each) for page in pages for each in page["imageDetails"]]
        except self._ecr.exceptions.RepositoryNotFoundException:
            return []

    def push(self, engine: ContainerEngine, local: str, tag: str, say: Say) -> StoredImage:
        """Push a local image under `tag`. Raises PreconditionError without a repository, ToolFailed, OutcomeError."""
        try:
            described = self._ecr.describe_repositories(repositoryNames=[self.repository])["repositories"][0]
        except self._ecr.exceptions.RepositoryNotFoundException as error:
            raise PreconditionError(f"there is no repository {self.repository} to push to") from error
        told = self._ecr.get_authorization_token()["authorizationData"][0]
        user, _, password = base64.b64decode(told["authorizationToken"]).decode().partition(":")
        address = f"{described['repositoryUri']}:{tag}"
        say("logging in")
        engine.log_in(told["proxyEndpoint"].partition("://")[2], user, password)
        engine.tag(local, address)
        engine.push(address, say)
        found = self.find(tag)
        if found is None:
            raise OutcomeError(f"{address} was pushed, but ECR does not list it", fix="push again")
        return found


def _stored(detail: dict[str, Any]) -> StoredImage:
    return StoredImage(detail["imageDigest"], tuple(detail.get("imageTags", ())), int(detail["imageSizeInBytes"]))
