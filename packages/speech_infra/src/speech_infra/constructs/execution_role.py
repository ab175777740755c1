"""The role that SageMaker takes to start the container: one image repository, one prefix of weights, one log group.

The container itself runs with network isolation and gets no credentials. Trust is bound to this account's SageMaker
resources, so that no other account's can have SageMaker take the role on its behalf.
"""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct
from infra_common.constructs.statements import allow, argue_wildcards

from speech_infra.names import Names

_WEIGHTS = "weights/*"


class ExecutionRole(Construct):
    """`role` is what the model names; `network` adds what a VPC needs."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        names: Names,
        bucket: s3.IBucket,
        repository: ecr.IRepository,
        key: kms.IKey | None,
        in_vpc: bool,
    ) -> None:
        super().__init__(scope, id)
        stack = cdk.Stack.of(self)
        ours = stack.format_arn(service="sagemaker", resource="*", arn_format=cdk.ArnFormat.NO_RESOURCE_NAME)
        self.role = iam.Role(
            self,
            "Role",
            description=f"SageMaker starts {names.endpoint} with it",
            assumed_by=iam.ServicePrincipal(
                "sagemaker.amazonaws.com",
                conditions={
                    "StringEquals": {"aws:SourceAccount": stack.account},
                    "ArnLike": {"aws:SourceArn": ours},
                },
            ),
        )
        log_group = stack.format_arn(
            service="logs",
            resource="log-group",
            resource_name=names.log_group,
            arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
        )
        weights = f"arn:{cdk.Aws.PARTITION}:s3:::{names.weights_bucket}/{_WEIGHTS}"
        statements = [
            allow("ReadWeights", ["s3:GetObject"], [weights]),
            allow("ListWeights", ["s3:ListBucket"], [bucket.bucket_arn], {"StringLike": {"s3:prefix": [_WEIGHTS]}}),
            allow(
                "PullImage",
                ["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"],
                [repository.repository_arn],
            ),
            allow("LogInToRegistry", ["ecr:GetAuthorizationToken"], ["*"]),
            allow("WriteLog", ["logs:CreateLogGroup", "logs:DescribeLogStreams"], [log_group]),
            allow("WriteLogLines", ["logs:CreateLogStream", "logs:PutLogEvents"], [f"{log_group}:log-stream:*"]),
            allow(
                "PutMetrics",
                ["cloudwatch:PutMetricData"],
                ["*"],
                {"StringEquals": {"cloudwatch:namespace": "/aws/sagemaker/Endpoints"}},
            ),
        ]
        wildcards = {
            "*": "ECR's tokens, CloudWatch's metrics (bound to one namespace) and EC2's descriptions know no resource",
            weights: "weights lie under the hash of their content, which changes with each release",
            f"{log_group}:log-stream:*": "SageMaker names a stream for each instance, in this one group",
        }
        if key is not None:
            via = [f"{service}.{stack.region}.{cdk.Aws.URL_SUFFIX}" for service in ("s3", "ecr")]
            statements.append(
                allow("Decrypt", ["kms:Decrypt"], [key.key_arn], {"StringEquals": {"kms:ViaService": via}})
            )
        if in_vpc:
            found, why = _network(stack)
            statements += found
            wildcards |= why
        policy = iam.Policy(self, "Policy", statements=statements, roles=[self.role])
        argue_wildcards(policy, wildcards)
        self.policy = policy


def _network(stack: cdk.Stack) -> tuple[list[iam.PolicyStatement], dict[str, str]]:
    """What the developer guide lists for models in a VPC ("Give SageMaker AI Hosted Endpoints Access to Resources")."""
    kinds = ("network-interface", "subnet", "security-group")
    where = [stack.format_arn(service="ec2", resource=kind, resource_name="*") for kind in kinds]
    statements = [
        allow(
            "MakeInterfaces",
            [
                "ec2:CreateNetworkInterface",
                "ec2:CreateNetworkInterfacePermission",
                "ec2:DeleteNetworkInterface",
                "ec2:DeleteNetworkInterfacePermission",
            ],
            where,
        ),
        allow(
            "DescribeNetwork",
            [
                "ec2:DescribeDhcpOptions",
                "ec2:DescribeNetworkInterfaces",
                "ec2:DescribeSecurityGroups",
                "ec2:DescribeSubnets",
                "ec2:DescribeVpcs",
            ],
            ["*"],
        ),
    ]
    return statements, dict.fromkeys(where, "SageMaker makes the interfaces itself, under ids of its own")
