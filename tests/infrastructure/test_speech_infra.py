"""The whole life of an endpoint: the real CDK command, a real image build and registry, and a stand-in for AWS."""

import json
import subprocess
from pathlib import Path

import pytest
from kokoro_weights import prepare
from speech_infra.weights import pieces_of

from tests.fake_aws.harness import ROOT, FakeAws
from tests.infrastructure.conftest import Done, Shell, data_plane
from tests.infrastructure.pipeline_actions import allowed
from tests.infrastructure.transcript import block, shape

pytestmark = [pytest.mark.infra, pytest.mark.timeout(600)]

MODEL = "kokoro-82m-cpu"
NAME = f"speech-dev-{MODEL}"
BUCKET = f"{NAME}-123456789012-us-east-1"
DOCKERFILE = 'FROM scratch AS cpu\nCOPY voice /voice\nENTRYPOINT ["/voice"]\n'


def assert_documented(name: str, done: Done) -> None:
    """What the command says has the shape that docs/operations.md shows; `make operations` writes it anew."""
    _command, *documented = shape(block((ROOT / "docs" / "operations.md").read_text(), name))
    assert sorted(shape(done.err) + shape(done.out)) == sorted(documented)


def test_an_endpoint_from_doctor_to_the_last_cleanup(aws: FakeAws, engine: dict[str, str], tmp_path: Path) -> None:
    shell = Shell(aws, aws.environment(**engine))
    source = tmp_path / "image"
    source.mkdir()
    (source / "Dockerfile").write_text(DOCKERFILE)
    (source / "voice").write_bytes(b"one")
    build = ("--dockerfile", str(source / "Dockerfile"))
    deploy = ("deploy", MODEL, *build, "--no-smoke-test", "--json")

    missing = shell.run("doctor", MODEL, *build, code=1)
    assert "npx cdk bootstrap aws://123456789012/us-east-1" in missing.out
    bootstrap = [str(ROOT / "node_modules" / ".bin" / "cdk"), "bootstrap", "aws://123456789012/us-east-1"]
    subprocess.run(bootstrap, cwd=tmp_path, env=shell.environment, capture_output=True, check=True)
    shell.run("doctor", MODEL, *build)

    with data_plane(NAME, "tone", tmp_path) as speaking:
        heard = Shell(aws, shell.environment | speaking)
        told = heard.run("deploy", MODEL, *build)
        proven = heard.run("smoke-test", MODEL, "--json").json
    assert proven["passed"] is True
    assert_documented("deploy", told)
    first = shell.run("status", MODEL, "--json").json
    assert first["last_smoke_test"]["passed"] is True
    assert first["endpoint"]["status"] == "InService"
    assert first["usd_an_hour"] == pytest.approx(0.4284)
    one = first["endpoint"]["image"]
    assert aws.registry.image(f"speech/dev/{MODEL}", one) is not None

    again = shell.run("deploy", MODEL, *build, "--no-smoke-test")
    assert_documented("again", again)
    assert "Nothing has changed: everything was as wanted already." in again.out
    assert "weights" in again.err
    assert "are in the bucket already, each with the right hash" in again.err

    (source / "voice").write_bytes(b"two")
    assert "repository" in shell.run("diff", MODEL, *build).err
    second = shell.run(*deploy).json
    two = second["endpoint"]["image"]
    assert two != one
    assert_documented("status", shell.run("status", MODEL))
    status = shell.run("status", MODEL, "--json").json
    assert (status["endpoint"]["image"], status["release"]["image"]) == (two, two)
    assert status["release"]["versions"] == 2
    assert status["differences"] == []

    back = shell.run("rollback", MODEL, "--yes", "--no-smoke-test", "--json").json
    assert back["endpoint"]["image"] == one
    assert aws.actions() - allowed("RolesDeploy") == set(), "what a pipeline does, its role must be allowed to"

    paused = shell.run("pause", MODEL, "--yes", "--json").json
    assert paused["endpoint"] is None
    assert paused["usd_an_hour"] == 0
    resumed = shell.run("resume", MODEL, "--no-smoke-test", "--json").json
    assert resumed["endpoint"]["image"] == one

    kept = shell.run("destroy", MODEL, "--yes", "--json").json["leftovers"]
    assert {each["kind"] for each in kept} == {"bucket", "repository", "log group", "CDK bootstrap"}
    by_name = {each["name"]: each for each in kept}
    weights = pieces_of(prepare(stages=True))
    size_bytes = sum(piece.size_bytes for piece in weights)
    assert by_name[BUCKET]["size"] == f"{size_bytes / 1e6:.1f} MB in {len(weights)} versions"
    assert by_name[BUCKET]["monthly_usd"] == pytest.approx(size_bytes / 1e9 * 0.023)
    assert by_name[f"speech/dev/{MODEL}"]["size"].endswith("in 2 images")
    assert aws.client("s3").list_objects_v2(Bucket=BUCKET)["KeyCount"] == len(weights)
    assert aws.client("sagemaker").list_endpoints()["Endpoints"] == []

    left = shell.run("cleanup", code=3)
    assert_documented("cleanup", left)
    assert f"{NAME}-123456789012" in left.out
    assert "fix: speech-infra cleanup --purge" in left.err
    refused = shell.run("cleanup", "--purge", code=2)
    assert "add --yes" in refused.err
    purged = shell.run("cleanup", "--purge", "--yes", "--json").json
    assert [each["kind"] for each in purged["leftovers"]] == ["CDK bootstrap"]
    assert json.loads(shell.run("cleanup", "--json").out)["monthly_usd"] == 0


def test_a_deployment_over_what_an_earlier_one_kept_adopts_it(shell: Shell) -> None:
    aws = shell.aws
    image = aws.registry.push(f"speech/dev/{MODEL}", "one", {}, b"one")
    deploy = ("deploy", MODEL, "--image-digest", image, "--no-smoke-test", "--json")
    shell.run(*deploy)
    shell.run("destroy", MODEL, "--yes")
    done = shell.run(*deploy)
    assert done.json["endpoint"]["image"] == image
    assert "are in the bucket already" in done.err
    names = {each["Name"] for each in aws.client("s3").list_buckets()["Buckets"]}
    assert names == {BUCKET, f"{BUCKET}-logs", "cdk-hnb659fds-assets-123456789012-us-east-1"}
