"""Verbs for what an agent is made of: image build|push|pin."""

from __future__ import annotations

from typing import Annotated

import typer
from infra_common.choices import DockerfileOption

from agent_infra.cli.choices import BuilderOption, builder_of
from agent_infra.cli.situation import DEFAULT_AGENT, AgentOption, Situation, situated

image_app = typer.Typer(no_args_is_help=True, help="The agent's image: build it, push it, pin its base.")
PlatformOption = Annotated[
    str, typer.Option(help="linux/arm64 for AgentCore, linux/amd64 to run it here.", metavar="PLATFORM")
]
ARM64 = "linux/arm64"


@image_app.command("build", epilog="Example: agent-infra image build --platform linux/amd64")
@situated
def image_build(
    *,
    here: Situation,
    agent: AgentOption = DEFAULT_AGENT,
    dockerfile: DockerfileOption = None,
    platform: PlatformOption = ARM64,
) -> None:
    """Build the image here, and tag it by the content of its sources."""
    from infra_common.container_engine import ContainerEngine

    from agent_infra.images import NAME, agent_recipe

    target = here.target(agent)
    recipe = agent_recipe(target.root, dockerfile, platform)
    engine = ContainerEngine()
    engine.info()
    tag = recipe.build(NAME, engine, here.console)
    here.console.result({"image": f"{NAME}:{tag}", "tag": tag, "platform": platform})
    here.console.line(f"{NAME}:{tag}")


@image_app.command("push", epilog="Example: agent-infra image push --builder codebuild")
@situated
def image_push(
    *,
    here: Situation,
    agent: AgentOption = DEFAULT_AGENT,
    dockerfile: DockerfileOption = None,
    builder: BuilderOption = "docker",
) -> None:
    """Build the image for arm64 if its content tag is not in the repository, and push it there."""
    from infra_common.container_engine import ContainerEngine

    from agent_infra.deployment import require_builder
    from agent_infra.image_build import build_with_codebuild, build_with_engine
    from agent_infra.images import agent_recipe

    target = here.target(agent)
    who = builder_of(builder)
    recipe = agent_recipe(target.root, dockerfile)
    stored = target.images.find(recipe.content_tag())
    if stored is not None:
        here.console.note(f"image {', '.join(stored.tags)} is in the repository already")
    elif who == "codebuild":
        require_builder(target)
        stored = build_with_codebuild(target, recipe)
    else:
        engine = ContainerEngine()
        engine.info()
        stored = build_with_engine(target, recipe, engine)
    here.console.result({"tags": list(stored.tags), "digest": stored.digest, "size_bytes": stored.size_bytes})
    here.console.line(f"{target.names.repository}@{stored.digest}")


@image_app.command("pin", epilog="Example: agent-infra image pin")
@situated
def image_pin(*, here: Situation) -> None:
    """Note the digest that the base image's tag has today; commit the file, and every build is from those bytes."""
    from infra_common.base_image import pin

    from agent_infra.images import NOTE, PLATFORM

    pin(here.target(DEFAULT_AGENT).root, NOTE, PLATFORM, here.console)
