"""How many instances: out at once when sessions wait, in late and one at a time.

Out: target tracking on concurrent requests, measured every ten seconds. In: not by the same policy, because an instance
that goes takes its sessions with it half a minute later. One instance goes after a quarter of an hour in which all
sessions would have fitted on one less, with room to spare.
"""

from __future__ import annotations

import aws_cdk as cdk
import jsii
from aws_cdk import aws_applicationautoscaling as scaling
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from speech_infra.catalogue import SpeechModel
from speech_infra.constructs.metrics import endpoint_metric
from speech_infra.names import Names
from speech_infra.options import EndpointOptions

OUT_COOLDOWN = 60
QUIET_MINUTES = 15
IN_COOLDOWN_MINUTES = 10
QUIET_SHARE = 0.4
"""Of the target: two instances at 40 % fit on one at 80 %."""

_SERVICE_ROLE = (
    "aws-service-role/sagemaker.application-autoscaling.amazonaws.com/"
    "AWSServiceRoleForApplicationAutoScaling_SageMakerEndpoint"
)


class FleetScaling(Construct):
    """Target, policy out, policy in with its alarm."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        names: Names,
        model: SpeechModel,
        options: EndpointOptions,
        endpoint: sagemaker.CfnEndpoint,
    ) -> None:
        super().__init__(scope, id)
        role = cdk.Stack.of(self).format_arn(service="iam", region="", resource="role", resource_name=_SERVICE_ROLE)
        target = scaling.ScalableTarget(
            self,
            "Target",
            service_namespace=scaling.ServiceNamespace.SAGEMAKER,
            scalable_dimension="sagemaker:variant:DesiredInstanceCount",
            resource_id=names.scalable_resource,
            min_capacity=options.instances,
            max_capacity=options.max_instances,
            role=iam.Role.from_role_arn(self, "ServiceRole", role),
        )
        target.node.add_dependency(endpoint)
        target.scale_to_track_metric(
            "Out",
            target_value=model.concurrency,
            predefined_metric=scaling.PredefinedMetric.SAGEMAKER_VARIANT_CONCURRENT_REQUESTS_PER_MODEL_HIGH_RESOLUTION,
            disable_scale_in=True,
            scale_out_cooldown=cdk.Duration.seconds(OUT_COOLDOWN),
        )
        quiet = endpoint_metric(names, "ConcurrentRequestsPerModel", statistic="Maximum").create_alarm(
            self,
            "Quiet",
            alarm_description=f"all sessions of {names.endpoint} would fit on one instance less",
            threshold=model.concurrency * QUIET_SHARE,
            comparison_operator=cloudwatch.ComparisonOperator.LESS_THAN_OR_EQUAL_TO_THRESHOLD,
            evaluation_periods=QUIET_MINUTES,
            treat_missing_data=cloudwatch.TreatMissingData.BREACHING,  # nobody speaks: no data
        )
        fewer = scaling.StepScalingAction(
            self,
            "In",
            scaling_target=target,
            adjustment_type=scaling.AdjustmentType.CHANGE_IN_CAPACITY,
            cooldown=cdk.Duration.minutes(IN_COOLDOWN_MINUTES),
            metric_aggregation_type=scaling.MetricAggregationType.MAXIMUM,
        )
        fewer.add_adjustment(adjustment=-1, upper_bound=0)
        quiet.add_alarm_action(_ScalingAction(fewer.scaling_policy_arn))


@jsii.implements(cloudwatch.IAlarmAction)
class _ScalingAction:
    """What aws_cloudwatch_actions.ApplicationScalingAction does, without a second module to load."""

    def __init__(self, arn: str) -> None:
        self._arn = arn

    def bind(self, scope: Construct, alarm: cloudwatch.IAlarm) -> cloudwatch.AlarmActionConfig:
        """The policy's ARN."""
        del scope, alarm
        return cloudwatch.AlarmActionConfig(alarm_action_arn=self._arn)
