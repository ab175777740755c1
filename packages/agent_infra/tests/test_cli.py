"""The command: quick to start, exact about usage, stable in its exit codes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from agent_infra.cli.main import app
from typer.models import CommandInfo, TyperInfo
from typer.testing import CliRunner

SCRIPT = Path(sys.executable).with_name("agent-infra")
SLOW_TO_IMPORT = (
    *("aws_cdk", "boto3", "botocore", "jsii", "local_cloud", "matplotlib", "numpy", "rich.progress"),
    *("speech_client", "speech_protocol", "strands"),
)


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SCRIPT, *arguments], capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin", **environment}
    )


def test_the_command_starts_without_what_takes_long_to_import() -> None:
    code = "import sys, agent_infra.cli.main; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "agent_infra.cli.main" in loaded
    assert [name for name in SLOW_TO_IMPORT if name in loaded] == []


MODEL = ("--bedrock-model-id", "amazon.nova-lite-v1:0")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["status", "--agent", "my-agent"], "--agent 'my-agent': expected 1 to 16"),
        (["status", "--stage", "Big"], "--stage 'Big': expected 1 to 8"),
        (["deploy", "--bedrock-model-id", "nova"], "expected a model such as amazon.nova-lite-v1:0"),
        (["deploy", *MODEL, "--builder", "podman"], "--builder 'podman': expected docker or codebuild"),
        (["deploy", *MODEL, "--setting", "AGENT_TOOLS"], "--setting AGENT_TOOLS: expected KEY=VALUE"),
        (["deploy", *MODEL, "--tag", "team"], "--tag team: expected KEY=VALUE"),
        (["deploy", *MODEL, "--image-digest", "latest"], "expected sha256: and 64 hex digits"),
        (["deploy", *MODEL, "--jwt-client", "app"], "need --jwt-discovery"),
        (["invoke", "Hello", "-o", "a.flac"], "expected a name that ends in .wav"),
        (["invoke", "Hello", "-o", "a.wav", "--mode", "both"], "--mode 'both': expected bidi or batch"),
    ],
)
def test_what_cannot_be_is_refused_with_exit_code_2_and_no_traceback(arguments: list[str], words: str) -> None:
    done = run(*arguments, AWS_REGION="us-east-1")
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_missing_model_is_a_usage_error() -> None:
    done = run("deploy", AWS_REGION="us-east-1")
    assert done.returncode == 2
    assert "--bedrock-model-id" in done.stderr


def test_an_error_with_json_is_a_document_too() -> None:
    done = run("status", "--agent", "x-y", "--json")
    assert json.loads(done.stdout)["error"]["kind"] == "OptionRefused"


VERBS = [
    *("doctor", "status", "logs", "synth", "diff", "deploy", "invoke", "demo", "stop-session", "destroy", "cleanup"),
    *("image build", "image push", "image pin"),
]


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_the_common_options_and_an_example(verb: str) -> None:
    done = CliRunner(env={"COLUMNS": "160", "TERM": "dumb"}).invoke(app, [*verb.split(), "--help"])
    assert done.exit_code == 0
    for option in ("--region", "--profile", "--stage", "--json", "--yes", "--no-color"):
        assert option in done.output
    assert f"agent-infra {verb}" in done.output


def test_no_verb_is_without_a_test_of_its_help() -> None:
    single = {name_of(command) for command in app.registered_commands}
    grouped = {f"{group.name} {name_of(command)}" for group in app.registered_groups for command in commands_of(group)}
    assert single | grouped == set(VERBS)


def commands_of(group: TyperInfo) -> list[CommandInfo]:
    assert group.typer_instance is not None
    return group.typer_instance.registered_commands


def name_of(command: CommandInfo) -> str:
    return str(command.name or getattr(command.callback, "__name__", ""))


@pytest.mark.infra
@pytest.mark.timeout(300)
def test_synth_needs_no_credentials_and_asks_nobody(tmp_path: Path) -> None:
    done = run("synth", *MODEL, "--output", str(tmp_path / "out"), "--json", HOME=str(tmp_path), NO_PROXY="*")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["stacks"] == ["agent-dev-voice-foundation", "agent-dev-voice-runtime"]


def test_synth_of_a_profile_that_nobody_has_looked_up_says_what_to_run() -> None:
    done = run("synth", "--bedrock-model-id", "us.nobody.knows-this-v1:0", "--region", "us-east-1")
    assert done.returncode == 5
    assert "agent-infra doctor --bedrock-model-id us.nobody.knows-this-v1:0 --region us-east-1" in done.stderr
