"""When the agent starts itself once more, and as what."""

import pytest
from agent_runtime.telemetry import PROGRAM, STARTED, instrumented, is_wanted

ARGUMENTS = ["/opt/agent/bin/agent-runtime", "serve"]
COLLECTOR = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}


@pytest.mark.parametrize(
    "environment",
    [
        COLLECTOR,
        {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://collector:4318/v1/traces"},
        {"OTEL_TRACES_EXPORTER": "console"},
        {"AGENT_OBSERVABILITY_ENABLED": "true"},
    ],
)
def test_an_exporter_is_what_makes_it_wanted(environment: dict[str, str]) -> None:
    assert is_wanted(environment)


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": " "},
        {"OTEL_SERVICE_NAME": "agent"},
        COLLECTOR | {"OTEL_TRACES_EXPORTER": "none"},
        COLLECTOR | {"OTEL_SDK_DISABLED": "true"},
        {"AGENT_OBSERVABILITY_ENABLED": "false"},
    ],
)
def test_without_one_nothing_of_it_is_loaded(environment: dict[str, str]) -> None:
    assert not is_wanted(environment)
    assert instrumented(environment, ARGUMENTS, lambda _name: None) is None


def test_the_same_command_goes_on_under_the_instrumentation() -> None:
    found = instrumented(COLLECTOR, ARGUMENTS, lambda name: f"/opt/agent/bin/{name}")
    assert found == [f"/opt/agent/bin/{PROGRAM}", *ARGUMENTS]


def test_the_second_start_is_not_followed_by_a_third() -> None:
    assert instrumented(COLLECTOR | {STARTED: "1"}, ARGUMENTS, lambda name: name) is None


def test_an_exporter_without_the_program_is_told_by_its_extra() -> None:
    with pytest.raises(FileNotFoundError, match=r"agent-runtime\[telemetry\]"):
        instrumented(COLLECTOR, ARGUMENTS, lambda _name: None)
