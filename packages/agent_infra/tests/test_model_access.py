"""A model id and what it needs of IAM: by its form, by what GetInferenceProfile says, and from the cache."""

import json
from pathlib import Path
from typing import Any

import pytest
from agent_infra.errors import ProfileUnknown
from agent_infra.model_access import ModelAccess, is_profile, partition_of, profile_for, require_model_id
from agent_infra.profile_cache import ProfileCache
from infra_common.errors import OptionRefused, OutcomeError

from packages.agent_infra.tests.conftest import NOVA, PROFILES, model_arn, profile_arn

PLAIN = [NOVA, "anthropic.claude-sonnet-4-5-20250929-v1:0", "openai.gpt-oss-120b-1:0", "moonshotai.kimi-k2.5"]
PROFILE = [
    *(f"{geography}.{NOVA}" for geography in ("us", "eu", "apac", "jp", "au", "ca", "global", "us-gov")),
    profile_arn(f"us.{NOVA}"),
    "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123",
]


@pytest.mark.parametrize("model_id", PLAIN)
def test_a_plain_id_is_no_profile(model_id: str) -> None:
    require_model_id(model_id)
    assert not is_profile(model_id)


@pytest.mark.parametrize("model_id", PROFILE)
def test_a_geography_or_an_arn_is_a_profile(model_id: str) -> None:
    require_model_id(model_id)
    assert is_profile(model_id)


@pytest.mark.parametrize("model_id", ["", "nova", "us.", "*", "amazon.nova lite", "arn:aws:iam::1:role/x"])
def test_what_is_neither_is_refused(model_id: str) -> None:
    with pytest.raises(OptionRefused, match="--bedrock-model-id"):
        require_model_id(model_id)


def test_a_plain_id_is_its_model_in_the_agents_own_region() -> None:
    assert ModelAccess.to_plain(NOVA, "eu-west-1").model_arns == (model_arn("eu-west-1"),)


def test_a_global_profile_has_the_model_without_a_region_and_where_it_begins() -> None:
    found = ModelAccess.through_profile(
        f"global.{NOVA}", "us-west-2", profile_arn(f"global.{NOVA}"), [model_arn("eu-west-1")]
    )
    assert found.model_arns == (model_arn(""), model_arn("eu-west-1"), model_arn("us-west-2"))
    assert found.regions == ["eu-west-1", "us-west-2"]


@pytest.mark.parametrize(
    ("region", "partition"), [("us-east-1", "aws"), ("us-gov-west-1", "aws-us-gov"), ("cn-north-1", "aws-cn")]
)
def test_a_region_belongs_to_its_partition(region: str, partition: str) -> None:
    assert partition_of(region) == partition


@pytest.mark.parametrize(
    ("region", "profile"),
    [
        ("us-east-1", "us"),
        ("eu-north-1", "eu"),
        ("ap-south-1", "apac"),
        ("us-gov-west-1", "us-gov"),
        ("sa-east-1", "global"),
    ],
)
def test_the_profile_that_is_proposed_is_the_geographys(region: str, profile: str) -> None:
    assert profile_for(NOVA, region) == f"{profile}.{NOVA}"


class Bedrock:
    """Answers for one profile, and counts how often it was asked."""

    def __init__(self, model_id: str) -> None:
        self.asked = 0
        self._model_id = model_id

    def get_inference_profile(self, **asked: Any) -> dict[str, Any]:
        assert asked == {"inferenceProfileIdentifier": self._model_id}
        self.asked += 1
        models = [{"modelArn": model_arn(region)} for region in PROFILES[self._model_id]]
        return {"inferenceProfileArn": profile_arn(self._model_id), "models": models}


@pytest.mark.parametrize("model_id", PROFILES)
def test_a_profile_is_asked_for_once_and_then_known_without_anybody(model_id: str, tmp_path: Path) -> None:
    cache, bedrock = ProfileCache(tmp_path / "cdk.context.json"), Bedrock(model_id)
    first = cache.look_up(model_id, "us-east-1", lambda: bedrock)
    assert {model_arn(region) for region in PROFILES[model_id]} <= set(first.model_arns)
    assert cache.look_up(model_id, "us-east-1", lambda: bedrock) == cache.require(model_id, "us-east-1") == first
    assert bedrock.asked == 1


def test_what_the_cdk_has_noted_itself_stays_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "cdk.context.json"
    path.write_text('{"availability-zones:account=1:region=x": ["a"]}')
    ProfileCache(path).look_up(f"us.{NOVA}", "us-east-1", lambda: Bedrock(f"us.{NOVA}"))
    assert json.loads(path.read_text())["availability-zones:account=1:region=x"] == ["a"]


def test_a_profile_is_known_for_the_region_it_was_asked_in(tmp_path: Path) -> None:
    cache = ProfileCache(tmp_path / "cdk.context.json")
    cache.look_up(f"us.{NOVA}", "us-east-1", lambda: Bedrock(f"us.{NOVA}"))
    with pytest.raises(ProfileUnknown, match="us-west-2") as refused:
        cache.require(f"us.{NOVA}", "us-west-2")
    assert refused.value.fix is not None
    assert f"agent-infra doctor --bedrock-model-id us.{NOVA}" in refused.value.fix


def test_a_plain_id_asks_nobody_and_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "cdk.context.json"
    assert ProfileCache(path).require(NOVA, "us-east-1").model_arns == (model_arn("us-east-1"),)
    assert not path.exists()


@pytest.mark.parametrize("text", ["{", "[]", f'{{"agent-infra:inference-profile:region=us-east-1:id=us.{NOVA}": 1}}'])
def test_a_cache_that_somebody_broke_is_named(text: str, tmp_path: Path) -> None:
    path = tmp_path / "cdk.context.json"
    path.write_text(text)
    with pytest.raises(OutcomeError, match=r"cdk\.context\.json"):
        ProfileCache(path).require(f"us.{NOVA}", "us-east-1")
