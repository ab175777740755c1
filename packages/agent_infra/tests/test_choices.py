"""Names, options and releases: what is refused before AWS is asked anything."""

from typing import Any

import pytest
from agent_infra.names import Names
from agent_infra.options import AgentOptions
from agent_infra.release import Release
from infra_common.errors import OptionRefused, OutcomeError

from packages.agent_infra.tests.conftest import DIGEST, NOVA, VOICE

DISCOVERY = "https://login.example.com/.well-known/openid-configuration"


@pytest.mark.parametrize(("stage", "agent"), [("", "voice"), ("Dev", "voice"), ("dev", "a-b"), ("dev", "a" * 17)])
def test_a_name_that_its_services_would_not_take_is_refused(stage: str, agent: str) -> None:
    with pytest.raises(OptionRefused, match="lower-case letters and digits"):
        Names(stage, agent, "123456789012", "us-east-1")


def test_the_longest_names_fit_their_services() -> None:
    names = Names("a" * 8, "b" * 16, "123456789012", "ap-southeast-2")
    assert len(names.source_bucket) <= 63
    assert len(names.runtime) <= 48
    assert max(map(len, names.stacks)) <= 128
    assert len(names.deployment) <= 64


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ({"jwt_clients": ("app",)}, "need --jwt-discovery"),
        ({"jwt_discovery": DISCOVERY}, "every token of that issuer"),
        ({"jwt_discovery": "http://x", "jwt_clients": ("app",)}, "expected https://"),
        ({"headers": ("Cookie",)}, "AgentCore passes on Authorization"),
        ({"headers": ("Authorization",) * 21}, "at most 20"),
        ({"idle_s": 59}, "60 <= --idle-seconds"),
        ({"idle_s": 900, "life_s": 600}, "--idle-seconds <= --life-seconds"),
        ({"log_days": 31}, "--log-days 31"),
        ({"settings": {"BEDROCK_MODEL_ID": "other"}}, "--setting BEDROCK_MODEL_ID"),
        ({"settings": {"AGENT_HOST": "0.0.0.0"}}, "--setting AGENT_HOST"),
        ({"tags": {"aws:x": "1"}}, "--tag aws:x"),
        ({"speech_model": "../x"}, "--speech-model"),
    ],
)
def test_options_that_no_agent_can_have_are_refused_with_what_would_do(chosen: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionRefused, match=words):
        AgentOptions(NOVA, **chosen)


def test_a_release_reads_back_what_it_was_written_as() -> None:
    options = AgentOptions(
        f"us.{NOVA}", jwt_discovery=DISCOVERY, jwt_clients=("a", "b"), headers=("Authorization",), tags={"team": "x"}
    )
    written = Release(DIGEST, VOICE, options)
    assert Release.parse(written.render()) == written


def test_an_image_by_tag_is_no_release() -> None:
    with pytest.raises(OptionRefused, match="by digest"):
        Release("latest", VOICE, AgentOptions(NOVA))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1}'])
def test_a_record_of_somebody_else_is_told_as_such(text: str) -> None:
    with pytest.raises(OutcomeError, match="not one this version can read"):
        Release.parse(text)
