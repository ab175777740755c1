"""`destroy`: the stacks in reverse order, waiting for each. What they keep is found by name, and told afterwards.

Whoever uses the endpoint says so in a parameter (infra_common.endpoint_parameters). Such an endpoint goes only where
that was asked for: the user would go on without a voice.
"""

from __future__ import annotations

from contextlib import suppress

from infra_common.endpoint_parameters import EndpointUser, users_of
from infra_common.stack_removal import remove_stack

from speech_infra.errors import EndpointInUse
from speech_infra.smoke_report import PARAMETER
from speech_infra.target import Target


def require_unused(target: Target, *, force: bool = False) -> list[EndpointUser]:
    """Who uses the endpoint, which `force` allows. Raises EndpointInUse with the command that takes the first down."""
    users = users_of(target.client("ssm"), target.names.parameters)
    if users and not force:
        named = ", ".join(f"{each.kind} {each.name}" for each in users)
        raise EndpointInUse(
            f"{target.names.endpoint} is used by {named}; nothing was deleted. With --force it goes all the same",
            fix=users[0].removal,
        )
    return users


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
        ssm.delete_parameter(Name=f"{names.parameters.prefix}/{PARAMETER}")
    return removed
