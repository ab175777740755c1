"""The options that choose an agent and its image, shared by the verbs that make or compare one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

if TYPE_CHECKING:
    from infra_common.image_recipe import ImageRecipe

    from agent_infra.image_build import Builder
    from agent_infra.options import AgentOptions
    from agent_infra.target import Target

ModelIdOption = Annotated[
    str,
    typer.Option(
        help="Bedrock's model or inference profile that answers, such as us.amazon.nova-lite-v1:0.", metavar="ID"
    ),
]
LiveModelIdOption = Annotated[
    str | None,
    typer.Option("--bedrock-model-id", help="Default: what is live.", metavar="ID", show_default=False),
]
SpeechModelOption = Annotated[
    str, typer.Option(help="Which of the stage's speech endpoints it speaks with.", metavar="MODEL")
]
VpcOption = Annotated[
    bool, typer.Option("--vpc", help="Run inside a VPC of its own, with a NAT gateway as its way out.")
]
JwtDiscoveryOption = Annotated[
    str | None, typer.Option(help="Take tokens of this issuer instead of AWS signatures.", metavar="URL")
]
JwtClientOption = Annotated[
    list[str] | None, typer.Option("--jwt-client", help="A client id that tokens may have; often.", metavar="ID")
]
JwtAudienceOption = Annotated[
    list[str] | None, typer.Option("--jwt-audience", help="An audience that tokens may have; often.", metavar="NAME")
]
HeaderOption = Annotated[
    list[str] | None, typer.Option("--header", help="A request header that the agent is given; often.", metavar="NAME")
]
IdleOption = Annotated[int, typer.Option("--idle-seconds", help="A session that is idle so long ends.", metavar="S")]
LifeOption = Annotated[int, typer.Option("--life-seconds", help="A session ends after so long.", metavar="S")]
LogDaysOption = Annotated[int, typer.Option(help="How long log lines are kept.", metavar="DAYS")]
TracingOption = Annotated[
    bool, typer.Option("--transaction-search", help="Make spans searchable: a setting of the whole account and region.")
]
TopicOption = Annotated[str | None, typer.Option(help="ARN of an SNS topic that the alarms tell.", metavar="ARN")]
SettingOption = Annotated[
    list[str] | None,
    typer.Option("--setting", help="A setting of agent-runtime; may be given often.", metavar="AGENT_…=VALUE"),
]
TagOption = Annotated[
    list[str] | None, typer.Option("--tag", help="A tag for every resource; may be given often.", metavar="KEY=VALUE")
]
DockerfileOption = Annotated[
    Path | None, typer.Option(help="Build from this one, with what lies beside it.", metavar="FILE")
]
DigestOption = Annotated[
    str | None, typer.Option(help="An image that is in the repository; nothing is built.", metavar="sha256:…")
]
BuilderOption = Annotated[
    str, typer.Option(help="Who builds the image: docker here, or codebuild on ARM in the account.", metavar="WHO")
]


def agent_options(model_id: str, settings: list[str] | None, tags: list[str] | None, **chosen: Any) -> AgentOptions:
    """Raises OptionRefused, also for a pair without a value."""
    from agent_infra.options import AgentOptions

    for name in ("jwt_clients", "jwt_audiences", "headers"):
        chosen[name] = tuple(chosen.get(name) or ())
    return AgentOptions(model_id, settings=_pairs("--setting", settings), tags=_pairs("--tag", tags), **chosen)


def builder_of(name: str) -> Builder:
    """Raises OptionRefused."""
    from agent_infra.errors import OptionRefused
    from agent_infra.image_build import BUILDERS

    if name not in BUILDERS:
        raise OptionRefused(f"--builder {name!r}: expected {' or '.join(BUILDERS)}")
    return cast("Builder", name)


def image_recipe(target: Target, dockerfile: Path | None, digest: str | None) -> ImageRecipe | None:
    """None where an image that is there is named by digest."""
    from agent_infra.errors import OptionRefused
    from agent_infra.images import agent_recipe
    from agent_infra.release import DIGEST

    if digest is None:
        return agent_recipe(target.root, dockerfile)
    if dockerfile is not None:
        raise OptionRefused(
            "--image-digest names an image that is there, --dockerfile one to be built: give one of them"
        )
    if not DIGEST.fullmatch(digest):
        raise OptionRefused(f"--image-digest {digest!r}: expected sha256: and 64 hex digits")
    return None


def _pairs(option: str, texts: list[str] | None) -> dict[str, str]:
    from agent_infra.errors import OptionRefused

    pairs = [text.partition("=") for text in texts or []]
    for key, equals, _ in pairs:
        if not equals:
            raise OptionRefused(f"{option} {key}: expected KEY=VALUE")
    return {key: value for key, _, value in pairs}
