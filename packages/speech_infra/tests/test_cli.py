"""The command: quick to start, exact about usage, stable in its exit codes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from speech_infra.cli.main import app
from typer.models import CommandInfo, TyperInfo
from typer.testing import CliRunner

SCRIPT = Path(sys.executable).with_name("speech-infra")
SLOW_TO_IMPORT = ("aws_cdk", "boto3", "botocore", "jsii", "kokoro_weights", "numpy", "rich.progress", "speech_client")


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SCRIPT, *arguments], capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin", **environment}
    )


def test_the_command_starts_without_what_takes_long_to_import() -> None:
    code = "import sys, speech_infra.cli.main; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "speech_infra.cli.main" in loaded
    assert [name for name in SLOW_TO_IMPORT if name in loaded] == []


def test_list_asks_nobody_and_needs_no_region() -> None:
    done = run("list", "--json")
    assert done.returncode == 0, done.stderr
    assert [each["name"] for each in json.loads(done.stdout)] == ["kokoro-82m", "kokoro-82m-cpu"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["status", "kokoro"], "model 'kokoro' is not one of kokoro-82m, kokoro-82m-cpu"),
        (["status", "--stage", "Big"], "--stage 'Big': expected 1 to 8"),
        (["deploy", "kokoro-82m", "--strategy", "rolling"], "needs --instances 2 or more"),
        (["deploy", "kokoro-82m", "--tag", "team"], "--tag team: expected KEY=VALUE"),
        (["deploy", "kokoro-82m", "--image-digest", "latest"], "expected sha256: and 64 hex digits"),
    ],
)
def test_what_cannot_be_is_refused_with_exit_code_2_and_no_traceback(arguments: list[str], words: str) -> None:
    done = run(*arguments, AWS_REGION="us-east-1")
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_missing_region_is_told_with_what_helps() -> None:
    done = run("status", AWS_CONFIG_FILE="/dev/null", AWS_ACCESS_KEY_ID="a", AWS_SECRET_ACCESS_KEY="b")
    assert done.returncode == 2
    assert "no AWS region is set" in done.stderr
    assert "--region us-east-1" in done.stderr


def test_an_error_with_json_is_a_document_too() -> None:
    done = run("status", "kokoro", "--json")
    assert json.loads(done.stdout)["error"]["kind"] == "ModelUnknown"


LOOKING = ["list", "doctor", "synth", "diff", "status", "logs", "smoke-test", "invoke"]
CHANGING = ["deploy", "pause", "resume", "rollback", "recover", "destroy", "cleanup"]
GROUPED = ["weights prepare", "weights sync", "image build", "image push", "image pin"]
ROLES = ["pipeline synth", "pipeline deploy", "pipeline destroy"]
VERBS = [*LOOKING, *CHANGING, *GROUPED, *ROLES]


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_the_common_options_and_an_example(verb: str) -> None:
    done = CliRunner(env={"COLUMNS": "160", "TERM": "dumb"}).invoke(app, [*verb.split(), "--help"])
    assert done.exit_code == 0
    for option in ("--region", "--profile", "--stage", "--json", "--yes", "--no-color"):
        assert option in done.output
    assert f"speech-infra {verb}" in done.output


def test_no_verb_is_without_a_test_of_its_help() -> None:
    single = {name_of(command) for command in app.registered_commands}
    grouped = {f"{group.name} {name_of(command)}" for group in app.registered_groups for command in commands_of(group)}
    assert single | grouped == set(VERBS)


def commands_of(group: TyperInfo) -> list[CommandInfo]:
    assert group.typer_instance is not None
    return group.typer_instance.registered_commands


def name_of(command: CommandInfo) -> str:
    return str(command.name or getattr(command.callback, "__name__", ""))
