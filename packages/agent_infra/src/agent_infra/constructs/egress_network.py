"""A VPC for whoever must keep the agent inside one. Its NAT gateway costs 0.045 USD an hour, and as much a GB.

The agent calls Bedrock, ECR, CloudWatch and SageMaker, whose bidirectional streams are at port 8443, for which there
is no interface endpoint: so there is a way out, and the security group lets nothing through but these two ports.
AgentCore takes subnets of some availability zones only ("Configure AgentCore Runtime for VPC"); where it refuses one,
`deploy` says so.
"""

from __future__ import annotations

from aws_cdk import aws_ec2 as ec2
from constructs import Construct
from infra_common.constructs.flow_log import add_flow_log

ZONES = 2
_PORTS = {443: "HTTPS to AWS", 8443: "bidirectional streams to SageMaker"}


class EgressNetwork(Construct):
    """`subnet_ids` and `security_group_ids` are what a runtime names."""

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        vpc = ec2.Vpc(
            self,
            "Vpc",
            max_azs=ZONES,
            nat_gateways=1,
            restrict_default_security_group=False,  # takes a Lambda function, and nothing is ever in that group
            subnet_configuration=[
                ec2.SubnetConfiguration(
                    name="way-out",
                    subnet_type=ec2.SubnetType.PUBLIC,
                    cidr_mask=28,
                    map_public_ip_on_launch=False,
                ),
                ec2.SubnetConfiguration(name="agent", subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS, cidr_mask=24),
            ],
        )
        add_flow_log(self, vpc)
        vpc.add_gateway_endpoint("S3", service=ec2.GatewayVpcEndpointAwsService.S3)  # image layers, past the NAT
        group = ec2.SecurityGroup(
            self, "Agent", vpc=vpc, description="agents: two ports out, nothing in", allow_all_outbound=False
        )
        for port, why in _PORTS.items():
            group.add_egress_rule(ec2.Peer.any_ipv4(), ec2.Port.tcp(port), why)
        self.subnet_ids = [subnet.subnet_id for subnet in vpc.private_subnets]
        self.security_group_ids = [group.security_group_id]
