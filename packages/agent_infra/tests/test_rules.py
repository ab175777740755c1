"""Each house rule of an agent: silent over what keeps it, heard over what breaks it."""

import copy
from typing import Any

import pytest
from agent_infra.rules import RULES
from infra_common.rules import COMMON_RULES, breaches

TAGS = {"voice-stack:application": "kokoro-voice-stack", "voice-stack:stage": "dev"}
GOOD: dict[str, Any] = {
    "Resources": {
        "Runtime": {
            "Type": "AWS::BedrockAgentCore::Runtime",
            "Properties": {
                "AgentRuntimeArtifact": {
                    "ContainerConfiguration": {
                        "ContainerUri": {"Fn::Join": ["", ["host/voice", f"@sha256:{'0' * 64}"]]}
                    }
                },
                "Tags": TAGS,
            },
        },
        "Endpoint": {
            "Type": "AWS::BedrockAgentCore::RuntimeEndpoint",
            "Properties": {"AgentRuntimeVersion": {"Fn::GetAtt": ["Runtime", "AgentRuntimeVersion"]}},
        },
        "May": {
            "Type": "AWS::IAM::Policy",
            "Properties": {
                "PolicyDocument": {
                    "Statement": [
                        {
                            "Action": "bedrock:InvokeModelWithResponseStream",
                            "Resource": "arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-lite-v1:0",
                        }
                    ]
                }
            },
        },
    }
}
BREAKS: dict[str, tuple[tuple[str | int, ...], Any]] = {
    "image-by-digest": (
        ("Runtime", "Properties", "AgentRuntimeArtifact", "ContainerConfiguration", "ContainerUri"),
        "host/voice:latest",
    ),
    "endpoint-by-version": (("Endpoint", "Properties", "AgentRuntimeVersion"), None),
    "exact-models": (
        ("May", "Properties", "PolicyDocument", "Statement", 0, "Resource"),
        ["arn:aws:bedrock:*::foundation-model/*"],
    ),
    "ownership-tags": (("Runtime", "Properties", "Tags"), {}),
}


def test_a_template_that_keeps_every_rule_is_silent() -> None:
    assert breaches(GOOD, RULES) == []


def test_each_rule_of_ours_has_a_template_that_breaks_it() -> None:
    own = {rule.name for rule in RULES} - {rule.name for rule in COMMON_RULES}
    assert own <= set(BREAKS)


@pytest.mark.parametrize("rule", BREAKS)
def test_a_template_that_breaks_one_rule_hears_of_that_rule_alone(rule: str) -> None:
    path, value = BREAKS[rule]
    template = copy.deepcopy(GOOD)
    here: Any = template["Resources"]
    for part in path[:-1]:
        here = here[part]
    here[path[-1]] = value
    found = breaches(template, RULES)
    assert [(breach.rule, breach.resource) for breach in found] == [(rule, path[0])]
    assert found[0].fix
