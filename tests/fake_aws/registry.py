"""A real container registry (Debian's docker-registry) on loopback, and what ECR's face needs of its HTTP API."""

import hashlib
import json
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx

from .errors import AwsRefusal
from .ports import free_port

_MANIFESTS: Final = ", ".join(
    (
        "application/vnd.docker.distribution.manifest.v2+json",
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
    )
)
_START_S: Final = 20.0


@dataclass(frozen=True, slots=True)
class Image:
    """One manifest with its tags."""

    digest: str
    tags: tuple[str, ...]
    size_bytes: int
    media_type: str
    manifest: str


class Registry:
    """The registry's HTTP API, version 2."""

    def __init__(self, host: str) -> None:
        self.host = host
        self._http = httpx.Client(base_url=f"http://{host}", trust_env=False, timeout=10)

    def images(self, repository: str) -> list[Image]:
        """Every tagged image."""
        answer = self._http.get(f"/v2/{repository}/tags/list")
        tags = (answer.json().get("tags") or []) if answer.status_code == httpx.codes.OK else []
        by_digest: dict[str, list[str]] = {}
        found: dict[str, Image] = {}
        for tag in sorted(tags):
            image = self.image(repository, tag)
            if image is not None:
                by_digest.setdefault(image.digest, []).append(tag)
                found[image.digest] = image
        return [
            Image(digest, tuple(by_digest[digest]), each.size_bytes, each.media_type, each.manifest)
            for digest, each in found.items()
        ]

    def image(self, repository: str, reference: str) -> Image | None:
        """The manifest under a tag or a digest, or None."""
        answer = self._http.get(f"/v2/{repository}/manifests/{reference}", headers={"Accept": _MANIFESTS})
        if answer.status_code != httpx.codes.OK:
            return None
        manifest = answer.json()
        layers = [*manifest.get("layers", []), *([manifest["config"]] if "config" in manifest else [])]
        return Image(
            answer.headers["docker-content-digest"],
            (),
            sum(layer["size"] for layer in layers),
            answer.headers["content-type"],
            answer.text,
        )

    def delete(self, repository: str, digest: str) -> None:
        """Remove a manifest and all its tags."""
        self._http.delete(f"/v2/{repository}/manifests/{digest}")

    def architecture(self, repository: str, reference: str) -> str:
        """Of an image that is there, as its configuration says."""
        found = self.image(repository, reference)
        assert found is not None, f"{repository} has no {reference}"
        config = json.loads(found.manifest)["config"]["digest"]
        answer = self._http.get(f"/v2/{repository}/blobs/{config}")
        answer.raise_for_status()
        return str(answer.json()["architecture"])

    def push(
        self, repository: str, tag: str, labels: Mapping[str, str], layer: bytes, architecture: str = "amd64"
    ) -> str:
        """Put an image of one layer there, for tests that need no engine; returns its digest."""
        config = json.dumps(
            {
                "architecture": architecture,
                "os": "linux",
                "config": {"Labels": dict(labels)},
                "rootfs": {"type": "layers", "diff_ids": [_digest(layer)]},
            }
        ).encode()
        media_type = "application/vnd.oci.image.manifest.v1+json"
        manifest = {
            "schemaVersion": 2,
            "mediaType": media_type,
            "config": self._blob(repository, config, "application/vnd.oci.image.config.v1+json"),
            "layers": [self._blob(repository, layer, "application/vnd.oci.image.layer.v1.tar")],
        }
        body = json.dumps(manifest).encode()
        path = f"/v2/{repository}/manifests/{tag}"
        answer = self._http.put(path, content=body, headers={"Content-Type": media_type})
        answer.raise_for_status()
        return _digest(body)

    def _blob(self, repository: str, data: bytes, media_type: str) -> dict[str, Any]:
        started = self._http.post(f"/v2/{repository}/blobs/uploads/")
        started.raise_for_status()
        place = started.headers["location"]
        separator = "&" if "?" in place else "?"
        self._http.put(f"{place}{separator}digest={_digest(data)}", content=data).raise_for_status()
        return {"mediaType": media_type, "size": len(data), "digest": _digest(data)}


@contextmanager
def running_registry(root: Path) -> Iterator[Registry]:
    """A registry process that keeps its images in `root`, ended when the context is left."""
    program = shutil.which("docker-registry")
    if program is None:
        raise AwsRefusal("NoRegistry", "docker-registry is not installed: apt-get install docker-registry")
    host = f"127.0.0.1:{free_port()}"
    root.mkdir(parents=True, exist_ok=True)
    settings = root / "registry.yml"
    settings.write_text(
        json.dumps(
            {
                "version": 0.1,
                "log": {"level": "error", "accesslog": {"disabled": True}},
                "storage": {"filesystem": {"rootdirectory": str(root / "data")}, "delete": {"enabled": True}},
                "http": {"addr": host, "secret": "loopback"},
            }
        )
    )
    with (root / "registry.log").open("wb") as log:
        process = subprocess.Popen([program, "serve", settings], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        _until_it_answers(host, process)
        yield Registry(host)
    finally:
        process.terminate()
        process.wait(10)


def _until_it_answers(host: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            httpx.get(f"http://{host}/v2/", trust_env=False, timeout=2)
        except httpx.TransportError:
            time.sleep(0.05)
        else:
            return
    raise AwsRefusal("NoRegistry", f"docker-registry did not answer at {host} within {_START_S:g} s")


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"
