"""The CDK app: the stacks of one agent in one stage. `agent-infra synth` makes it; nothing here asks AWS."""

from __future__ import annotations

from pathlib import Path

import aws_cdk as cdk
from infra_common.governed_app import governed_app
from infra_common.ownership import Owner

from agent_infra.names import Names
from agent_infra.plan import Plan
from agent_infra.rules import RULES
from agent_infra.stacks.builder import BuilderStack
from agent_infra.stacks.foundation import FoundationStack
from agent_infra.stacks.network import NetworkStack
from agent_infra.stacks.runtime import RuntimeStack
from agent_infra.stacks.tracing import TracingStack


def build_app(names: Names, owner: Owner, plan: Plan, output: Path) -> cdk.App:
    """All stacks, tagged; synthesis checks the house rules."""
    options = plan.release.options
    tags = options.tags | owner.tags()
    app, settings = governed_app(names.account, names.region, tags, RULES, output)
    foundation = FoundationStack(app, names, **settings)
    network = NetworkStack(app, names, **settings) if options.use_vpc else None
    if plan.enables_tracing:
        TracingStack(app, names, **settings)
    if plan.has_builder:
        BuilderStack(app, names, foundation, **settings)
    RuntimeStack(app, names, plan=plan, foundation=foundation, network=network, **settings)
    return app
