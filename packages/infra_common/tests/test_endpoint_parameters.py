"""What one command publishes is what the other reads."""

import pytest
from infra_common.endpoint_parameters import EndpointParameters, EndpointUser

PARAMETERS = EndpointParameters("dev", "kokoro-82m")
AGENT = EndpointUser("agent", "tea", "agent-infra destroy tea")


def test_a_user_lies_beneath_its_endpoint() -> None:
    assert PARAMETERS.user("tea") == "/speech/dev/kokoro-82m/used-by/tea"
    assert PARAMETERS.user("tea").startswith(f"{PARAMETERS.users}/")


@pytest.mark.parametrize("name", ["", "a/b", "-a", "a" * 65])
def test_a_name_that_ssm_would_not_keep_in_one_level_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="1 to 64"):
        PARAMETERS.user(name)


def test_a_user_reads_back_as_it_was_written() -> None:
    assert EndpointUser.read({"Name": PARAMETERS.user("tea"), "Value": AGENT.render()}) == AGENT


@pytest.mark.parametrize("value", ["", "tea", "[]", "{}"])
def test_whatever_stands_there_counts_as_a_user(value: str) -> None:
    found = EndpointUser.read({"Name": PARAMETERS.user("tea"), "Value": value})
    assert found.name == "tea"
    assert PARAMETERS.user("tea") in found.removal
