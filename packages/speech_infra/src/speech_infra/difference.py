"""`diff`: the templates that `deploy` would use now, compared by the CDK command with what is deployed.

Templates are compared, without a change set: that would write to the account, and leave a stack in REVIEW_IN_PROGRESS
where there is none yet.
"""

from __future__ import annotations

from pathlib import Path

from infra_common.difference import show_difference as show
from infra_common.release_record import NO_DIGEST

from speech_infra.deployment import current_release, make_assembly
from speech_infra.images import ImageRecipe
from speech_infra.options import EndpointOptions
from speech_infra.release import Release
from speech_infra.target import Target


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
    show(target, make_assembly(target, target.names, release))
