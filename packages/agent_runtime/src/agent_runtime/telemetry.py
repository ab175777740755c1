"""Tracing, where somebody wants it: the agent starts itself once more under OpenTelemetry's `opentelemetry-instrument`.

The instrumentation has to be there before anything that it instruments is imported, so a flag inside the process would
come too late. Without an exporter nothing of it is loaded: it costs start-up time, and a little of every answer's.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from typing import Final

PROGRAM: Final = "opentelemetry-instrument"
STARTED: Final = "AGENT_RUNTIME_INSTRUMENTED"
"""Set for the second start, which is not to start a third."""
_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


def is_wanted(environment: Mapping[str, str]) -> bool:
    """Whether an exporter is set: an address, a name other than `none`, or AgentCore's own switch."""
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    exporter = environment.get("OTEL_TRACES_EXPORTER", "").strip().lower()
    if exporter == "none":
        return False
    on_agentcore = environment.get("AGENT_OBSERVABILITY_ENABLED", "").strip().lower() == "true"
    return bool(exporter) or on_agentcore or any(environment.get(name, "").strip() for name in _ENDPOINTS)


def instrumented(
    environment: Mapping[str, str],
    arguments: Sequence[str],
    find: Callable[[str], str | None] = shutil.which,
) -> list[str] | None:
    """The command to go on as; None to go on as we are: no exporter is set, or this is the second start.

    Raises `FileNotFoundError` where an exporter is set and the program is not installed.
    """
    if not is_wanted(environment) or environment.get(STARTED):
        return None
    program = find(PROGRAM)
    if program is None:
        raise FileNotFoundError(f"an exporter is set, but {PROGRAM} is not installed: agent-runtime[telemetry]")
    return [program, *arguments]
