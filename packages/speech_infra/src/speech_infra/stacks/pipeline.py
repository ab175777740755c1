"""Who may deploy from a pipeline: GitHub's OIDC provider, where the account has none yet, and the two roles."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import Construct

from speech_infra.constructs.pipeline_roles import PipelineRoles
from speech_infra.pipeline import AUDIENCE, HOST, Pipeline


class PipelineStack(cdk.Stack):
    """Outputs are what the repository's variables are set to.

    The provider outlives the stack: other stages, and other projects of the account, may have come to lean on it.
    """

    def __init__(self, scope: Construct, pipeline: Pipeline, **settings: Any) -> None:
        super().__init__(scope, pipeline.stack, **settings)
        if pipeline.makes_provider:
            provider = iam.CfnOIDCProvider(self, "GitHub", url=f"https://{HOST}", client_id_list=[AUDIENCE])
            provider.apply_removal_policy(cdk.RemovalPolicy.RETAIN)
            arn = provider.attr_arn
        else:
            arn = self.format_arn(service="iam", region="", resource="oidc-provider", resource_name=HOST)
        roles = PipelineRoles(self, "Roles", pipeline, arn)
        cdk.CfnOutput(self, "DeployRoleArn", value=roles.deploy.role_arn)
        cdk.CfnOutput(self, "DiffRoleArn", value=roles.diff.role_arn)
