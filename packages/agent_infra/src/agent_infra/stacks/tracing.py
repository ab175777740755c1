"""Transaction Search, where it was asked for and nobody had switched it on: a setting of the account, so it is kept."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
from constructs import Construct

from agent_infra.constructs.transaction_search import transaction_search
from agent_infra.names import Names


class TracingStack(cdk.Stack):
    """Other agents of the account and region lean on it once it is there."""

    def __init__(self, scope: Construct, names: Names, **settings: Any) -> None:
        super().__init__(scope, names.tracing_stack, **settings)
        transaction_search(self, names)
