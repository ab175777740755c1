"""The pinned CDK command: found, installed from the lock, run apart from our Ctrl-C, and told by its last words."""

import json
import os
import signal
from pathlib import Path

import pytest
from infra_common.cdk_cli import CdkCli, install, installed_version, pinned_version, project_root
from infra_common.errors import PreconditionError, ToolFailed

LIMIT_S = 30.0


@pytest.fixture
def root(tmp_path: Path) -> Path:
    clone = tmp_path / "clone"
    clone.mkdir()
    (clone / "package.json").write_text(json.dumps({"dependencies": {"aws-cdk": "2.1.0"}}))
    return clone


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def cdk(root: Path, text: str) -> CdkCli:
    program(root / "node_modules" / ".bin" / "cdk", text)
    return CdkCli(root, {"PATH": os.environ["PATH"], "AWS_REGION": "us-east-1"}, root / "out")


def test_the_clone_is_found_from_anywhere_in_it(root: Path) -> None:
    deep = root / "packages" / "speech_infra"
    deep.mkdir(parents=True)
    (deep / "package.json").write_text("{}")
    assert project_root(deep / "module.py") == root


def test_outside_of_a_clone_there_is_nothing_to_run(tmp_path: Path) -> None:
    with pytest.raises(PreconditionError, match="pins aws-cdk") as refused:
        project_root(tmp_path)
    assert refused.value.fix == "run the command in a clone of the project"


def test_what_is_pinned_and_what_is_installed_are_told_apart(root: Path) -> None:
    assert (pinned_version(root), installed_version(root)) == ("2.1.0", None)
    present = root / "node_modules" / "aws-cdk" / "package.json"
    present.parent.mkdir(parents=True)
    present.write_text(json.dumps({"version": "2.0.9"}))
    assert installed_version(root) == "2.0.9"


def test_it_is_installed_from_the_lock_and_no_package_runs_a_script(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "bin" / "npm", "echo $@")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    install(root, root / "out" / "npm.log")
    assert (root / "out" / "npm.log").read_text().split()[:2] == ["ci", "--ignore-scripts"]


def test_an_installation_that_fails_is_told_by_its_last_words(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "bin" / "npm", "echo 'the lock is out of date'; exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    with pytest.raises(ToolFailed, match="the lock is out of date"):
        install(root, root / "out" / "npm.log")


def test_without_npm_somebody_must_install_node(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PreconditionError, match="npm is not installed") as refused:
        install(root, root / "out" / "npm.log")
    assert "Node" in str(refused.value.fix)


def test_a_run_has_our_environment_its_arguments_and_a_log(root: Path) -> None:
    run = cdk(root, 'echo "$@ at $AWS_REGION, $CDK_DISABLE_CLI_TELEMETRY"; exit 3').start(["deploy", "Voice"], "deploy")
    assert run.ended(LIMIT_S) == 3
    assert run.output() == "deploy Voice at us-east-1, 1\n"
    assert run.log == root / "out" / "deploy.log"


def test_a_run_that_goes_on_has_no_exit_code_and_ends_with_all_that_it_started(root: Path) -> None:
    held = root / "held"
    os.mkfifo(held)
    run = cdk(root, f"exec 9> {held}; sleep 600 & wait").start(["deploy"], "deploy")
    with held.open("rb") as lifeline:  # opens once the command has it open
        assert run.ended(0.01) is None
        run.end()
        assert run.ended(LIMIT_S) == -signal.SIGTERM
        assert lifeline.read() == b"", "comes only when the last of those who hold the other end is gone"


def test_its_last_words_are_one_line_and_bounded(root: Path) -> None:
    run = cdk(root, "for i in $(seq 500); do echo line $i is quite long, as such lines are; done").start([], "many")
    assert run.ended(LIMIT_S) == 0
    assert "\n" not in run.tail()
    assert "line 500" in run.tail()
    assert len(run.tail()) <= 1000


def test_a_run_without_words_says_so(root: Path) -> None:
    run = cdk(root, "exit 1").start([], "silent")
    assert run.ended(LIMIT_S) == 1
    assert run.tail() == "it said nothing"
