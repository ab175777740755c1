"""Nothing in a person's shell leads the local stack's clients away from loopback."""

from pathlib import Path

import pytest
from local_cloud.caller import AgentCaller
from local_cloud.environment import client_session, inherited
from local_cloud.errors import AnswerFailed

ELSEWHERE = {
    "AWS_PROFILE": "of-my-company",
    "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
    "AWS_USE_FIPS_ENDPOINT": "true",
    "AWS_USE_DUALSTACK_ENDPOINT": "true",
    "AWS_SESSION_TOKEN": "mine",
    "HTTP_PROXY": "http://127.0.0.1:1",
    "http_proxy": "http://127.0.0.1:1",
}


def test_services_inherit_no_aws_settings() -> None:
    environment = inherited({"PATH": "/bin", "aws_region": "x", **ELSEWHERE})
    assert environment["PATH"] == "/bin"
    assert {name for name in environment if name.upper().startswith("AWS_")} == {
        "AWS_CONFIG_FILE",
        "AWS_SHARED_CREDENTIALS_FILE",
        "AWS_EC2_METADATA_DISABLED",
    }


@pytest.mark.parametrize("name", ["no_proxy", "NO_PROXY"])
def test_proxies_stay_but_not_for_loopback(name: str) -> None:
    environment = inherited({"https_proxy": "http://proxy", name: "intra.net"})
    assert environment["https_proxy"] == "http://proxy"
    assert environment["no_proxy"] == environment["NO_PROXY"] == "intra.net,127.0.0.1,localhost"
    assert inherited({})["NO_PROXY"] == "127.0.0.1,localhost"


def test_a_session_knows_no_profile_and_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "config"
    config.write_text("[default]\nregion = eu-north-1\n", encoding="utf-8")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    monkeypatch.setenv("AWS_PROFILE", "of-my-company")
    assert client_session().get_scoped_config() == {}


async def test_a_caller_of_a_plane_goes_there_whatever_the_shell_says(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ELSEWHERE.items():
        monkeypatch.setenv(name, value)
    caller = AgentCaller("arn:x", "us-east-1", "http://127.0.0.1:9", "key", "secret")
    with pytest.raises(AnswerFailed, match=r"http://127\.0\.0\.1:9/"):
        await caller.ask("Hi.", mode="bidi")


async def test_a_caller_of_aws_says_when_the_profile_does_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "of-my-company")
    with pytest.raises(AnswerFailed, match="of-my-company"):
        await AgentCaller("arn:x", "us-east-1").ask("Hi.", mode="bidi")
