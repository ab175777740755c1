"""`destroy`: the stacks in reverse order, waiting for each. What they keep is found by name, and told afterwards."""

from __future__ import annotations

from contextlib import suppress

from infra_common.stack_removal import remove_stack

from speech_infra.smoke_report import PARAMETER
from speech_infra.target import Target


def destroy(target: Target) -> list[str]:
    """The stacks that were deleted. Raises DeploymentFailed, PreconditionError for what is not ours."""
    names = target.names
    removed = [
        name
        for name in reversed(names.stacks)
        if remove_stack(target.cloudformation, name, target.owner, target.console)
    ]
    ssm = target.client("ssm")
    with suppress(ssm.exceptions.ParameterNotFound):  # no smoke test was ever run
        ssm.delete_parameter(Name=f"{names.parameter_prefix}/{PARAMETER}")
    return removed
