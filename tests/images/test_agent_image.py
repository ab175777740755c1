"""The agent's image as bytes: what is in it, what is not, and what it says of itself."""

import json
import re
import tarfile
from pathlib import Path
from typing import Final

import pytest

from tests.images.conftest import ARTEFACTS, ROOT, Image
from tests.images.sizes import AGENT_PARTS, AGENT_SITE_PACKAGES, measure
from tests.images.tools import tool

pytestmark = pytest.mark.images

SITE: Final = str(AGENT_SITE_PACKAGES).removeprefix("/")
NEEDED: Final = (
    *("opt/agent/bin/agent-runtime", "opt/agent/bin/opentelemetry-instrument"),
    *(f"{SITE}/agent_runtime/server.py", f"{SITE}/strands/__init__.py", f"{SITE}/bedrock_agentcore/__init__.py"),
    "usr/share/doc/agent-runtime/THIRD_PARTY.md",
)
UNWANTED: Final = (
    *("usr/bin/gcc", "usr/bin/make", "usr/bin/git", "usr/bin/curl", "usr/local/bin/uv", "usr/local/bin/pip"),
    *(f"{SITE}/pip", f"{SITE}/pytest", f"{SITE}/spacy", f"{SITE}/onnxruntime", f"{SITE}/speech_container"),
    *("build", "root/.cache"),
)
MAX_BYTES: Final = 350_000_000
DOCKERFILE: Final = ROOT / "packages" / "agent_runtime" / "Dockerfile"


@pytest.fixture(scope="module")
def archive(agent_image: Image, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The image as a file, as tools without an engine read it."""
    path = tmp_path_factory.mktemp("archive") / "agent.tar"
    agent_image.engine.run("save", "--output", str(path), agent_image.name, timeout_s=300)
    return path


@pytest.fixture(scope="module")
def files(agent_image: Image, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tarfile.TarInfo]:
    """What a container of it sees, by path."""
    path = tmp_path_factory.mktemp("files") / "root.tar"
    container = agent_image.engine.run("create", "--network", "none", agent_image.name)
    agent_image.engine.run("export", "--output", str(path), container, timeout_s=300)
    agent_image.engine.run("rm", "--volumes", container)
    with tarfile.open(path) as root:
        return {member.name: member for member in root}


def test_hadolint_has_nothing_to_say() -> None:
    done = tool("hadolint", str(DOCKERFILE))
    assert (done.returncode, done.stdout) == (0, "")


def test_it_is_built_as_it_should_be(archive: Path) -> None:
    config = ROOT / "tests" / "images" / "structure-agent.yaml"
    done = tool("container-structure-test", "test", "--driver", "tar", "--image", str(archive), "--config", str(config))
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


def test_the_agent_is_inside_with_what_traces_it(files: dict[str, tarfile.TarInfo]) -> None:
    assert [path for path in NEEDED if path not in files] == []


def test_nothing_that_builds_fetches_tests_or_speaks_is_left_inside(files: dict[str, tarfile.TarInfo]) -> None:
    assert [path for path in UNWANTED if path in files] == []


def test_nothing_in_it_belongs_to_its_user_or_can_be_written_by_all(files: dict[str, tarfile.TarInfo]) -> None:
    theirs = [member.name for member in files.values() if member.uid == 10001 or member.gid == 10001]
    anybodys = [file.name for file in files.values() if file.mode & 0o002 and (file.isreg() or file.isdir())]
    assert theirs == []
    assert set(anybodys) <= {"tmp", "var/tmp", "run/lock", "dev/shm", "dev/mqueue"}


def test_it_has_no_secret(files: dict[str, tarfile.TarInfo]) -> None:
    names = re.compile(r"(^|/)(\.netrc|\.pypirc|\.npmrc|\.aws|\.docker|\.ssh|\.env|id_rsa|credentials)(/|$)")
    assert [path for path in files if names.search(path)] == []


def test_it_is_small_enough_and_its_parts_are_noted(agent_image: Image) -> None:
    sizes = measure(agent_image.engine, agent_image.name, AGENT_SITE_PACKAGES, AGENT_PARTS)
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    (ARTEFACTS / "sizes-agent.json").write_text(json.dumps(sizes, indent=2) + "\n")
    assert sizes["total_bytes"] <= MAX_BYTES


def test_its_bill_of_materials_is_kept(archive: Path) -> None:
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    path = ARTEFACTS / "sbom-agent.spdx.json"
    done = tool("syft", "scan", f"docker-archive:{archive}", "--output", f"spdx-json={path}")
    assert done.returncode == 0, done.stderr[-2000:]
    named = {package["name"] for package in json.loads(path.read_text())["packages"]}
    assert {"agent-runtime", "strands-agents", "bedrock-agentcore", "aws-opentelemetry-distro"} <= named
    assert not named & {"speech-container", "uv", "pytest", "pip", "gcc", "phonemizer-fork"}
