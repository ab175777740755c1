"""Getting a stack out of a state in which CloudFormation refuses every change. Nothing retained is touched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from infra_common.errors import DeploymentFailed
from infra_common.stack_state import StackState, describe_stack
from infra_common.stack_watch import StackWatch

_WORDS: Final = {
    "busy": "an operation is going on: it is waited for",
    "unborn": "its first creation failed: what is left of it is deleted, which loses nothing that ever worked",
    "stuck": "its last update could not be taken back: the rollback is continued",
    "undead": "its deletion failed: it is tried again",
}


def needs_recovery(state: StackState | None) -> str:
    """Why a stack cannot be changed as it is; empty where it can."""
    return "" if state is None else _WORDS.get(state.standing, "")


def recover_stack(cloudformation: Any, name: str, say: Callable[[str], None]) -> StackState | None:
    """Bring the stack to where it may be changed; what it is then, None where it is gone. Raises DeploymentFailed."""
    watch = StackWatch(cloudformation, name)
    state = watch.settled(say)
    if state is None or state.standing == "steady":
        return state
    if state.standing == "stuck":
        cloudformation.continue_update_rollback(StackName=state.stack_id)
    else:
        cloudformation.delete_stack(StackName=state.stack_id)
    watch.settled(say)
    after = describe_stack(cloudformation, name)
    if after is not None and after.standing != "steady":
        raise DeploymentFailed(
            f"stack {name} is still in {after.status}: {after.reason or 'CloudFormation gives no reason'}",
            fix=f"aws cloudformation describe-stack-events --stack-name {name}",
        )
    return after
