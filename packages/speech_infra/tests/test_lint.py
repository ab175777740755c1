"""cfn-lint over every template, and what was acknowledged to cdk-nag, whose errors stop a synthesis."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from cfnlint import lint
from cfnlint.config import ManualArgs
from infra_common.assembly import synthesise
from infra_common.errors import OutcomeError

from packages.infra_common.tests.acknowledged import acknowledgements
from packages.speech_infra.tests.conftest import Made

pytestmark = [pytest.mark.infra, pytest.mark.timeout(300)]


@pytest.mark.parametrize("which", ["plain", "full", "rolling", "paused", "pipeline"])
def test_cfn_lint_finds_nothing(made: Mapping[str, Made], which: str) -> None:
    for path in sorted(made[which].assembly.directory.glob("*.template.json")):
        found = lint(path.read_text(), config=ManualArgs(regions=["us-east-1", "eu-west-1"]))
        assert [f"{path.name}: {match.rule.id} {match.message}" for match in found] == []


def test_one_warning_is_let_through_where_an_action_is_newer_than_cfn_lint(made: Mapping[str, Made]) -> None:
    ignored = {
        (name, rule)
        for each in made.values()
        for stack in each.assembly.stacks
        for name, resource in each.assembly.template(stack)["Resources"].items()
        for rule in resource.get("Metadata", {}).get("cfn-lint", {}).get("config", {}).get("ignore_checks", [])
    }
    ((name, rule),) = ignored
    assert rule == "W3037"
    statements = made["pipeline"]["pipeline"]["Resources"][name]["Properties"]["PolicyDocument"]["Statement"]
    assert any("sagemaker:InvokeEndpointWithBidirectionalStream" in each["Action"] for each in statements)


def test_cdk_nag_stops_a_synthesis(tmp_path: Path) -> None:
    def build(into: Path) -> Any:
        import aws_cdk as cdk
        from aws_cdk import aws_s3 as s3
        from cdk_nag import AwsSolutionsChecks

        app = cdk.App(outdir=str(into))
        s3.Bucket(cdk.Stack(app, "Voice"), "Open")
        cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app))
        return app

    with pytest.raises(OutcomeError, match="AwsSolutions-S1"):
        synthesise(build, tmp_path / "out")


@pytest.mark.parametrize(
    ("which", "rules"), [("full", {"AwsSolutions-S1", "AwsSolutions-IAM5"}), ("pipeline", {"AwsSolutions-IAM5"})]
)
def test_acknowledgements_are_few_and_argued(made: Mapping[str, Made], which: str, rules: set[str]) -> None:
    found = acknowledgements(made[which].assembly.directory)
    assert {rule.partition("[")[0] for rule in found} == rules
    assert all(len(reason.split()) >= 6 for reason in found.values())
