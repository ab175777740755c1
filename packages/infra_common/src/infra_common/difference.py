"""Templates compared by the CDK command with what is deployed. Nothing is changed."""

from __future__ import annotations

from typing import Final

from infra_common import cdk_cli
from infra_common.assembly import Assembly
from infra_common.deployment_target import DeploymentTarget
from infra_common.errors import PreconditionError, ToolFailed

LONGEST_S: Final = 300.0


def show_difference(target: DeploymentTarget, assembly: Assembly) -> None:
    """Prints it; with JSON as one text a stack. Raises PreconditionError without the command, ToolFailed."""
    if cdk_cli.installed_version(target.root) is None:
        raise PreconditionError("the pinned CDK command is not installed", fix="npm ci")
    texts = {}
    for stack in assembly.stacks:
        run = target.cdk.start(
            ["diff", stack, "--exclusively", "--app", str(assembly.directory), "--ci", "--method", "template"],
            f"diff-{stack}",
        )
        code = run.ended(LONGEST_S)
        if code is None:
            run.end()
        if code != 0:
            raise ToolFailed(f"cdk diff failed: {run.tail()} (all of it: {run.log})")
        texts[stack] = run.output().strip()
        target.console.line(texts[stack])
        target.console.line()
    target.console.result({"differences": texts})
