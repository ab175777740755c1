"""One page that answers: is it heard soon, is it failing, is it full. Three dashboards an account are free, then 3 USD.

cdk-monitoring-constructs has no widgets for streaming metrics (first chunk, concurrency per model), which are the
questions here, so these few are made directly. What the container says of itself it says by engine, not by endpoint:
several stages in one account share those lines.
"""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from speech_infra.constructs.metrics import endpoint_metric
from speech_infra.names import Names

_WIDTH = 12
_FULL_WIDTH = 24
_CONTAINER_NAMESPACE = "KokoroSpeech"


def speech_dashboard(
    scope: Construct, names: Names, engines: Sequence[str], alarms: Sequence[cloudwatch.IAlarm]
) -> cloudwatch.Dashboard:
    """Alarms first, then what they watch, then what the container itself says, whichever of `engines` it runs."""

    def graph(title: str, *series: cloudwatch.IMetric) -> cloudwatch.GraphWidget:
        return cloudwatch.GraphWidget(title=title, left=list(series), width=_WIDTH)

    def platform(metric: str, statistic: str) -> cloudwatch.IMetric:
        return endpoint_metric(names, metric, statistic=statistic)

    def container(metric: str, *statistics: str) -> list[cloudwatch.IMetric]:
        return [
            cloudwatch.Metric(
                namespace=_CONTAINER_NAMESPACE,
                metric_name=metric,
                statistic=statistic,
                dimensions_map={"Engine": engine},
                label=f"{metric} {statistic}, {engine}",
            )
            for engine in engines
            for statistic in statistics
        ]

    any_engine = " OR ".join(f'"{engine}"' for engine in engines)
    search = f'{{{_CONTAINER_NAMESPACE},Engine,Code}} MetricName="Errors" Engine=({any_engine})'
    errors = cloudwatch.MathExpression(expression=f"SEARCH('{search}', 'Sum')", using_metrics={})
    dashboard = cloudwatch.Dashboard(scope, "Dashboard", dashboard_name=names.endpoint)
    dashboard.add_widgets(cloudwatch.AlarmStatusWidget(title=names.endpoint, alarms=list(alarms), width=_FULL_WIDTH))
    dashboard.add_widgets(
        graph("first chunk, µs", platform("FirstChunkLatency", "p50"), platform("FirstChunkLatency", "p95")),
        graph("sessions an instance", platform("ConcurrentRequestsPerModel", "Maximum")),
    )
    dashboard.add_widgets(
        graph("invocations", platform("Invocations", "Sum"), platform("Invocation5XXErrors", "Sum")),
        graph("broken in mid answer", platform("MidStreamErrors", "Sum"), platform("Invocation4XXErrors", "Sum")),
    )
    dashboard.add_widgets(
        graph("first audio inside, s", *container("FirstAudio", "p50", "p95")),
        graph("listeners that ran dry", *container("Underruns", "Sum")),
    )
    dashboard.add_widgets(
        graph("sentences that wait for the engine", *container("WaitingSegments", "Maximum")),
        graph("errors that clients were told, by code", errors),
    )
    return dashboard
