"""Deleting a stack and waiting until it is gone. Only a stack with our tags is deleted."""

from __future__ import annotations

from typing import Any

from infra_common.console import Console
from infra_common.errors import DeploymentFailed, PreconditionError
from infra_common.ownership import Owner
from infra_common.stack_events import first_failure, last_operation
from infra_common.stack_state import describe_stack
from infra_common.stack_watch import StackWatch


def remove_stack(cloudformation: Any, name: str, owner: Owner, console: Console) -> bool:
    """Whether there was one. Raises PreconditionError for a stack of somebody else, DeploymentFailed."""
    state = describe_stack(cloudformation, name)
    if state is None:
        return False
    if not owner.owns(state.tags):
        raise PreconditionError(
            f"stack {name} does not carry the tags of stage {owner.stage}: somebody else made it, so it is left alone"
        )
    with console.step(f"delete stack {name}") as say:
        watch = StackWatch(cloudformation, name)
        if state.standing == "busy":
            watch.settled(say)
        cloudformation.delete_stack(StackName=state.stack_id)
        after = watch.settled(say)
    if after is not None:
        failure = first_failure(last_operation(watch.seen))
        reason = failure.reason if failure else after.reason
        raise DeploymentFailed(
            f"stack {name} is in {after.status}: {reason or 'CloudFormation gives no reason'}",
            fix="the same command again, once what stands in the way is gone",
        )
    return True
