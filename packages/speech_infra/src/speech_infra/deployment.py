"""`deploy`, step by step: each step looks first whether it has been done, so that an interrupted run goes on.

doctor → foundation → weights → image → endpoint → smoke test → summary. The caller runs the first and the last two.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import infra_common
from infra_common.assembly import Assembly, fingerprint, synthesise, synthesise_once
from infra_common.container_engine import ContainerEngine
from infra_common.errors import ArtefactMissing
from infra_common.release_record import NO_DIGEST
from infra_common.stack_deployment import Deployed, StackDeployment

from speech_infra.causes import explain_failure
from speech_infra.endpoint import endpoint_state
from speech_infra.images import ImageRecipe, build_image, push_image
from speech_infra.names import Names
from speech_infra.options import EndpointOptions
from speech_infra.release import Release
from speech_infra.release_history import live_release
from speech_infra.target import Target
from speech_infra.weights import content_of, sync

if TYPE_CHECKING:
    from kokoro_weights import WeightsDirectory


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a deployment changed."""

    release: Release
    changed: tuple[str, ...]
    """What was made or changed; empty where all was there already."""


def make_assembly(target: Target, names: Names, release: Release, directory: Path | None = None) -> Assembly:
    """The templates of a release, in a directory that is kept for it where none is given. CDK is imported here."""

    def build(into: Path) -> Any:
        from speech_infra.app import build_app

        return build_app(names, target.owner, release, into)

    owner = "".join(f"{key}={value}" for key, value in target.owner.tags().items())
    inputs = (release.render(), names.account, names.region, owner, names.endpoint)
    sources = (Path(__file__).parent, Path(infra_common.__file__).parent)
    made_from = fingerprint(sources, *inputs)
    with target.console.step("make the templates"):
        if directory is None:
            return synthesise_once(build, target.assembly_directory.parent / "releases" / names.endpoint, made_from)
        return synthesise(build, directory, made_from)


class Deployment:
    """Brings one target to one release."""

    def __init__(self, target: Target, options: EndpointOptions) -> None:
        self._target = target
        self._options = options
        self._changed: list[str] = []

    def deploy(
        self, weights: WeightsDirectory, recipe: ImageRecipe | None, digest: str | None, engine: ContainerEngine
    ) -> Outcome:
        """With the image of `recipe`, built where it is not in the repository, or the one with `digest`."""
        target = self._target
        target.install_cdk()
        tag = None if recipe is None else recipe.content_tag()
        known = digest or self._digest_of(tag)
        release = Release(known or NO_DIGEST, content_of(weights), self._options)
        assembly = self._assembly(release)
        for stack in (target.names.foundation_stack, target.names.network_stack):
            if stack in assembly.stacks:
                self._stack(assembly, stack)
        synced = sync(target.client("s3"), target.names.weights_bucket, weights, target.console)
        if synced.sent_files:
            self._changed.append(f"weights: {synced.sent_files} files sent")
        if known is None:
            found = self._build_and_push(recipe, tag, engine)
            release = Release(found, release.weights, self._options)
            assembly = self._assembly(release)
        elif digest is not None and not target.images.has_digest(digest):
            raise ArtefactMissing(
                f"image {digest} is not in the repository {target.names.repository}", fix=target.command("status")
            )
        self._stack(assembly, target.names.endpoint_stack)
        return Outcome(release, tuple(self._changed))

    def release(self, release: Release) -> Outcome:
        """Bring the endpoint to a release whose image and weights are there already: rollback, pause and resume."""
        self._target.install_cdk()
        if not self._target.images.has_digest(release.image_digest):
            raise ArtefactMissing(
                f"image {release.image_digest} is no longer in the repository; a lifecycle rule keeps the newest five",
                fix=self._target.command("deploy"),
            )
        self._stack(self._assembly(release), self._target.names.endpoint_stack)
        return Outcome(release, tuple(self._changed))

    def _digest_of(self, tag: str | None) -> str | None:
        found = None if tag is None else self._target.images.find(tag)
        if found is None:
            return None
        self._target.console.note(f"image {tag} is in the repository already")
        return found.digest

    def _build_and_push(self, recipe: ImageRecipe | None, tag: str | None, engine: ContainerEngine) -> str:
        if recipe is None or tag is None:
            raise ArtefactMissing("there is no image to deploy", fix=self._target.command("image build"))
        build_image(self._target, recipe, engine)
        stored = push_image(self._target, self._target.images, engine, tag)
        self._changed.append(f"image: {tag} pushed")
        return stored.digest

    def _assembly(self, release: Release) -> Assembly:
        return make_assembly(self._target, self._target.names, release)

    def _stack(self, assembly: Assembly, stack: str) -> Deployed:
        target = self._target
        deployment = StackDeployment(
            cloudformation=target.cloudformation,
            cdk=target.cdk,
            console=target.console,
            explain=lambda events: explain_failure(target, events),
            beside=self._endpoint_phase if stack == target.names.endpoint_stack else lambda: "",
        )
        done = deployment.deploy(assembly, stack)
        if done.has_changed:
            self._changed.append(f"stack: {stack}")
        else:
            target.console.note(f"stack {stack} is as wanted already")
        return done

    def _endpoint_phase(self) -> str:
        found = endpoint_state(self._target.client("sagemaker"), self._target.names.endpoint)
        return f"endpoint: {found.described()}" if found is not None else ""


def current_release(target: Target) -> Release | None:
    """What is live."""
    return live_release(target.client("ssm"), target.names.release_parameter)
