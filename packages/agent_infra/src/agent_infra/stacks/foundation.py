"""What lasts: where images lie, and the role that the agent runs with. Cheap, and kept when the rest goes."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
from constructs import Construct
from infra_common.constructs.image_repository import image_repository

from agent_infra.constructs.execution_role import ExecutionRole
from agent_infra.names import Names


class FoundationStack(cdk.Stack):
    """Attributes are what the other stacks name."""

    def __init__(self, scope: Construct, names: Names, **settings: Any) -> None:
        super().__init__(scope, names.foundation_stack, **settings)
        self.repository = image_repository(self, names.repository)
        self.execution = ExecutionRole(self, "Execution", names=names, repository=self.repository)
        cdk.CfnOutput(self, "Repository", value=self.repository.repository_name)
        cdk.CfnOutput(self, "ExecutionRoleArn", value=self.execution.role.role_arn)
