"""What wakes somebody up. 0.10 USD an alarm and month.

AgentCore's metrics of one endpoint ("AgentCore generated runtime observability data"): errors of its own, requests
that it turned away, and how long an answer takes from its question to its last byte.
"""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct
from infra_common.constructs.topic_action import TopicAction

from agent_infra.names import ENDPOINT, Names

NAMESPACE = "AWS/Bedrock-AgentCore"
OPERATION = "InvokeAgentRuntime"
SLOW_P95_MS = 120_000
"""An answer of five minutes of speech is sent in about a minute; two mean that something stands still."""
_Compare = cloudwatch.ComparisonOperator


def agent_alarms(scope: Construct, names: Names, runtime_arn: str, topic: str | None) -> list[cloudwatch.Alarm]:
    """All of them; `topic` is told by each."""

    def metric(name: str, statistic: str) -> cloudwatch.Metric:
        return cloudwatch.Metric(
            namespace=NAMESPACE,
            metric_name=name,
            statistic=statistic,
            period=cdk.Duration.minutes(1),
            dimensions_map={
                "Name": f"{names.runtime}::{ENDPOINT}",
                "Operation": OPERATION,
                "Resource": runtime_arn,
            },
        )

    wanted = (
        ("Failing", metric("SystemErrors", "Sum"), 1, 1, f"{names.deployment} fails where it should answer"),
        ("Throttled", metric("Throttles", "Sum"), 1, 3, f"callers of {names.deployment} are turned away"),
        ("Slow", metric("Latency", "p95"), SLOW_P95_MS, 3, f"answers of {names.deployment} take more than two minutes"),
    )
    alarms = [
        each.create_alarm(
            scope,
            f"Alarms{name}",
            alarm_description=what,
            threshold=threshold,
            comparison_operator=_Compare.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            evaluation_periods=periods,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
        for name, each, threshold, periods, what in wanted
    ]
    if topic is not None:
        for alarm in alarms:
            alarm.add_alarm_action(TopicAction(topic))
    return alarms
