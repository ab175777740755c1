"""What a stack's alarms say."""

from __future__ import annotations

from typing import Any


def alarm_states(cloudwatch: Any, stack: str) -> dict[str, str]:
    """The state of each alarm by its construct's name, of the ones that `stack` makes in its construct Alarms."""
    prefix = f"{stack}-Alarms"
    # After it comes the construct's name, with eight hex digits of CDK's, then what CloudFormation adds.
    pages = cloudwatch.get_paginator("describe_alarms").paginate(AlarmNamePrefix=prefix)
    return {
        each["AlarmName"].removeprefix(prefix).partition("-")[0][:-8]: each["StateValue"]
        for page in pages
        for each in page["MetricAlarms"]
    }
