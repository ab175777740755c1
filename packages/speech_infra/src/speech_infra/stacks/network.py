"""The optional VPC, in a stack of its own: it changes rarely and takes long to go."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
from constructs import Construct

from speech_infra.constructs.quiet_network import QuietNetwork
from speech_infra.names import Names


class NetworkStack(cdk.Stack):
    """`network` is what the endpoint's stack names."""

    def __init__(self, scope: Construct, names: Names, **settings: Any) -> None:
        super().__init__(scope, names.network_stack, **settings)
        self.network = QuietNetwork(self, "Network")
