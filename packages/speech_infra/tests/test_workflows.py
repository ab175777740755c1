"""GitHub's workflows: nothing in them moves by itself, no job has a right that it does not use, each command exists."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from speech_infra.cli.main import app
from typer.core import TyperGroup
from typer.main import get_command

WORKFLOWS = sorted((Path(__file__).parents[3] / ".github" / "workflows").glob("*.yml"))
PINNED = re.compile(r"uses: [\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")
OURS = re.compile(r"uses: \./\.github/workflows/[\w-]+\.yml( #.*)?$")
each_workflow = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)


def jobs(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(path.read_text())["jobs"]
    return found


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in jobs(path).values() for step in job.get("steps", [])]


def commands(path: Path) -> Iterator[list[str]]:
    """Every `speech-infra` with its arguments, as a shell would split them."""
    for step in steps(path):
        for line in str(step.get("run", "")).splitlines():
            words = shlex.split(line.replace('"$MODEL"', "kokoro-82m").replace("$DEPLOY_OPTIONS", "--instances 2"))
            if "speech-infra" in words:
                arguments = words[words.index("speech-infra") + 1 :]
                yield arguments[: arguments.index(">")] if ">" in arguments else arguments


def test_there_is_one_that_checks_and_one_that_deploys() -> None:
    assert [path.stem for path in WORKFLOWS] == ["ci", "deploy"]


@each_workflow
def test_every_action_is_pinned_by_its_commit_with_the_version_beside_it(path: Path) -> None:
    used = [line.strip().removeprefix("- ") for line in path.read_text().splitlines() if "uses:" in line]
    assert used
    assert [line for line in used if not PINNED.fullmatch(line) and not OURS.fullmatch(line)] == []


@each_workflow
def test_a_job_has_only_the_rights_that_it_names_and_a_token_only_where_a_role_is_taken(path: Path) -> None:
    assert yaml.safe_load(path.read_text())["permissions"] == {}
    for job in jobs(path).values():
        takes_role = any("configure-aws-credentials" in step.get("uses", "") for step in job.get("steps", []))
        assert job["permissions"] == {"contents": "read"} | ({"id-token": "write"} if takes_role else {})


@each_workflow
def test_no_step_lets_what_a_stranger_wrote_into_a_shell(path: Path) -> None:
    assert "pull_request_target" not in path.read_text()
    assert [step["run"] for step in steps(path) if "${{" in str(step.get("run", ""))] == []


def test_what_deploys_is_bound_to_its_environment_and_waits_for_the_checks() -> None:
    (path,) = [each for each in WORKFLOWS if each.stem == "deploy"]
    assert jobs(path)["deploy"]["environment"] == "production"
    assert jobs(path)["deploy"]["needs"] == "ci"
    assert "environment" not in jobs(path)["diff"]


def test_the_verbs_come_in_their_order_and_take_the_options_that_they_are_given() -> None:
    (path,) = [each for each in WORKFLOWS if each.stem == "deploy"]
    called = list(commands(path))
    assert [arguments[0] for arguments in called] == ["diff", "doctor", "deploy", "smoke-test", "rollback"]
    group = get_command(app)
    assert isinstance(group, TyperGroup)
    for arguments in called:
        name, command, rest = group.resolve_command(group.context_class(group), arguments)
        assert command is not None
        command.make_context(name, rest)
