"""The endpoint: the one thing that costs by the hour, whoever speaks.

Its name is stable, so that agents keep it over updates. An update brings a second fleet up, lets it bake while the
alarms watch, and goes back by itself when one of them rises. A canary needs a fleet of two (its size is at most half).
"""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from speech_infra.names import Names
from speech_infra.options import EndpointOptions

BAKE_S = 300
TERMINATION_WAIT_S = 60
LONGEST_UPDATE_S = 3600

_Endpoint = sagemaker.CfnEndpoint


def speech_endpoint(
    scope: Construct,
    names: Names,
    options: EndpointOptions,
    config_name: str,
    alarms: Sequence[cloudwatch.IAlarm],
) -> sagemaker.CfnEndpoint:
    """The endpoint; `alarms` roll an update back."""
    policy = _rolling(options) if options.strategy == "rolling" else _blue_green(options)
    return _Endpoint(
        scope,
        "Endpoint",
        endpoint_name=names.endpoint,
        endpoint_config_name=config_name,
        retain_all_variant_properties=True,  # an update keeps the number of instances that scaling has chosen
        deployment_config=_Endpoint.DeploymentConfigProperty(
            auto_rollback_configuration=_Endpoint.AutoRollbackConfigProperty(
                alarms=[_Endpoint.AlarmProperty(alarm_name=alarm.alarm_name) for alarm in alarms]
            ),
            **policy,
        ),
    )


def _blue_green(options: EndpointOptions) -> dict[str, object]:
    one = _Endpoint.CapacitySizeProperty(type="INSTANCE_COUNT", value=1)
    has_canary = options.instances >= 2
    return {
        "blue_green_update_policy": _Endpoint.BlueGreenUpdatePolicyProperty(
            traffic_routing_configuration=_Endpoint.TrafficRoutingConfigProperty(
                type="CANARY" if has_canary else "ALL_AT_ONCE",
                canary_size=one if has_canary else None,
                wait_interval_in_seconds=BAKE_S,
            ),
            termination_wait_in_seconds=TERMINATION_WAIT_S,
            maximum_execution_timeout_in_seconds=LONGEST_UPDATE_S,
        )
    }


def _rolling(options: EndpointOptions) -> dict[str, object]:
    half = _Endpoint.CapacitySizeProperty(type="INSTANCE_COUNT", value=options.instances // 2)
    return {
        "rolling_update_policy": _Endpoint.RollingUpdatePolicyProperty(
            maximum_batch_size=half,
            rollback_maximum_batch_size=half,
            wait_interval_in_seconds=BAKE_S,
            maximum_execution_timeout_in_seconds=LONGEST_UPDATE_S,
        )
    }
