"""The optional CodeBuild project, for people whose machine cannot build for arm64."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
from constructs import Construct

from agent_infra.constructs.image_builder import ImageBuilder
from agent_infra.names import Names
from agent_infra.stacks.foundation import FoundationStack


class BuilderStack(cdk.Stack):
    """Made after its foundation."""

    def __init__(self, scope: Construct, names: Names, foundation: FoundationStack, **settings: Any) -> None:
        super().__init__(scope, names.builder_stack, **settings)
        self.add_stack_dependency(foundation)
        ImageBuilder(self, "Builder", names=names, repository=foundation.repository)
