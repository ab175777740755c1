"""Each house rule: silent over what keeps it, heard over what breaks it, and asked by CDK itself."""

import copy
from pathlib import Path
from typing import Any

import pytest
from infra_common.assembly import synthesise
from infra_common.errors import OutcomeError
from infra_common.rules import breaches
from speech_infra.rules import RULES

TAGS = [{"Key": "voice-stack:application", "Value": "kokoro-voice-stack"}, {"Key": "voice-stack:stage", "Value": "dev"}]
GOOD: dict[str, Any] = {
    "Resources": {
        "Model": {
            "Type": "AWS::SageMaker::Model",
            "Properties": {
                "EnableNetworkIsolation": True,
                "PrimaryContainer": {"Image": {"Fn::Join": ["", ["host/voice", f"@sha256:{'0' * 64}"]]}},
                "Tags": TAGS,
            },
        },
        "Config": {
            "Type": "AWS::SageMaker::EndpointConfig",
            "Properties": {
                "ProductionVariants": [{"InstanceType": "ml.g5.xlarge", "InferenceAmiVersion": "al2023-x"}],
                "Tags": TAGS,
            },
        },
        "Endpoint": {
            "Type": "AWS::SageMaker::Endpoint",
            "Properties": {
                "DeploymentConfig": {"AutoRollbackConfiguration": {"Alarms": [{"AlarmName": "slow"}]}},
                "Tags": TAGS,
            },
        },
        "Role": {
            "Type": "AWS::IAM::Role",
            "Properties": {
                "AssumeRolePolicyDocument": {
                    "Statement": [
                        {
                            "Principal": {"Service": "sagemaker.amazonaws.com"},
                            "Condition": {"StringEquals": {"aws:SourceAccount": "123456789012"}},
                        }
                    ]
                },
                "Tags": TAGS,
            },
        },
        "Workflow": {
            "Type": "AWS::IAM::Role",
            "Properties": {
                "AssumeRolePolicyDocument": {
                    "Statement": [
                        {
                            "Principal": {"Federated": {"Ref": "Provider"}},
                            "Condition": {"StringEquals": {"host:aud": "sts", "host:sub": "repo:a/b:environment:c"}},
                        }
                    ]
                },
                "Tags": TAGS,
            },
        },
        "Bucket": {"Type": "AWS::S3::Bucket", "Properties": {"Tags": TAGS}},
        "BucketPolicy": {
            "Type": "AWS::S3::BucketPolicy",
            "Properties": {
                "Bucket": {"Ref": "Bucket"},
                "PolicyDocument": {
                    "Statement": [{"Effect": "Deny", "Condition": {"Bool": {"aws:SecureTransport": "false"}}}]
                },
            },
        },
    }
}

Path_ = tuple[str | int, ...]
BREAKS: dict[str, tuple[Path_, Any]] = {
    "network-isolation": (("Model", "Properties", "EnableNetworkIsolation"), False),
    "image-by-digest": (("Model", "Properties", "PrimaryContainer", "Image"), "host/voice:latest"),
    "machine-image": (("Config", "Properties", "ProductionVariants", 0, "InferenceAmiVersion"), None),
    "guarded-update": (("Endpoint", "Properties", "DeploymentConfig", "AutoRollbackConfiguration"), {}),
    "bound-trust": (("Role", "Properties", "AssumeRolePolicyDocument", "Statement", 0, "Condition"), {}),
    "bound-federation": (
        ("Workflow", "Properties", "AssumeRolePolicyDocument", "Statement", 0, "Condition"),
        {"StringLike": {"host:aud": "sts", "host:sub": "repo:a/*"}},
    ),
    "tls-only": (("BucketPolicy", "Properties", "PolicyDocument", "Statement"), []),
    "ownership-tags": (("Bucket", "Properties", "Tags"), []),
}


def test_a_template_that_keeps_every_rule_is_silent() -> None:
    assert breaches(GOOD, RULES) == []


def test_each_rule_has_a_template_that_breaks_it() -> None:
    assert set(BREAKS) == {rule.name for rule in RULES}


@pytest.mark.parametrize("rule", BREAKS)
def test_a_template_that_breaks_one_rule_hears_of_that_rule_alone(rule: str) -> None:
    path, value = BREAKS[rule]
    template = copy.deepcopy(GOOD)
    here: Any = template["Resources"]
    for part in path[:-1]:
        here = here[part]
    here[path[-1]] = value
    found = breaches(template, RULES)
    assert [breach.rule for breach in found] == [rule]
    assert found[0].resource == path[0] or rule == "tls-only"
    assert found[0].fix


@pytest.mark.parametrize("claims", [{"aud": "sts"}, {"sub": "repo:a/b"}, {"aud": "sts", "sub": "repo:a/*"}])
def test_a_token_that_is_held_to_half_of_what_it_says_is_not_trusted(claims: dict[str, str]) -> None:
    template = copy.deepcopy(GOOD)
    statement = template["Resources"]["Workflow"]["Properties"]["AssumeRolePolicyDocument"]["Statement"][0]
    statement["Condition"] = {"StringEquals": {f"host:{claim}": value for claim, value in claims.items()}}
    assert [breach.rule for breach in breaches(template, RULES)] == ["bound-federation"]


@pytest.mark.infra
@pytest.mark.timeout(300)
def test_synthesis_stops_at_a_broken_rule_and_says_which(tmp_path: Path) -> None:
    def build(into: Path) -> Any:
        import aws_cdk as cdk
        from aws_cdk import aws_s3 as s3
        from infra_common.rule_check import HouseRules

        app = cdk.App(outdir=str(into))
        stack = cdk.Stack(app, "Voice")
        s3.Bucket(stack, "Open")
        cdk.Validations.of(app).add_plugins(HouseRules(RULES))
        return app

    with pytest.raises(OutcomeError, match=r"break 2 of the house rules: tls-only \(requests without TLS") as refused:
        synthesise(build, tmp_path / "out")
    assert "ownership-tags" in str(refused.value)
