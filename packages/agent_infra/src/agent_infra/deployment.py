"""`deploy`, step by step: each step looks first whether it has been done, so that an interrupted run goes on.

doctor → foundation → network, tracing → image → runtime → log retention → summary. The caller runs the first and the
last.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import infra_common
from infra_common.assembly import Assembly, fingerprint, synthesise, synthesise_once
from infra_common.container_engine import ContainerEngine
from infra_common.errors import ArtefactMissing
from infra_common.image_recipe import ImageRecipe
from infra_common.release_record import NO_DIGEST
from infra_common.stack_deployment import Deployed, StackDeployment
from infra_common.stack_removal import remove_stack

from agent_infra.causes import explain_failure
from agent_infra.cleanup import empty_source_bucket, log_groups_of
from agent_infra.image_build import Builder, build_with_codebuild, build_with_engine
from agent_infra.model_access import ModelAccess
from agent_infra.names import Names
from agent_infra.options import AgentOptions
from agent_infra.plan import Plan
from agent_infra.release import Release
from agent_infra.runtime import runtime_state
from agent_infra.target import Target
from agent_infra.tracing import is_tracing_on
from agent_infra.voice import Voice, published_voice


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a deployment changed."""

    release: Release
    changed: tuple[str, ...]
    """What was made or changed; empty where all was there already."""


def make_assembly(target: Target, names: Names, plan: Plan, directory: Path | None = None) -> Assembly:
    """The templates of a plan, in a directory that is kept for it where none is given. CDK is imported here."""

    def build(into: Path) -> Any:
        from agent_infra.app import build_app

        return build_app(names, target.owner, plan, into)

    owner = "".join(f"{key}={value}" for key, value in target.owner.tags().items())
    inputs = (plan.render(), names.account, names.region, owner, names.deployment)
    sources = (Path(__file__).parent, Path(infra_common.__file__).parent)
    made_from = fingerprint(sources, *inputs)
    with target.console.step("make the templates"):
        if directory is None:
            return synthesise_once(build, target.assembly_directory.parent / "releases" / names.deployment, made_from)
        return synthesise(build, directory, made_from)


def removal_command(target: Target) -> str:
    """What takes this agent down."""
    return target.command("destroy")


class Deployment:
    """Brings one target to its options."""

    def __init__(self, target: Target, options: AgentOptions, builder: Builder) -> None:
        self._target = target
        self._options = options
        self._builder = builder
        self._changed: list[str] = []

    def deploy(self, recipe: ImageRecipe | None, digest: str | None, engine: ContainerEngine) -> Outcome:
        """With the image of `recipe`, built where it is not in the repository, or the one with `digest`.

        Raises VoiceMissing before anything is made.
        """
        target, names = self._target, self._target.names
        voice = published_voice(target.client("ssm"), target.stage, self._options.speech_model, names.region)
        target.install_cdk()
        known = digest or self._digest_of(recipe)
        plan = self._plan(voice, known or NO_DIGEST, has_builder=known is None and self._builder == "codebuild")
        assembly = self._assembly(plan)
        for stack in (names.foundation_stack, names.network_stack, names.tracing_stack, names.builder_stack):
            if stack in assembly.stacks:
                self._stack(assembly, stack)
        if known is None:
            release = replace(plan.release, image_digest=self._make_image(recipe, engine))
            plan = replace(plan, release=release, has_builder=False)
            assembly = self._assembly(plan)
        elif digest is not None and not target.images.has_digest(digest):
            raise ArtefactMissing(
                f"image {digest} is not in the repository {names.repository}", fix=target.command("status")
            )
        self._stack(assembly, names.runtime_stack)
        self._drop_unused_network()
        self._keep_logs_for_their_days()
        return Outcome(plan.release, tuple(self._changed))

    def _plan(self, voice: Voice, digest: str, *, has_builder: bool) -> Plan:
        target = self._target
        # A stack that is there stays in the app, so that a second run leaves it alone.
        is_ours = target.stack(target.names.tracing_stack) is not None
        wants = self._options.use_transaction_search
        if wants and not is_ours and is_tracing_on(target.client("xray")):
            target.console.note("Transaction Search is on in this account and region already; it is left as it is")
            wants = False
        return Plan(
            Release(digest, voice, self._options),
            self._model(),
            removal_command(target),
            enables_tracing=wants,
            has_builder=has_builder,
        )

    def _model(self) -> ModelAccess:
        target = self._target
        model_id = self._options.bedrock_model_id
        return target.profiles.look_up(model_id, target.session.region, lambda: target.client("bedrock"))

    def _digest_of(self, recipe: ImageRecipe | None) -> str | None:
        if recipe is None:
            return None
        tag = recipe.content_tag()
        found = self._target.images.find(tag)
        if found is None:
            return None
        self._target.console.note(f"image {tag} is in the repository already")
        return found.digest

    def _make_image(self, recipe: ImageRecipe | None, engine: ContainerEngine) -> str:
        target = self._target
        if recipe is None:
            raise ArtefactMissing("there is no image to deploy", fix=target.command("image push"))
        if self._builder == "codebuild":
            stored = build_with_codebuild(target, recipe)
            empty_source_bucket(target)
        else:
            stored = build_with_engine(target, recipe, engine)
        self._changed.append(f"image: {', '.join(stored.tags)} pushed")
        return stored.digest

    def _drop_unused_network(self) -> None:
        """A NAT gateway costs by the hour, also when no agent is behind it any more."""
        target = self._target
        name = target.names.network_stack
        if self._options.use_vpc or target.stack(name) is None:
            return
        if remove_stack(target.cloudformation, name, target.owner, target.console):
            self._changed.append(f"stack: {name} deleted")

    def _keep_logs_for_their_days(self) -> None:
        """AgentCore makes groups of its own, for endpoints other than ours, and would keep their lines for ever."""
        logs = self._target.client("logs")
        for group in log_groups_of(self._target):
            logs.put_retention_policy(logGroupName=group, retentionInDays=self._options.log_days)

    def _assembly(self, plan: Plan) -> Assembly:
        return make_assembly(self._target, self._target.names, plan)

    def _stack(self, assembly: Assembly, stack: str) -> Deployed:
        target = self._target
        deployment = StackDeployment(
            cloudformation=target.cloudformation,
            cdk=target.cdk,
            console=target.console,
            explain=lambda events: explain_failure(target, events),
            beside=self._runtime_phase if stack == target.names.runtime_stack else lambda: "",
        )
        done = deployment.deploy(assembly, stack)
        if done.has_changed:
            self._changed.append(f"stack: {stack}")
        else:
            target.console.note(f"stack {stack} is as wanted already")
        return done

    def _runtime_phase(self) -> str:
        state = self._target.stack(self._target.names.runtime_stack)
        arn = state.outputs.get("RuntimeArn") if state else None
        found = runtime_state(self._target.client("bedrock-agentcore-control"), arn) if arn else None
        return f"runtime: {found.described()}" if found is not None else ""


def require_builder(target: Target) -> None:
    """Raises ArtefactMissing where there is no CodeBuild project to build with."""
    if target.stack(target.names.builder_stack) is None:
        raise ArtefactMissing(
            f"there is no CodeBuild project {target.names.builder} yet",
            fix=target.command("deploy", "--bedrock-model-id ID", "--builder codebuild"),
        )
