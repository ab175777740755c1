"""Where a VPC notes its connections, refused and accepted ones, for a month."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct


def add_flow_log(scope: Construct, vpc: ec2.Vpc) -> None:
    """A log group in `scope`, and a role that this account's flow logs alone may take."""
    stack = cdk.Stack.of(scope)
    group = logs.LogGroup(
        scope, "FlowLog", retention=logs.RetentionDays.ONE_MONTH, removal_policy=cdk.RemovalPolicy.DESTROY
    )
    source = stack.format_arn(service="ec2", resource="vpc-flow-log", resource_name="*")
    role = iam.Role(
        scope,
        "FlowLogRole",
        assumed_by=iam.ServicePrincipal(
            "vpc-flow-logs.amazonaws.com",
            conditions={"StringEquals": {"aws:SourceAccount": stack.account}, "ArnLike": {"aws:SourceArn": source}},
        ),
    )
    vpc.add_flow_log("Flows", destination=ec2.FlowLogDestination.to_cloud_watch_logs(group, role))
