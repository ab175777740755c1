"""A VPC without a way out, for whoever must keep hosting inside one. An interface endpoint costs 0.01 USD an hour.

Only what SageMaker's hosting platform itself reaches through the VPC: S3 for the weights (a free gateway), ECR for the
image and CloudWatch Logs. The container has no network at all (isolation), with or without this.
"""

from __future__ import annotations

from aws_cdk import aws_ec2 as ec2
from constructs import Construct
from infra_common.constructs.flow_log import add_flow_log

ZONES = 2


class QuietNetwork(Construct):
    """`subnet_ids` and `security_group_ids` are what a model names."""

    def __init__(self, scope: Construct, id: str) -> None:
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
        add_flow_log(self, vpc)
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
