"""`diff`: the templates that `deploy` would use now, compared by the CDK command with what is deployed.

Templates are compared, without a change set: that would write to the account, and leave a stack in REVIEW_IN_PROGRESS
where there is none yet.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from infra_common import cdk_cli
from infra_common.errors import ToolFailed

from speech_infra.deployment import current_release, make_assembly
from speech_infra.errors import NotDeployed
from speech_infra.images import ImageRecipe
from speech_infra.options import EndpointOptions
from speech_infra.release import NO_DIGEST, Release
from speech_infra.target import Target

LONGEST_S: Final = 300.0


def show_difference(target: Target, dockerfile: Path | None) -> None:
    """Prints it; with JSON as one text a stack. Raises ToolFailed."""
    live = current_release(target)
    tag = ImageRecipe.of(target.root, target.model, dockerfile).content_tag()
    found = target.images.find(tag)
    digest = found.digest if found else NO_DIGEST
    if found is None:
        target.console.warn(f"image {tag} is not in the repository: deploy would build it; the difference shows zeros")
    options = live.options if live else EndpointOptions.for_model(target.model)
    release = Release(digest, live.weights if live else "0" * 32, options)
    assembly = make_assembly(target, target.names, release)
    if cdk_cli.installed_version(target.root) is None:
        raise NotDeployed("the pinned CDK command is not installed", fix="npm ci")
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
