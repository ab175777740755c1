"""The engine as a command: what it can build for, how it is asked, and whose words are told when it fails."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from infra_common.container_engine import ContainerEngine, ImageBuild
from infra_common.errors import PreconditionError, ToolFailed

INFO = json.dumps({"ServerVersion": "27.1", "Architecture": "x86_64", "OSType": "linux"})
DIGEST = f"sha256:{'a' * 64}"
Engine = Callable[..., ContainerEngine]


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    """An engine that notes how it was called, and does for each verb what the test says, in sh."""

    def make(**verbs: str) -> ContainerEngine:
        cases = "".join(f"  {verb}) {does} ;;\n" for verb, does in verbs.items())
        script = tmp_path / "engine"
        script.write_text(
            f'#!/bin/sh\necho "BUILDKIT=$DOCKER_BUILDKIT $@" >> {tmp_path}/calls\ncase $1 in\n{cases}esac\n'
        )
        script.chmod(0o755)
        return ContainerEngine(str(script))

    return make


def calls(tmp_path: Path) -> list[str]:
    return (tmp_path / "calls").read_text().splitlines()


def build_of(tmp_path: Path) -> ImageBuild:
    return ImageBuild(tmp_path, tmp_path / "Dockerfile", "cpu", "linux/amd64", {"b": "2", "a": "1"}, {"BASE": "python"})


def silent(_line: str) -> None:
    pass


def test_the_command_is_what_the_cdk_would_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CDK_DOCKER", "finch")
    assert ContainerEngine().command == "finch"
    monkeypatch.delenv("CDK_DOCKER")
    assert ContainerEngine().command == "docker"


def test_an_engine_that_is_not_installed_is_named() -> None:
    with pytest.raises(PreconditionError, match="no-such-engine is not installed"):
        ContainerEngine("no-such-engine").info()


def test_it_builds_for_its_own_machine_and_for_what_it_emulates(engine: Engine) -> None:
    found = engine(info=f"echo '{INFO}'", buildx="echo 'Platforms: linux/amd64*, linux/arm64'").info()
    assert (found.version, found.platforms) == ("27.1", ("linux/amd64", "linux/arm64"))


def test_without_buildx_it_builds_for_its_own_machine(engine: Engine) -> None:
    assert engine(info=f"echo '{INFO}'", buildx="exit 1").info().platforms == ("linux/amd64",)


def test_an_engine_that_does_not_answer_is_told_in_its_own_words(engine: Engine) -> None:
    with pytest.raises(PreconditionError, match="Cannot connect") as refused:
        engine(info="echo '{}'; echo 'Cannot connect to the daemon' >&2").info()
    assert "systemctl start docker" in str(refused.value.fix)


def test_a_build_names_stage_platform_labels_and_arguments_in_a_fixed_order(engine: Engine, tmp_path: Path) -> None:
    told: list[str] = []
    engine(version="echo 27.1", build="echo one; echo two").build(build_of(tmp_path), "voice:1", told.append)
    (line,) = [line for line in calls(tmp_path) if " build " in line]
    arguments = line.partition(" build ")[2]
    assert arguments == (
        f"--file {tmp_path}/Dockerfile --platform linux/amd64 --tag voice:1 --target cpu --label a=1 --label b=2 "
        f"--build-arg BASE=python {tmp_path}"
    )
    assert told == ["one", "two"]


@pytest.mark.parametrize(("version", "asked"), [("20.10.24", "1"), ("27.1", ""), ("unknown", "")])
def test_an_old_client_is_asked_for_buildkit(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, asked: str
) -> None:
    monkeypatch.delenv("DOCKER_BUILDKIT", raising=False)
    engine(version=f"echo {version}").build(build_of(tmp_path), "voice:1", silent)
    assert calls(tmp_path)[-1].startswith(f"BUILDKIT={asked} build ")


def test_a_build_that_fails_is_told_by_its_last_lines(engine: Engine, tmp_path: Path) -> None:
    does = "for i in 1 2 3 4 5 6 7 8 9 10; do echo step $i; done; echo no space left; exit 1"
    with pytest.raises(ToolFailed, match=r"build failed: .*no space left") as failed:
        engine(build=does).build(build_of(tmp_path), "voice:1", silent)
    assert "step 2 " not in str(failed.value)


def test_a_pulled_image_has_the_digest_of_its_own_registry(engine: Engine) -> None:
    known = json.dumps([f"elsewhere/python@sha256:{'b' * 64}", f"localhost:5000/python@{DIGEST}"])
    assert engine(image=f"echo '{known}'").pull("localhost:5000/python:3.12", "linux/amd64", silent) == DIGEST


def test_a_pulled_image_without_a_digest_is_refused(engine: Engine) -> None:
    with pytest.raises(ToolFailed, match="knows no digest"):
        engine(image="echo '[]'").pull("python:3.12", "linux/amd64", silent)


def test_a_password_goes_through_standard_input_and_is_in_no_argument(engine: Engine, tmp_path: Path) -> None:
    engine(login=f"cat > {tmp_path}/given").log_in("registry.example", "AWS", "secret")
    assert (tmp_path / "given").read_text() == "secret"
    assert all("secret" not in line for line in calls(tmp_path))


def test_a_login_that_is_refused_is_told_by_its_host(engine: Engine) -> None:
    with pytest.raises(ToolFailed, match=r"login to registry\.example failed: denied"):
        engine(login="echo denied >&2; exit 1").log_in("registry.example", "AWS", "secret")


def test_a_push_that_fails_is_told(engine: Engine) -> None:
    with pytest.raises(ToolFailed, match="push failed: tag is immutable"):
        engine(push="echo tag is immutable; exit 1").push("registry.example/voice:1", silent)
