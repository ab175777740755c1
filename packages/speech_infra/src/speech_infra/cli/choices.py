"""The options that choose an endpoint and its artefacts, shared by the verbs that make or compare one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from kokoro_weights import WeightsDirectory

    from speech_infra.catalogue import SpeechModel
    from speech_infra.images import ImageRecipe
    from speech_infra.options import EndpointOptions
    from speech_infra.target import Target

InstanceTypeOption = Annotated[str | None, typer.Option(help="Default: the model's own.", metavar="TYPE")]
InstancesOption = Annotated[int | None, typer.Option(help="How many serve at least. Default: 1.", min=1, metavar="N")]
MaxInstancesOption = Annotated[
    int | None, typer.Option(help="How many scaling may make of them. Default: 2, or --instances.", min=1, metavar="N")
]
StrategyOption = Annotated[
    str | None,
    typer.Option(
        help="blue-green (twice the fleet while it updates) or rolling (at least two instances).", metavar="WAY"
    ),
]
VpcOption = Annotated[bool, typer.Option("--vpc", help="Host inside a VPC of its own, which has no way out.")]
KmsOption = Annotated[
    str | None,
    typer.Option(help="`create` for a key of our own, or a key's ARN. Default: the services'.", metavar="KEY"),
]
TopicOption = Annotated[str | None, typer.Option(help="ARN of an SNS topic that the alarms tell.", metavar="ARN")]
TagOption = Annotated[
    list[str] | None, typer.Option("--tag", help="A tag for every resource; may be given often.", metavar="KEY=VALUE")
]
WeightsOption = Annotated[
    Path | None,
    typer.Option(help="Prepared weights. Default: those of the cache, made where they are not there.", metavar="DIR"),
]
DockerfileOption = Annotated[
    Path | None, typer.Option(help="Build from this one, with what lies beside it.", metavar="FILE")
]
DigestOption = Annotated[
    str | None, typer.Option(help="An image that is in the repository; nothing is built.", metavar="sha256:…")
]


def endpoint_options(model: SpeechModel, tags: list[str] | None, **chosen: Any) -> EndpointOptions:
    """Raises OptionRefused, also for a tag without a value."""
    from speech_infra.errors import OptionRefused
    from speech_infra.options import EndpointOptions

    pairs = [text.partition("=") for text in tags or []]
    for key, equals, _ in pairs:
        if not equals:
            raise OptionRefused(f"--tag {key}: expected KEY=VALUE")
    if chosen.get("max_instances") is None and (chosen.get("instances") or 1) > 2:
        chosen["max_instances"] = chosen["instances"]
    return EndpointOptions.for_model(model, tags={key: value for key, _, value in pairs}, **chosen)


def prepared_weights(target: Target, directory: Path | None) -> WeightsDirectory:
    """The weights that the model's engine wants, made where they are not there. Raises WeightsError."""
    from kokoro_weights import prepare

    model = target.model
    if directory is not None:
        return prepare("directory", directory=directory, safetensors=model.needs_safetensors, stages=model.needs_stages)
    with target.console.step("prepare weights") as say:
        return prepare(
            safetensors=model.needs_safetensors,
            stages=model.needs_stages,
            progress=lambda step, _done, _total: say(step),
        )


def image_recipe(target: Target, dockerfile: Path | None, digest: str | None) -> ImageRecipe | None:
    """None where an image that is there is named by digest."""
    from speech_infra.errors import OptionRefused
    from speech_infra.images import ImageRecipe
    from speech_infra.release import DIGEST

    if digest is None:
        return ImageRecipe.of(target.root, target.model, dockerfile)
    if dockerfile is not None:
        raise OptionRefused(
            "--image-digest names an image that is there, --dockerfile one to be built: give one of them"
        )
    if not DIGEST.fullmatch(digest):
        raise OptionRefused(f"--image-digest {digest!r}: expected sha256: and 64 hex digits")
    return None
