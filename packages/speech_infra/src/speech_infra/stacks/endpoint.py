"""What serves: model, endpoint, scaling, alarms, dashboard, and the parameters that say where it is.

While it is paused only the parameters, the model and its configuration are left, which cost nothing.
"""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from speech_infra.catalogue import SpeechModel
from speech_infra.constructs.alarms import EndpointAlarms
from speech_infra.constructs.autoscaling import FleetScaling
from speech_infra.constructs.dashboard import speech_dashboard
from speech_infra.constructs.published import Published
from speech_infra.constructs.speech_endpoint import speech_endpoint
from speech_infra.constructs.speech_model import HostedModel
from speech_infra.names import Names
from speech_infra.release import Release
from speech_infra.stacks.foundation import FoundationStack
from speech_infra.stacks.network import NetworkStack


class EndpointStack(cdk.Stack):
    """Made after its foundation."""

    def __init__(
        self,
        scope: Construct,
        names: Names,
        *,
        model: SpeechModel,
        release: Release,
        foundation: FoundationStack,
        network: NetworkStack | None,
        **settings: Any,
    ) -> None:
        super().__init__(scope, names.endpoint_stack, **settings)
        self.add_stack_dependency(foundation)
        options = release.options
        hosted = HostedModel(
            self,
            "Voice",
            model=model,
            release=release,
            image_uri=foundation.repository.repository_uri_for_digest(release.image_digest),
            weights_uri=foundation.weights.bucket.s3_url_for_object(release.weights_prefix),
            role_arn=foundation.execution.role.role_arn,
            key=foundation.key,
            network=_vpc_config(network),
        )
        Published(self, "Published", names, release)
        cdk.CfnOutput(self, "EndpointName", value=names.endpoint)
        if release.is_paused:
            return
        alarms = EndpointAlarms(self, "Alarms", names, model, options)
        endpoint = speech_endpoint(self, names, options, hosted.config_name, alarms.guards)
        FleetScaling(self, "Scaling", names=names, model=model, options=options, endpoint=endpoint)
        speech_dashboard(self, names, model.engines, alarms.all)
        cdk.CfnOutput(self, "EndpointArn", value=endpoint.ref)


def _vpc_config(network: NetworkStack | None) -> sagemaker.CfnModel.VpcConfigProperty | None:
    if network is None:
        return None
    return sagemaker.CfnModel.VpcConfigProperty(
        subnets=network.network.subnet_ids, security_group_ids=network.network.security_group_ids
    )
