"""The optional VPC, in a stack of its own: it changes rarely and takes long to go."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
import jsii
from constructs import Construct

from agent_infra.constructs.egress_network import ZONES, EgressNetwork
from agent_infra.names import Names


class NetworkStack(cdk.Stack):
    """`network` is what the runtime's stack names."""

    def __init__(self, scope: Construct, names: Names, **settings: Any) -> None:
        super().__init__(scope, names.network_stack, **settings)
        self.network = EgressNetwork(self, "Network")

    @property
    @jsii.member(jsii_name="availabilityZones")
    def availability_zones(self) -> list[str]:
        """The region's first, whichever they are: CDK would ask AWS for their names, and synthesis asks nobody."""
        return [cdk.Fn.select(index, cdk.Fn.get_azs()) for index in range(ZONES)]
