"""The options that choose an endpoint and its artefacts, shared by the verbs that make or compare one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from infra_common.choices import ImageChoices, TagOption, TopicOption, pairs
from infra_common.option_group import OptionGroup

if TYPE_CHECKING:
    from kokoro_weights import WeightsDirectory

    from speech_infra.catalogue import SpeechModel
    from speech_infra.images import ImageRecipe
    from speech_infra.options import EndpointOptions
    from speech_infra.target import Target

WeightsOption = Annotated[
    Path | None,
    typer.Option(help="Prepared weights. Default: those of the cache, made where they are not there.", metavar="DIR"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointChoices(OptionGroup):
    """What an endpoint is to be; what is not said is as the model's entry in the catalogue has it."""

    instance_type: Annotated[str | None, typer.Option(help="Default: the model's own.", metavar="TYPE")] = None
    instances: Annotated[int | None, typer.Option(help="How many serve at least. Default: 1.", min=1, metavar="N")] = (
        None
    )
    max_instances: Annotated[
        int | None,
        typer.Option(help="How many scaling may make of them. Default: 2, or --instances.", min=1, metavar="N"),
    ] = None
    strategy: Annotated[
        str | None,
        typer.Option(
            help="blue-green (twice the fleet while it updates) or rolling (at least two instances).", metavar="WAY"
        ),
    ] = None
    vpc: Annotated[bool, typer.Option("--vpc", help="Host inside a VPC of its own, which has no way out.")] = False
    kms_key: Annotated[
        str | None,
        typer.Option(help="`create` for a key of our own, or a key's ARN. Default: the services'.", metavar="KEY"),
    ] = None
    alarm_topic: TopicOption = None
    tags: TagOption = None

    def of(self, model: SpeechModel) -> EndpointOptions:
        """Raises OptionRefused, also for a tag without a value."""
        from speech_infra.options import EndpointOptions

        wants_more = self.max_instances is None and (self.instances or 1) > 2
        return EndpointOptions.for_model(
            model,
            tags=pairs("--tag", self.tags),
            instance_type=self.instance_type,
            instances=self.instances,
            max_instances=self.instances if wants_more else self.max_instances,
            strategy=self.strategy,
            use_vpc=self.vpc,
            kms_key=self.kms_key,
            alarm_topic=self.alarm_topic,
        )


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


def image_recipe(target: Target, image: ImageChoices) -> ImageRecipe | None:
    """None where an image that is there is named by digest. Raises OptionRefused."""
    from speech_infra.images import ImageRecipe

    return ImageRecipe.of(target.root, target.model, image.dockerfile) if image.is_to_be_built else None
