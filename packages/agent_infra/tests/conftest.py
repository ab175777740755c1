"""One synthesis for all tests of templates: it takes seconds, and nothing of it changes between tests."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from agent_infra.model_access import ModelAccess
from agent_infra.names import Names
from agent_infra.options import AgentOptions
from agent_infra.plan import Plan
from agent_infra.release import Release
from agent_infra.voice import Voice
from infra_common.assembly import Assembly, synthesise
from infra_common.ownership import Owner

DIGEST = f"sha256:{'a' * 64}"
ACCOUNT, REGION = "123456789012", "us-east-1"
VOICE = Voice("speech-dev-kokoro-82m", f"arn:aws:sagemaker:{REGION}:{ACCOUNT}:endpoint/speech-dev-kokoro-82m")
NOVA = "amazon.nova-lite-v1:0"


def model_arn(region: str, name: str = NOVA) -> str:
    """A foundation model."""
    return f"arn:aws:bedrock:{region}::foundation-model/{name}"


def profile_arn(model_id: str, region: str = REGION) -> str:
    """A system-defined inference profile."""
    return f"arn:aws:bedrock:{region}:{ACCOUNT}:inference-profile/{model_id}"


PROFILES = {
    f"us.{NOVA}": ("us-east-1", "us-east-2", "us-west-2"),
    f"eu.{NOVA}": ("eu-central-1", "eu-north-1", "eu-west-1", "eu-west-3"),
    f"global.{NOVA}": ("", "us-east-1"),
}
"""What GetInferenceProfile tells of three profiles."""


def access_to(model_id: str, region: str = REGION) -> ModelAccess:
    """A plain id, or one of `PROFILES`."""
    if model_id not in PROFILES:
        return ModelAccess.to_plain(model_id, region)
    models = [model_arn(each) for each in PROFILES[model_id]]
    return ModelAccess.through_profile(model_id, region, profile_arn(model_id, region), models)


def plan_of(model_id: str = NOVA, region: str = REGION, **chosen: Any) -> Plan:
    """A plan with a recognisable image; `enables_tracing` and `has_builder` go to the plan, the rest to the options."""
    about_plan = {name: chosen.pop(name) for name in ("enables_tracing", "has_builder") if name in chosen}
    release = Release(DIGEST, VOICE, AgentOptions(model_id, **chosen))
    return Plan(release, access_to(model_id, region), "agent-infra destroy", **about_plan)


@dataclass(frozen=True)
class Made:
    """One app's templates by the last part of their stack's name."""

    assembly: Assembly

    def __getitem__(self, part: str) -> dict[str, Any]:
        return self.assembly.template(next(name for name in self.assembly.stacks if name.endswith(f"-{part}")))

    def of_type(self, part: str, kind: str) -> list[dict[str, Any]]:
        """The properties of every resource of a type."""
        resources = self[part]["Resources"].values()
        return [each.get("Properties", {}) for each in resources if each["Type"] == kind]


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Made]:
    """`plain`, `us`, `eu`, `global`, and `full` (VPC, tokens, headers, builder, tracing, topic), checked by cdk-nag."""
    directory = tmp_path_factory.mktemp("templates")
    wanted = {
        "plain": (plan_of(), REGION),
        "us": (plan_of(f"us.{NOVA}"), REGION),
        "eu": (plan_of(f"eu.{NOVA}", "eu-west-1"), "eu-west-1"),
        "global": (plan_of(f"global.{NOVA}"), REGION),
        "full": (
            plan_of(
                f"us.{NOVA}",
                use_vpc=True,
                jwt_discovery="https://login.example.com/.well-known/openid-configuration",
                jwt_clients=("app",),
                headers=("X-Amzn-Bedrock-AgentCore-Runtime-Custom-Trace",),
                idle_s=300,
                life_s=3600,
                log_days=7,
                use_transaction_search=True,
                alarm_topic="arn:aws:sns:us-east-1:123456789012:voice",
                settings={"AGENT_TOOLS": "current_time"},
                tags={"team": "voice"},
                enables_tracing=True,
                has_builder=True,
            ),
            REGION,
        ),
    }
    return {
        name: Made(synthesise(partial(app_of, plan, region), directory / name))
        for name, (plan, region) in wanted.items()
    }


def app_of(plan: Plan, region: str, into: Path) -> Any:
    """The app as the command makes it, with cdk-nag beside the house rules."""
    import aws_cdk as cdk
    from agent_infra.app import build_app
    from cdk_nag import AwsSolutionsChecks

    app = build_app(Names("dev", "voice", ACCOUNT, region), Owner("dev", "agent-voice", "agent-infra"), plan, into)
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    return app


__all__ = ["DIGEST", "NOVA", "PROFILES", "VOICE", "Made", "access_to", "model_arn", "plan_of", "profile_arn"]
