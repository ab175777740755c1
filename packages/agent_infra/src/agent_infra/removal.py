"""`destroy`: the stacks in reverse order, waiting for each. What they keep is found by name, and told afterwards."""

from __future__ import annotations

from infra_common.stack_removal import remove_stack

from agent_infra.cleanup import empty_source_bucket
from agent_infra.target import Target


def destroy(target: Target) -> list[str]:
    """The stacks that were deleted. Raises DeploymentFailed, PreconditionError for what is not ours."""
    names = target.names
    removed = []
    for name in reversed(names.stacks):
        if name == names.builder_stack:
            empty_source_bucket(target)
        if remove_stack(target.cloudformation, name, target.owner, target.console):
            removed.append(name)
    return removed
