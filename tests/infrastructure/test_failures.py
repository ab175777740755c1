"""Behaviour 30: an endpoint that does not come up is told with its reason and its container's words, and recovered."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import pytest

from tests.fake_aws.harness import FakeAws
from tests.infrastructure.conftest import Shell

pytestmark = [pytest.mark.infra, pytest.mark.timeout(600)]

REPOSITORY = "speech/dev/kokoro-82m-cpu"
ENDPOINT_STACK = "speech-dev-kokoro-82m-cpu-endpoint"
REASON = (
    "The primary container for production variant AllTraffic did not pass the ping health check. "
    "Please check CloudWatch logs for this endpoint."
)
LOG = [
    "speech-container: listening on http://0.0.0.0:8080",
    (
        '{"time": "2026-11-29T12:00:00.000+00:00", "level": "error", "logger": "speech_container.server", "message": '
        '"not ready: voices/af_heart.bin: expected another sha256", "code": "weights_hash_mismatch"}'
    ),
]


@contextmanager
def held(aws: FakeAws) -> Iterator[None]:
    """While endpoints stay where they are."""
    aws.fault(endpoint_is_held=True)
    try:
        yield
    finally:
        aws.fault(endpoint_is_held=False)


def deploy(image: str) -> tuple[str, ...]:
    return ("deploy", "kokoro-82m-cpu", "--image-digest", image, "--no-smoke-test")


def status_of(aws: FakeAws, stack: str = ENDPOINT_STACK) -> str:
    found: str = aws.client("cloudformation").describe_stacks(StackName=stack)["Stacks"][0]["StackStatus"]
    return found


def test_a_failed_start_is_explained_and_the_next_deploy_recovers_it(shell: Shell) -> None:
    aws = shell.aws
    image = aws.registry.push(REPOSITORY, "one", {}, b"one")
    aws.fault(endpoint_failure=REASON, endpoint_log=LOG)
    failed = shell.run(*deploy(image), code=6)
    told = " ".join(failed.err.split())
    assert f"stack {ENDPOINT_STACK} is in ROLLBACK_COMPLETE. SageMaker Endpoint Endpoint failed: {REASON[:-1]}" in told
    assert "the container started but never said it was ready" in told
    refused = "error weights_hash_mismatch: not ready: voices/af_heart.bin: expected another sha256"
    assert f"Its last log lines: {LOG[0]} | {refused}" in told
    assert "fix: speech-infra logs kokoro-82m-cpu" in told
    assert status_of(aws) == "ROLLBACK_COMPLETE"
    aws.clear_faults()
    done = shell.run(*deploy(image), "--json")
    assert "its first creation failed: what is left of it is deleted" in done.err
    assert done.json["endpoint"]["status"] == "InService"
    assert done.json["differences"] == []


def test_an_alarm_that_rises_leaves_the_old_image_serving(shell: Shell) -> None:
    aws = shell.aws
    first, second = (aws.registry.push(REPOSITORY, tag, {}, tag.encode()) for tag in ("one", "two"))
    shell.run(*deploy(first))
    cloudwatch = aws.client("cloudwatch")
    for alarm in cloudwatch.describe_alarms()["MetricAlarms"]:
        if alarm["MetricName"] == "Invocation5XXErrors":
            cloudwatch.set_alarm_state(AlarmName=alarm["AlarmName"], StateValue="ALARM", StateReason="errors")
    failed = shell.run(*deploy(second), code=6)
    assert "an alarm rose while the new instances baked" in " ".join(failed.err.split())
    found = shell.run("status", "kokoro-82m-cpu", "--json").json
    assert found["endpoint"]["image"] == found["release"]["image"] == first
    assert found["stack"]["status"] == "UPDATE_ROLLBACK_COMPLETE"


def test_a_rollback_that_failed_is_continued_by_recover(shell: Shell) -> None:
    aws = shell.aws
    first, second = (aws.registry.push(REPOSITORY, tag, {}, tag.encode()) for tag in ("one", "two"))
    shell.run(*deploy(first))
    aws.fault(endpoint_failure=REASON, rollback_failure="the network went away")
    shell.run(*deploy(second), code=6)
    assert status_of(aws) == "UPDATE_ROLLBACK_FAILED"
    still = shell.run("recover", "kokoro-82m-cpu", code=6)
    assert "is still in UPDATE_ROLLBACK_FAILED: the network went away" in still.err
    aws.clear_faults()
    assert shell.run("recover", "kokoro-82m-cpu", "--json").json["recovered"] == {
        ENDPOINT_STACK: "UPDATE_ROLLBACK_COMPLETE"
    }
    assert shell.run("recover", "kokoro-82m-cpu").out.strip() == "No stack needs it."


def test_an_interrupted_deploy_says_what_goes_on_and_the_next_one_waits_for_it(shell: Shell) -> None:
    aws = shell.aws
    image = aws.registry.push(REPOSITORY, "one", {}, b"one")
    with held(aws):
        process = shell.start(*deploy(image))
        assert process.stderr is not None
        for line in process.stderr:
            if "endpoint: Creating" in line:
                break
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 130
        assert f"CloudFormation goes on with {ENDPOINT_STACK} (CREATE_IN_PROGRESS)" in said
        again = shell.start(*deploy(image), "--json")
        assert again.stderr is not None
        for line in again.stderr:
            if "an operation is going on: it is waited for" in line:
                break
    drain = Thread(target=again.stderr.read)
    drain.start()
    assert again.stdout is not None
    out = again.stdout.read()
    drain.join()
    assert again.wait(60) == 0
    assert '"status": "InService"' in out
