"""Every action on every resource that a role of ours may take, as a snapshot; a change shows up in review.

To accept one: `UPDATE_SNAPSHOTS=1 pytest packages/speech_infra/tests/test_iam.py -m infra`, and read the difference.
"""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from packages.infra_common.tests.iam import described
from packages.speech_infra.tests.conftest import Made

pytestmark = [pytest.mark.infra, pytest.mark.timeout(300)]
SNAPSHOTS = Path(__file__).with_name("snapshots")
NO_RESOURCE = {
    "application-autoscaling:DescribeScalableTargets",
    "cloudwatch:PutMetricData",
    "ec2:DescribeDhcpOptions",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSubnets",
    "ec2:DescribeVpcs",
    "ecr:GetAuthorizationToken",
    "kms:ListKeys",
    "pricing:GetProducts",
    "servicequotas:GetServiceQuota",
    "servicequotas:ListServiceQuotas",
}
"""Actions that IAM's service authorisation reference lists without a resource type."""


def roles(made: Made) -> list[str]:
    return [line for stack in made.assembly.stacks for line in described(made.assembly.template(stack))]


@pytest.mark.parametrize("which", ["plain", "full", "pipeline"])
def test_roles_may_do_what_the_snapshot_says(made: Mapping[str, Made], which: str) -> None:
    found = "\n".join(roles(made[which])) + "\n"
    snapshot = SNAPSHOTS / f"iam_{which}.txt"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        snapshot.parent.mkdir(exist_ok=True)
        snapshot.write_text(found)
    assert found == snapshot.read_text()


@pytest.mark.parametrize("which", ["plain", "full", "pipeline"])
def test_only_actions_that_know_no_resource_are_allowed_on_all(made: Mapping[str, Made], which: str) -> None:
    on_all = {line.split()[1] for line in roles(made[which]) if " on * " in f"{line} "}
    assert on_all
    assert on_all <= NO_RESOURCE


@pytest.mark.parametrize("which", ["plain", "full", "pipeline"])
def test_no_action_is_a_wildcard_and_no_service_may_take_a_role_for_another_account(
    made: Mapping[str, Made], which: str
) -> None:
    lines = roles(made[which])
    assert not [line for line in lines if line.startswith("  allow") and "*" in line.split()[1]]
    takers = [line for line in lines if line.startswith("  taken by")]
    assert takers
    for line in takers:
        bound = (
            "aws:SourceAccount StringEquals 123456789012" if "by service" in line else ":sub StringEquals repo:example/"
        )
        assert bound in line
