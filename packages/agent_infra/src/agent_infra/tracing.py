"""Is Transaction Search on in this account and region? It is one setting for all, which we never make twice."""

from __future__ import annotations

from typing import Any


def is_tracing_on(xray: Any) -> bool:
    """Whether spans go to CloudWatch Logs already."""
    return bool(xray.get_trace_segment_destination().get("Destination") == "CloudWatchLogs")
