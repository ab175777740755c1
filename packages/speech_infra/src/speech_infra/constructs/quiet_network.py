"""A VPC without a way out, for whoever must keep hosting inside one. An interface endpoint costs 0.01 USD an hour.

Only what SageMaker's hosting platform itself reaches through the VPC: S3 for the weights (a free gateway), ECR for the
image and CloudWatch Logs. The container has no network at all (isolation), with or without this.
"""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

ZONES = 2


class QuietNetwork(Construct):
    """`subnet_ids` and `security_group_ids` are what a model names."""

    def __init__(self, scope: Construct, id: str) -> None:  # noqa: A002 - CDK's name
        super().__init__(scope, id)
        vpc = ec2.Vpc(
            self,
            "Vpc",
            max_azs=ZONES,
            nat_gateways=0,
            restrict_default_security_group=False,  # takes a Lambda function, and nothing is ever in that group
            subnet_configuration=[
                ec2.SubnetConfiguration(name="hosting", subnet_type=ec2.SubnetType.PRIVATE_ISOLATED, cidr_mask=24)
            ],
        )
        vpc.add_flow_log("Flows", destination=ec2.FlowLogDestination.to_cloud_watch_logs(*_flow_log(self)))
        group = ec2.SecurityGroup(
            self, "Hosting", vpc=vpc, description="hosting instances: HTTPS out, nothing in", allow_all_outbound=False
        )
        # There is no route out of the VPC: "any address" is S3's gateway and the interface endpoints.
        group.add_egress_rule(ec2.Peer.any_ipv4(), ec2.Port.tcp(443), "HTTPS to S3, ECR and CloudWatch Logs")
        vpc.add_gateway_endpoint("S3", service=ec2.GatewayVpcEndpointAwsService.S3)
        for name, service in (
            ("EcrApi", ec2.InterfaceVpcEndpointAwsService.ECR),
            ("EcrDocker", ec2.InterfaceVpcEndpointAwsService.ECR_DOCKER),
            ("Logs", ec2.InterfaceVpcEndpointAwsService.CLOUDWATCH_LOGS),
        ):
            endpoint = vpc.add_interface_endpoint(name, service=service, open=False)
            endpoint.connections.allow_default_port_from(group, "hosting instances only")
        self.subnet_ids = [subnet.subnet_id for subnet in vpc.isolated_subnets]
        self.security_group_ids = [group.security_group_id]


def _flow_log(scope: Construct) -> tuple[logs.LogGroup, iam.Role]:
    """Where refused and accepted connections are noted, and who may write it: this account's flow logs only."""
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
    return group, role
