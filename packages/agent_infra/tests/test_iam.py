"""Every action on every resource that a role of ours may take, as a snapshot; a change shows up in review.

To accept one: `UPDATE_SNAPSHOTS=1 pytest packages/agent_infra/tests/test_iam.py -m infra`, and read the difference.
"""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from packages.agent_infra.tests.conftest import NOVA, PROFILES, VOICE, Made, model_arn, profile_arn
from packages.infra_common.tests.iam import described

pytestmark = [pytest.mark.infra, pytest.mark.timeout(300)]
SNAPSHOTS = Path(__file__).with_name("snapshots")
WHICH = ["plain", "us", "eu", "global", "full"]
NO_RESOURCE = {
    "cloudwatch:PutMetricData",
    "ecr:GetAuthorizationToken",
    "xray:GetSamplingRules",
    "xray:GetSamplingTargets",
    "xray:PutTelemetryRecords",
    "xray:PutTraceSegments",
}
"""Actions that IAM's service authorisation reference lists without a resource type."""


def roles(made: Made) -> list[str]:
    return [line for stack in made.assembly.stacks for line in described(made.assembly.template(stack))]


@pytest.mark.parametrize("which", WHICH)
def test_roles_may_do_what_the_snapshot_says(made: Mapping[str, Made], which: str) -> None:
    found = "\n".join(roles(made[which])) + "\n"
    snapshot = SNAPSHOTS / f"iam_{which}.txt"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        snapshot.parent.mkdir(exist_ok=True)
        snapshot.write_text(found)
    assert found == snapshot.read_text()


def resources_of(made: Made, service: str) -> set[str]:
    return {line.split()[3] for line in roles(made) if line.startswith(f"  allow {service}:")}


def test_a_plain_model_is_one_arn(made: Mapping[str, Made]) -> None:
    assert resources_of(made["plain"], "bedrock") == {model_arn("us-east-1")}


@pytest.mark.parametrize(("which", "region"), [("us", "us-east-1"), ("eu", "eu-west-1"), ("global", "us-east-1")])
def test_a_profile_is_itself_and_its_model_wherever_it_may_go(
    made: Mapping[str, Made], which: str, region: str
) -> None:
    model_id = f"{which}.{NOVA}"
    models = {model_arn(each) for each in PROFILES[model_id]}
    assert resources_of(made[which], "bedrock") == models | {profile_arn(model_id, region)}
    asked = [line for line in roles(made[which]) if "foundation-model" in line]
    assert len(asked) == len(models)
    assert all(
        f"where bedrock:InferenceProfileArn StringEquals {profile_arn(model_id, region)}" in each for each in asked
    )


@pytest.mark.parametrize("which", WHICH)
def test_of_sagemaker_it_may_stream_with_one_endpoint(made: Mapping[str, Made], which: str) -> None:
    actions = {line.split()[1] for line in roles(made[which]) if line.startswith("  allow sagemaker:")}
    assert actions == {
        "sagemaker:InvokeEndpointWithBidirectionalStream",
        "sagemaker:InvokeEndpointWithResponseStream",
    }
    assert resources_of(made[which], "sagemaker") == {VOICE.endpoint_arn}


@pytest.mark.parametrize("which", WHICH)
def test_only_actions_that_know_no_resource_are_allowed_on_all(made: Mapping[str, Made], which: str) -> None:
    on_all = {line.split()[1] for line in roles(made[which]) if " on * " in f"{line} "}
    assert on_all
    assert on_all <= NO_RESOURCE


@pytest.mark.parametrize("which", WHICH)
def test_no_action_is_a_wildcard_and_no_service_may_take_a_role_for_another_account(
    made: Mapping[str, Made], which: str
) -> None:
    lines = roles(made[which])
    assert not [line for line in lines if line.startswith("  allow") and "*" in line.split()[1]]
    takers = [line for line in lines if line.startswith("  taken by")]
    assert takers
    assert all("aws:SourceAccount StringEquals 123456789012" in line for line in takers)
