"""What answers: the runtime, its endpoint, what it may use, alarms, and the parameters that say where it is."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
from constructs import Construct

from agent_infra.constructs.agent_runtime import AgentRuntime
from agent_infra.constructs.alarms import agent_alarms
from agent_infra.constructs.permissions import permissions
from agent_infra.constructs.published import Published
from agent_infra.names import Names
from agent_infra.plan import Plan
from agent_infra.stacks.foundation import FoundationStack
from agent_infra.stacks.network import NetworkStack


class RuntimeStack(cdk.Stack):
    """Made after its foundation."""

    def __init__(
        self,
        scope: Construct,
        names: Names,
        *,
        plan: Plan,
        foundation: FoundationStack,
        network: NetworkStack | None,
        **settings: Any,
    ) -> None:
        super().__init__(scope, names.runtime_stack, **settings)
        self.add_stack_dependency(foundation)
        release = plan.release
        granted = permissions(self, plan.model, release.voice, foundation.execution.role)
        agent = AgentRuntime(
            self,
            "Agent",
            names=names,
            release=release,
            image_uri=foundation.repository.repository_uri_for_digest(release.image_digest),
            role_arn=foundation.execution.role.role_arn,
            network=network.network if network else None,
            after=granted,
        )
        agent_alarms(self, names, agent.runtime_arn, release.options.alarm_topic)
        Published(self, "Published", names=names, plan=plan, runtime_arn=agent.runtime_arn, after=agent.endpoint)
        cdk.CfnOutput(self, "RuntimeArn", value=agent.runtime_arn)
        cdk.CfnOutput(self, "EndpointArn", value=agent.endpoint.attr_agent_runtime_endpoint_arn)
        cdk.CfnOutput(self, "Version", value=agent.version)
