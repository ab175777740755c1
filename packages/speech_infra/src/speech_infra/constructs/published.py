"""SSM parameters that say where the voice is: agents read them instead of being told. Standard parameters are free."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from speech_infra.names import Names
from speech_infra.release import Release


class Published(Construct):
    """Name, ARN and region of the endpoint, also while it is paused; and the release with its history."""

    def __init__(self, scope: Construct, id: str, names: Names, release: Release) -> None:
        super().__init__(scope, id)
        stack = cdk.Stack.of(self)
        arn = stack.format_arn(service="sagemaker", resource="endpoint", resource_name=names.endpoint)
        published = names.parameters
        for id_, name, value, what in (
            ("EndpointName", published.endpoint_name, names.endpoint, "SageMaker endpoint that speaks"),
            ("EndpointArn", published.endpoint_arn, arn, "what an agent's role must be allowed to invoke"),
            ("Region", published.region, stack.region, "where it is"),
        ):
            ssm.StringParameter(self, id_, parameter_name=name, string_value=value, description=what)
        ssm.StringParameter(
            self,
            "Release",
            parameter_name=published.release,
            string_value=release.render(),
            description="image, weights and options that are live; its versions are the history",
        )
