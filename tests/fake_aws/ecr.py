"""ECR over a real registry: repositories are moto's, images are what docker has pushed."""

import base64
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from .errors import AwsRefusal
from .registry import Image, Registry
from .wire import Answer, Call, json_answer


class Ecr:
    """`elsewhere` answers what this face does not."""

    def __init__(self, account_id: str, registry: Registry, elsewhere: Callable[[Call], dict[str, Any]]) -> None:
        self._account_id = account_id
        self._registry = registry
        self._elsewhere = elsewhere

    def answer(self, call: Call, asked: dict[str, Any]) -> Answer | None:
        """Carry out one API call; None where moto's answer will do."""
        match call.action:
            case "GetAuthorizationToken":
                return json_answer(self._token())
            case "DescribeRepositories" | "CreateRepository":
                return json_answer(self._with_our_address(self._elsewhere(call)))
            case "DescribeImages":
                self._require_repository(call, asked)
                return json_answer({"imageDetails": [self._detail(asked, each) for each in self._chosen(asked)]})
            case "ListImages":
                self._require_repository(call, asked)
                images = self._registry.images(asked["repositoryName"])
                return json_answer({"imageIds": [_image_id(each, tag) for each in images for tag in each.tags]})
            case "BatchGetImage":
                self._require_repository(call, asked)
                return json_answer(self._manifests(asked))
            case "BatchDeleteImage":
                return json_answer(self._delete(asked))
            case "DeleteRepository":
                return self._delete_repository(call, asked)
            case _:
                return None

    def image_exists(self, uri: str) -> bool:
        """Whether an image URI of any host names something here."""
        path = uri.partition("/")[2]
        repository, at, digest = path.partition("@")
        if not at:
            repository, _, digest = path.rpartition(":")
        return self._registry.image(repository, digest) is not None

    def architecture(self, uri: str) -> str:
        """Of the image that a URI of any host names, and which is here."""
        repository, _, digest = uri.partition("/")[2].partition("@")
        return self._registry.architecture(repository, digest)

    def _token(self) -> dict[str, Any]:
        token = base64.b64encode(b"AWS:loopback").decode()
        expires = datetime.now(UTC) + timedelta(hours=12)
        entry = {"authorizationToken": token, "expiresAt": expires, "proxyEndpoint": f"http://{self._registry.host}"}
        return {"authorizationData": [entry]}

    def _with_our_address(self, answer: dict[str, Any]) -> dict[str, Any]:
        for each in [*answer.get("repositories", []), *([answer["repository"]] if "repository" in answer else [])]:
            each["repositoryUri"] = f"{self._registry.host}/{each['repositoryName']}"
        return answer

    def _require_repository(self, call: Call, asked: dict[str, Any]) -> None:
        name = asked["repositoryName"]
        repositories = self._elsewhere(_instead(call, "DescribeRepositories", {}))["repositories"]
        if name not in {each["repositoryName"] for each in repositories}:
            raise AwsRefusal(
                "RepositoryNotFoundException",
                f"The repository with name '{name}' does not exist in the registry with id '{self._account_id}'",
            )

    def _chosen(self, asked: dict[str, Any]) -> list[Image]:
        images = self._registry.images(asked["repositoryName"])
        wanted = asked.get("imageIds")
        if not wanted:
            return images
        chosen = []
        for each in wanted:
            found = [i for i in images if each.get("imageDigest") == i.digest or each.get("imageTag") in i.tags]
            if not found:
                raise AwsRefusal(
                    "ImageNotFoundException", f"The image with imageId {each} does not exist within the repository"
                )
            chosen += found
        return chosen

    def _detail(self, asked: dict[str, Any], image: Image) -> dict[str, Any]:
        return {
            "registryId": self._account_id,
            "repositoryName": asked["repositoryName"],
            "imageDigest": image.digest,
            "imageTags": list(image.tags),
            "imageSizeInBytes": image.size_bytes,
            "imageManifestMediaType": image.media_type,
            "imagePushedAt": datetime.now(UTC),
        }

    def _manifests(self, asked: dict[str, Any]) -> dict[str, Any]:
        images, failures = [], []
        for each in asked["imageIds"]:
            reference = each.get("imageDigest") or each.get("imageTag")
            found = self._registry.image(asked["repositoryName"], reference)
            if found is None:
                failures.append({"imageId": each, "failureCode": "ImageNotFound", "failureReason": "not found"})
            else:
                images.append({"imageId": {"imageDigest": found.digest}, "imageManifest": found.manifest})
        return {"images": images, "failures": failures}

    def _delete(self, asked: dict[str, Any]) -> dict[str, Any]:
        deleted = []
        for image in self._chosen(asked):
            self._registry.delete(asked["repositoryName"], image.digest)
            deleted.append({"imageDigest": image.digest})
        return {"imageIds": deleted, "failures": []}

    def _delete_repository(self, call: Call, asked: dict[str, Any]) -> Answer | None:
        name = asked["repositoryName"]
        images = self._registry.images(name)
        if images and not asked.get("force"):
            raise AwsRefusal(
                "RepositoryNotEmptyException",
                f"The repository with name '{name}' in registry with id '{self._account_id}' cannot be deleted "
                "because it still contains images",
            )
        for image in images:
            self._registry.delete(name, image.digest)
        del call
        return None


def _image_id(image: Image, tag: str) -> dict[str, str]:
    return {"imageDigest": image.digest, "imageTag": tag}


def _instead(call: Call, action: str, asked: dict[str, Any]) -> Call:
    return Call(call.service, call.region, call.access_key_id, action, json.dumps(asked).encode(), call.path)
