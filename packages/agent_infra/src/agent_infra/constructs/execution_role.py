"""The role that the agent runs with, as far as it does not depend on a release: its image, its log, its traces.

What it may ask of Bedrock and SageMaker is in the runtime's stack (`permissions`), beside the release that needs it.
Trust is bound to this account's AgentCore resources, so that no other account's can have the service take the role.
"""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_iam as iam
from constructs import Construct
from infra_common.constructs.statements import allow, argue_wildcards

from agent_infra.names import Names


class ExecutionRole(Construct):
    """`role` is what the runtime names."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        names: Names,
        repository: ecr.IRepository,
    ) -> None:
        super().__init__(scope, id)
        stack = cdk.Stack.of(self)
        ours = stack.format_arn(service="bedrock-agentcore", resource="*", arn_format=cdk.ArnFormat.NO_RESOURCE_NAME)
        self.role = iam.Role(
            self,
            "Role",
            description=f"{names.deployment} runs with it",
            assumed_by=iam.ServicePrincipal(
                "bedrock-agentcore.amazonaws.com",
                conditions={
                    "StringEquals": {"aws:SourceAccount": stack.account},
                    "ArnLike": {"aws:SourceArn": ours},
                },
            ),
        )

        def logs(name: str) -> str:
            arn: str = stack.format_arn(
                service="logs",
                resource="log-group",
                resource_name=name,
                arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
            )
            return arn

        groups = logs(f"{names.log_group_prefix}*")
        streams = logs(f"{names.log_group_prefix}*:log-stream:*")
        every_group = logs("*")
        directory = stack.format_arn(
            service="bedrock-agentcore", resource="workload-identity-directory", resource_name="default"
        )
        identity = f"{directory}/workload-identity/{names.runtime}-*"
        policy = iam.Policy(
            self,
            "Policy",
            roles=[self.role],
            statements=[
                allow(
                    "PullImage",
                    ["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"],
                    [repository.repository_arn],
                ),
                allow("LogInToRegistry", ["ecr:GetAuthorizationToken"], ["*"]),
                allow(
                    "KnowCaller",
                    [
                        "bedrock-agentcore:GetWorkloadAccessToken",
                        "bedrock-agentcore:GetWorkloadAccessTokenForJWT",
                        "bedrock-agentcore:GetWorkloadAccessTokenForUserId",
                    ],
                    [directory, identity],
                ),
                allow("FindLog", ["logs:DescribeLogGroups"], [every_group]),
                allow("WriteLog", ["logs:CreateLogGroup", "logs:DescribeLogStreams"], [groups]),
                allow("WriteLogLines", ["logs:CreateLogStream", "logs:PutLogEvents"], [streams]),
                allow(
                    "Trace",
                    [
                        "xray:GetSamplingRules",
                        "xray:GetSamplingTargets",
                        "xray:PutTelemetryRecords",
                        "xray:PutTraceSegments",
                    ],
                    ["*"],
                ),
                allow(
                    "PutMetrics",
                    ["cloudwatch:PutMetricData"],
                    ["*"],
                    {"StringEquals": {"cloudwatch:namespace": "bedrock-agentcore"}},
                ),
            ],
        )
        argue_wildcards(
            policy,
            {
                "*": "ECR's tokens, X-Ray and CloudWatch's metrics (bound to one namespace) know no resource",
                identity: "AgentCore names the identity of this one runtime by an id that it makes up",
                groups: "AgentCore names the groups of this one runtime by an id that it makes up",
                streams: "AgentCore names a stream for each session, in the groups of this one runtime",
                every_group: "AgentCore looks for its group; describing groups knows no narrower resource",
            },
        )
