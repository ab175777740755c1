"""cfn-lint over every template, and what was acknowledged to cdk-nag, whose errors stop a synthesis."""

from collections.abc import Mapping

import pytest
from cfnlint import lint
from cfnlint.config import ManualArgs

from packages.agent_infra.tests.conftest import Made
from packages.infra_common.tests.acknowledged import acknowledgements

pytestmark = [pytest.mark.infra, pytest.mark.timeout(300)]


@pytest.mark.parametrize("which", ["plain", "us", "eu", "global", "full"])
def test_cfn_lint_finds_nothing(made: Mapping[str, Made], which: str) -> None:
    for path in sorted(made[which].assembly.directory.glob("*.template.json")):
        found = lint(path.read_text(), config=ManualArgs(regions=["us-east-1", "eu-west-1"]))
        assert [f"{path.name}: {match.rule.id} {match.message}" for match in found] == []


def test_the_one_thing_that_cfn_lint_does_not_know_is_left_out_there_alone(made: Mapping[str, Made]) -> None:
    resources = made["full"]["runtime"]["Resources"].values()
    muted = [each["Type"] for each in resources if "cfn-lint" in each.get("Metadata", {})]
    assert muted == ["AWS::IAM::Policy"]


def test_acknowledgements_are_few_and_argued(made: Mapping[str, Made]) -> None:
    found = acknowledgements(made["full"].assembly.directory)
    assert {rule.partition("[")[0] for rule in found} == {
        "AwsSolutions-CB3",
        "AwsSolutions-CB4",
        "AwsSolutions-IAM5",
        "AwsSolutions-S1",
    }
    assert all(len(reason.split()) >= 6 for reason in found.values())
