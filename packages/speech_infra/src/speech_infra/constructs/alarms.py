"""What wakes somebody up, and what turns an update back. 0.10 USD an alarm and month.

The first two guard updates: SageMaker goes back by itself when one of them rises while new instances bake. An idle day
is no fault, but it is money: an endpoint costs the same whether or not anybody speaks.
"""

from __future__ import annotations

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct
from infra_common.constructs.topic_action import TopicAction

from speech_infra.catalogue import SpeechModel
from speech_infra.constructs.metrics import endpoint_metric
from speech_infra.names import Names
from speech_infra.options import EndpointOptions

FIRST_CHUNK_P95_US = 1_500_000
"""A listener takes a second and a half of silence for a fault."""
_HOUR_S = 3600
_Compare = cloudwatch.ComparisonOperator
_Missing = cloudwatch.TreatMissingData


class EndpointAlarms(Construct):
    """`guards` roll an update back; `all` are for the dashboard."""

    def __init__(self, scope: Construct, id: str, names: Names, model: SpeechModel, options: EndpointOptions) -> None:
        super().__init__(scope, id)
        slow = endpoint_metric(names, "FirstChunkLatency", statistic="p95").create_alarm(
            self,
            "FirstChunkSlow",
            alarm_description=f"95 of 100 listeners of {names.endpoint} wait more than 1.5 s for their first sound",
            threshold=FIRST_CHUNK_P95_US,
            comparison_operator=_Compare.GREATER_THAN_THRESHOLD,
            evaluation_periods=3,
            datapoints_to_alarm=2,
            treat_missing_data=_Missing.NOT_BREACHING,
        )
        failing = endpoint_metric(names, "Invocation5XXErrors", statistic="Sum").create_alarm(
            self,
            "Failing",
            alarm_description=f"{names.endpoint} answers with server errors",
            threshold=1,
            comparison_operator=_Compare.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            evaluation_periods=1,
            treat_missing_data=_Missing.NOT_BREACHING,
        )
        full = endpoint_metric(names, "ConcurrentRequestsPerModel", statistic="Maximum").create_alarm(
            self,
            "Full",
            alarm_description=f"{names.endpoint} serves as many sessions as its largest fleet is meant for",
            threshold=model.concurrency * options.max_instances,
            comparison_operator=_Compare.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            evaluation_periods=5,
            treat_missing_data=_Missing.NOT_BREACHING,
        )
        idle = endpoint_metric(names, "Invocations", statistic="Sum", period_s=_HOUR_S).create_alarm(
            self,
            "Idle",
            alarm_description=f"nobody has used {names.endpoint} for a day; `speech-infra pause` stops what it costs",
            threshold=0,
            comparison_operator=_Compare.LESS_THAN_OR_EQUAL_TO_THRESHOLD,
            evaluation_periods=24,
            treat_missing_data=_Missing.BREACHING,  # no invocation: no data
        )
        self.guards = [slow, failing]
        self.all = [slow, failing, full, idle]
        if options.alarm_topic is not None:
            for alarm in self.all:
                alarm.add_alarm_action(TopicAction(options.alarm_topic))
