"""SageMaker's metrics of one endpoint, by name ("Monitor Amazon SageMaker AI with CloudWatch", invocation metrics)."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch

from speech_infra.names import VARIANT, Names

NAMESPACE = "AWS/SageMaker"


def endpoint_metric(names: Names, metric: str, *, statistic: str, period_s: int = 60) -> cloudwatch.Metric:
    """`FirstChunkLatency` is in microseconds and counts bidirectional sessions too."""
    return cloudwatch.Metric(
        namespace=NAMESPACE,
        metric_name=metric,
        statistic=statistic,
        period=cdk.Duration.seconds(period_s),
        dimensions_map={"EndpointName": names.endpoint, "VariantName": VARIANT},
    )
