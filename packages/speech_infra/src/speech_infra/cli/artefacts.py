"""Verbs for what an endpoint is made of: weights prepare|sync, image build|push|pin."""

from __future__ import annotations

import typer
from infra_common.choices import DockerfileOption

from speech_infra.cli.choices import WeightsOption, prepared_weights
from speech_infra.cli.situation import DEFAULT_MODEL, ModelArgument, Situation, situated

weights_app = typer.Typer(no_args_is_help=True, help="The model's weights: make them here, send them to the bucket.")
image_app = typer.Typer(no_args_is_help=True, help="The server's image: build it here, push it, pin its base.")


@weights_app.command("prepare", epilog="Example: speech-infra weights prepare kokoro-82m")
@situated
def weights_prepare(model: ModelArgument = DEFAULT_MODEL, *, here: Situation, weights: WeightsOption = None) -> None:
    """Make the weights ready on this machine, each file compared with a hash that is part of this program."""
    from speech_infra.weights import content_of

    found = prepared_weights(here.target(model), weights)
    here.console.result({"directory": str(found.path), "content": content_of(found)})
    here.console.line(f"{found.path}: {content_of(found)}")


@weights_app.command("sync", epilog="Example: speech-infra weights sync kokoro-82m")
@situated
def weights_sync(model: ModelArgument = DEFAULT_MODEL, *, here: Situation, weights: WeightsOption = None) -> None:
    """Send the weights to the bucket; what is there with the right hash is not sent again."""
    from infra_common.errors import NotDeployed

    from speech_infra.weights import content_of, sync

    target = here.target(model)
    if target.stack(target.names.foundation_stack) is None:
        raise NotDeployed(f"there is no bucket for {target.names.endpoint} yet", fix=target.command("deploy"))
    found = prepared_weights(target, weights)
    done = sync(target.client("s3"), target.names.weights_bucket, found, here.console)
    here.console.result({"content": content_of(found), "sent": done.sent_files, "kept": done.kept_files})
    here.console.line(f"{content_of(found)}: {done.sent_files} files sent, {done.kept_files} were there")


@image_app.command("build", epilog="Example: speech-infra image build kokoro-82m-cpu")
@situated
def image_build(model: ModelArgument = DEFAULT_MODEL, *, here: Situation, dockerfile: DockerfileOption = None) -> None:
    """Build the image and tag it by the content of its sources."""
    from infra_common.container_engine import ContainerEngine

    from speech_infra.images import ImageRecipe, build_image, local_name

    target = here.target(model)
    recipe = ImageRecipe.of(target.root, target.model, dockerfile)
    engine = ContainerEngine()
    engine.info()
    tag = build_image(target, recipe, engine)
    here.console.result({"image": local_name(target.model, tag), "tag": tag})
    here.console.line(local_name(target.model, tag))


@image_app.command("push", epilog="Example: speech-infra image push kokoro-82m-cpu")
@situated
def image_push(model: ModelArgument = DEFAULT_MODEL, *, here: Situation, dockerfile: DockerfileOption = None) -> None:
    """Build the image if its content tag is not in the repository, and push it there."""
    from infra_common.container_engine import ContainerEngine

    from speech_infra.images import ImageRecipe, build_image, push_image

    target = here.target(model)
    recipe = ImageRecipe.of(target.root, target.model, dockerfile)
    engine = ContainerEngine()
    tag = recipe.content_tag()
    if target.images.find(tag) is None:
        engine.info()
        build_image(target, recipe, engine)
    stored = push_image(target, target.images, engine, tag)
    here.console.result({"tag": tag, "digest": stored.digest, "size_bytes": stored.size_bytes})
    here.console.line(f"{target.names.repository}@{stored.digest}")


@image_app.command("pin", epilog="Example: speech-infra image pin")
@situated
def image_pin(*, here: Situation) -> None:
    """Note the digest that the base image's tag has today; commit the file, and every build is from those bytes."""
    from infra_common.base_image import pin

    from speech_infra.images import NOTE, PLATFORM

    pin(here.target(DEFAULT_MODEL).root, NOTE, PLATFORM, here.console)
