"""The options that choose an agent and its image, shared by the verbs that make or compare one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, cast

import typer
from infra_common.choices import ImageChoices, TagOption, TopicOption, pairs
from infra_common.errors import OptionRefused
from infra_common.option_group import OptionGroup

if TYPE_CHECKING:
    from infra_common.image_recipe import ImageRecipe

    from agent_infra.image_build import Builder
    from agent_infra.options import AgentOptions
    from agent_infra.target import Target

LiveModelIdOption = Annotated[
    str | None,
    typer.Option("--bedrock-model-id", help="Default: what is live.", metavar="ID", show_default=False),
]
SpeechModelOption = Annotated[
    str, typer.Option(help="Which of the stage's speech endpoints it speaks with.", metavar="MODEL")
]
BuilderOption = Annotated[
    str, typer.Option(help="Who builds the image: docker here, or codebuild on ARM in the account.", metavar="WHO")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentChoices(OptionGroup):
    """What an agent is to be."""

    bedrock_model_id: Annotated[
        str,
        typer.Option(
            help="Bedrock's model or inference profile that answers, such as us.amazon.nova-lite-v1:0.", metavar="ID"
        ),
    ]
    speech_model: SpeechModelOption = "kokoro-82m"
    vpc: Annotated[
        bool, typer.Option("--vpc", help="Run inside a VPC of its own, with a NAT gateway as its way out.")
    ] = False
    jwt_discovery: Annotated[
        str | None, typer.Option(help="Take tokens of this issuer instead of AWS signatures.", metavar="URL")
    ] = None
    jwt_clients: Annotated[
        list[str] | None, typer.Option("--jwt-client", help="A client id that tokens may have; often.", metavar="ID")
    ] = None
    jwt_audiences: Annotated[
        list[str] | None,
        typer.Option("--jwt-audience", help="An audience that tokens may have; often.", metavar="NAME"),
    ] = None
    headers: Annotated[
        list[str] | None,
        typer.Option("--header", help="A request header that the agent is given; often.", metavar="NAME"),
    ] = None
    idle_s: Annotated[int, typer.Option("--idle-seconds", help="A session that is idle so long ends.", metavar="S")] = (
        900
    )
    life_s: Annotated[int, typer.Option("--life-seconds", help="A session ends after so long.", metavar="S")] = 28_800
    log_days: Annotated[int, typer.Option(help="How long log lines are kept.", metavar="DAYS")] = 30
    transaction_search: Annotated[
        bool,
        typer.Option("--transaction-search", help="Make spans searchable: a setting of the whole account and region."),
    ] = False
    alarm_topic: TopicOption = None
    settings: Annotated[
        list[str] | None,
        typer.Option("--setting", help="A setting of agent-runtime; may be given often.", metavar="AGENT_…=VALUE"),
    ] = None
    tags: TagOption = None

    def options(self) -> AgentOptions:
        """Raises OptionRefused, also for a pair without a value."""
        from agent_infra.options import AgentOptions

        return AgentOptions(
            self.bedrock_model_id,
            speech_model=self.speech_model,
            use_vpc=self.vpc,
            jwt_discovery=self.jwt_discovery,
            jwt_clients=tuple(self.jwt_clients or ()),
            jwt_audiences=tuple(self.jwt_audiences or ()),
            headers=tuple(self.headers or ()),
            idle_s=self.idle_s,
            life_s=self.life_s,
            log_days=self.log_days,
            use_transaction_search=self.transaction_search,
            alarm_topic=self.alarm_topic,
            settings=pairs("--setting", self.settings),
            tags=pairs("--tag", self.tags),
        )


def builder_of(name: str) -> Builder:
    """Raises OptionRefused."""
    from agent_infra.image_build import BUILDERS

    if name not in BUILDERS:
        raise OptionRefused(f"--builder {name!r}: expected {' or '.join(BUILDERS)}")
    return cast("Builder", name)


def image_recipe(target: Target, image: ImageChoices) -> ImageRecipe | None:
    """None where an image that is there is named by digest. Raises OptionRefused."""
    from agent_infra.images import agent_recipe

    return agent_recipe(target.root, image.dockerfile) if image.is_to_be_built else None
