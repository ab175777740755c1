"""An alarm's way to an SNS topic that exists; aws_cloudwatch_actions would want the topic as a construct."""

from __future__ import annotations

import jsii
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct


@jsii.implements(cloudwatch.IAlarmAction)
class TopicAction:
    """Tells the topic of an ARN."""

    def __init__(self, arn: str) -> None:
        self._arn = arn

    def bind(self, scope: Construct, alarm: cloudwatch.IAlarm) -> cloudwatch.AlarmActionConfig:
        """The topic's ARN."""
        del scope, alarm
        return cloudwatch.AlarmActionConfig(alarm_action_arn=self._arn)
