"""Making the image: on this machine's engine, or on CodeBuild's ARM machines where this one cannot."""

from __future__ import annotations

import io
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal

from infra_common.container_engine import ContainerEngine
from infra_common.failure import last_lines
from infra_common.image_recipe import ImageRecipe, push_image
from infra_common.image_store import StoredImage

from agent_infra.errors import BuildFailed
from agent_infra.images import NAME
from agent_infra.target import Target

Builder = Literal["docker", "codebuild"]
BUILDERS: Final = ("docker", "codebuild")
POLL_S: Final = 5.0
LONGEST_S: Final = 2400.0
"""The project's own limit, and ten minutes in its queue."""
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
_LOG_LINES: Final = 6


def build_with_engine(target: Target, recipe: ImageRecipe, engine: ContainerEngine) -> StoredImage:
    """Build here and push. Raises PreconditionError or ToolFailed."""
    tag = recipe.build(NAME, engine, target.console)
    return push_image(target.images, NAME, tag, engine, target.console)


def build_with_codebuild(
    target: Target,
    recipe: ImageRecipe,
    *,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> StoredImage:
    """Send the sources, have them built and pushed, wait. Raises BuildFailed with the build's last words."""
    names = target.names
    codebuild, s3 = target.client("codebuild"), target.client("s3")
    with recipe.staged() as context, target.console.step(f"build image {context.tag} with CodeBuild") as say:
        key = f"{context.tag}.zip"
        sources = zipped(context.directory)
        say(f"sending {len(sources) / 1e6:.1f} MB of sources")
        s3.put_object(Bucket=names.source_bucket, Key=key, Body=sources)
        variables = {
            "TAG": context.tag,
            "DOCKERFILE": recipe.dockerfile,
            "PLATFORM": recipe.platform,
            "BASE_IMAGE": recipe.arguments().get("BASE_IMAGE", ""),
        }
        build = codebuild.start_build(
            projectName=names.builder,
            sourceTypeOverride="S3",
            sourceLocationOverride=f"{names.source_bucket}/{key}",
            environmentVariablesOverride=[
                {"name": name, "value": value, "type": "PLAINTEXT"} for name, value in variables.items()
            ],
        )["build"]
        deadline = clock() + LONGEST_S
        while build["buildStatus"] == "IN_PROGRESS":
            if clock() > deadline:
                raise BuildFailed(
                    f"build {build['id']} is still in {build.get('currentPhase', 'its queue')} after "
                    f"{LONGEST_S / 60:.0f} minutes",
                    fix=f"aws codebuild stop-build --id {build['id']}",
                )
            say(f"CodeBuild: {build.get('currentPhase', 'QUEUED').lower().replace('_', ' ')}")
            pause(POLL_S)
            build = codebuild.batch_get_builds(ids=[build["id"]])["builds"][0]
        _require_success(target, build)
        found = target.images.find(context.tag)
    if found is None:
        raise BuildFailed(
            f"CodeBuild says that {context.tag} was built, but it is not in {names.repository}",
            fix=target.command("image push", "--builder codebuild"),
        )
    return found


def zipped(directory: Path) -> bytes:
    """A folder's files; equal folders are equal bytes."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(directory.rglob("*")):
            if path.is_file():
                entry = zipfile.ZipInfo(path.relative_to(directory).as_posix(), _EPOCH)
                entry.external_attr = (path.stat().st_mode & 0o777) << 16
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, path.read_bytes())
    return held.getvalue()


def _require_success(target: Target, build: dict[str, Any]) -> None:
    if build["buildStatus"] == "SUCCEEDED":
        return
    group = f"/aws/codebuild/{target.names.builder}"
    lines = [line.strip()[:300] for line in last_lines(target.client("logs"), group, _LOG_LINES) if line.strip()]
    contexts = [
        said["message"]
        for phase in build.get("phases", [])
        for said in phase.get("contexts", [])
        if phase.get("phaseStatus") not in {None, "SUCCEEDED"} and said.get("message")
    ]
    reason = contexts[-1] if contexts else build["buildStatus"].lower().replace("_", " ")
    words = f" Its last log lines: {' | '.join(lines)}" if lines else ""
    raise BuildFailed(
        f"CodeBuild could not make the image ({build['id']}): {reason}.{words}",
        fix=f"aws logs tail {group}   (the whole log), then {target.command('image push', '--builder codebuild')}",
    )
