"""The two roles of a pipeline: one that deploys a stage, one that reads what a pull request would change.

Whatever makes resources goes through the CDK's own roles, which these may take; the rest is what `speech-infra` asks
for itself, bound to the stage's names. They cost nothing.
"""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import Construct
from infra_common.constructs.statements import allow, argue_wildcards
from infra_common.ownership import STAGE_KEY

from speech_infra.pipeline import AUDIENCE, HOST, Pipeline

DEPLOY_HOURS = 2
"""An image build, weights, and an update that bakes."""
_CDK_DEPLOYS = ("deploy", "file-publishing", "lookup")
_CDK_READS = ("lookup",)
_NO_RESOURCE = "quotas, prices, scaling targets, the list of keys and ECR's tokens know no resource"


class PipelineRoles(Construct):
    """`deploy` and `diff` are roles for GitHub's workflows."""

    def __init__(self, scope: Construct, id: str, pipeline: Pipeline, provider_arn: str) -> None:
        super().__init__(scope, id)
        arns = _Arns(cdk.Stack.of(self), pipeline.names.stage)
        self.deploy = iam.Role(
            self,
            "Deploy",
            description=f"jobs of environment {pipeline.environment} of {pipeline.repository} deploy with it",
            assumed_by=_workflows(provider_arn, pipeline.deploy_subject),
            max_session_duration=cdk.Duration.hours(DEPLOY_HOURS),
        )
        changing = iam.Policy(self, "DeployPolicy", statements=_deploys(arns), roles=[self.deploy])
        argue_wildcards(changing, arns.deploy_reasons)
        _accept_new_action(changing)
        self.diff = iam.Role(
            self,
            "Diff",
            description=f"pull requests of {pipeline.repository} read with it; it can change nothing",
            assumed_by=_workflows(provider_arn, pipeline.diff_subject),
        )
        reading = iam.Policy(self, "DiffPolicy", statements=_reads(arns), roles=[self.diff])
        argue_wildcards(reading, arns.diff_reasons)


class _Arns:
    """What belongs to a stage, as ARNs; models of the stage share them."""

    def __init__(self, stack: cdk.Stack, stage: str) -> None:
        def arn(service: str, resource: str, name: str, **where: str) -> str:
            return str(stack.format_arn(service=service, resource=resource, resource_name=name, **where))

        self._stack = stack
        names = f"speech-{stage}-*"
        self.buckets = f"arn:{cdk.Aws.PARTITION}:s3:::{names}"
        self.weights = f"{self.buckets}/weights/*"
        self.repositories = arn("ecr", "repository", f"speech/{stage}/*")
        self.parameters = arn("ssm", "parameter", f"speech/{stage}/*")
        self.smoke_tests = arn("ssm", "parameter", f"speech/{stage}/*/last-smoke-test")
        self.endpoints = arn("sagemaker", "endpoint", names)
        self.stacks = arn("cloudformation", "stack", f"{names}/*")
        log_groups = f"log-group:/aws/sagemaker/Endpoints/{names}"
        logs = stack.format_arn(service="logs", resource=log_groups, arn_format=cdk.ArnFormat.NO_RESOURCE_NAME)
        self.logs = [logs, f"{logs}:*"]  # the groups, and what is in them
        self.alarms = stack.format_arn(
            service="cloudwatch", resource="alarm:*", arn_format=cdk.ArnFormat.NO_RESOURCE_NAME
        )
        self.keys = arn("kms", "key", "*")
        self.stage = stage
        self.bootstrap = arn("ssm", "parameter", "cdk-bootstrap/hnb659fds/version")
        stages = "one stage of the project by the beginning of its names; its models come and go"
        self.diff_reasons = {self.parameters: stages, self.repositories: stages}
        self.deploy_reasons = {
            **self.diff_reasons,
            "*": _NO_RESOURCE,
            self.keys: "keys have no names; those of the stage are told by their tag",
            self.alarms: "CloudWatch describes alarms by prefix, and asks for the right to all of them",
            **dict.fromkeys(
                (self.buckets, self.weights, self.smoke_tests, self.endpoints, self.stacks, *self.logs), stages
            ),
        }

    def cdk_roles(self, kinds: tuple[str, ...]) -> list[str]:
        """The bootstrap's roles of this account and region."""
        end = f"{self._stack.account}-{self._stack.region}"
        return [
            self._stack.format_arn(
                service="iam", region="", resource="role", resource_name=f"cdk-hnb659fds-{kind}-role-{end}"
            )
            for kind in kinds
        ]


def _workflows(provider_arn: str, subject: str) -> iam.WebIdentityPrincipal:
    wanted = {f"{HOST}:aud": AUDIENCE, f"{HOST}:sub": subject}
    return iam.WebIdentityPrincipal(provider_arn, conditions={"StringEquals": wanted})


def _accept_new_action(policy: iam.Policy) -> None:
    """cfn-lint does not know sagemaker:InvokeEndpointWithBidirectionalStream yet (W3037: no such action)."""
    resource = policy.node.default_child
    assert isinstance(resource, cdk.CfnResource)  # noqa: S101 - narrows the type; CDK gives no other
    resource.add_metadata("cfn-lint", {"config": {"ignore_checks": ["W3037"]}})


def _reads(arns: _Arns) -> list[iam.PolicyStatement]:
    return [
        allow("TakeCdkRoles", ["sts:AssumeRole"], arns.cdk_roles(_CDK_READS)),
        allow("ReadRelease", ["ssm:GetParameter"], [arns.parameters]),
        allow("FindImage", ["ecr:DescribeImages"], [arns.repositories]),
    ]


def _deploys(arns: _Arns) -> list[iam.PolicyStatement]:
    return [
        allow("TakeCdkRoles", ["sts:AssumeRole"], arns.cdk_roles(_CDK_DEPLOYS)),
        allow(
            "WatchAndRecoverStacks",
            [
                "cloudformation:ContinueUpdateRollback",
                "cloudformation:DeleteStack",
                "cloudformation:DescribeStackEvents",
                "cloudformation:DescribeStackResources",
                "cloudformation:DescribeStacks",
            ],
            [arns.stacks],
        ),
        allow("SendWeights", ["s3:GetObject", "s3:PutObject"], [arns.weights]),
        allow("LookAtBuckets", ["s3:GetBucketTagging", "s3:ListBucket"], [arns.buckets]),
        allow(
            "PushImages",
            [
                "ecr:BatchCheckLayerAvailability",
                "ecr:BatchGetImage",
                "ecr:CompleteLayerUpload",
                "ecr:DescribeImages",
                "ecr:DescribeRepositories",
                "ecr:GetDownloadUrlForLayer",
                "ecr:InitiateLayerUpload",
                "ecr:ListTagsForResource",
                "ecr:PutImage",
                "ecr:UploadLayerPart",
            ],
            [arns.repositories],
        ),
        allow(
            "EncryptWithStagesKey",
            ["kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKey", "kms:ListResourceTags"],
            [arns.keys],
            {"StringEquals": {f"aws:ResourceTag/{STAGE_KEY}": arns.stage}},
        ),
        allow("ReadBootstrapVersion", ["ssm:GetParameter"], [arns.bootstrap]),
        allow("ReadReleases", ["ssm:GetParameter", "ssm:GetParameterHistory"], [arns.parameters]),
        allow("RememberSmokeTest", ["ssm:AddTagsToResource", "ssm:PutParameter"], [arns.smoke_tests]),
        allow(
            "Speak", ["sagemaker:DescribeEndpoint", "sagemaker:InvokeEndpointWithBidirectionalStream"], [arns.endpoints]
        ),
        allow(
            "ReadLog",
            ["logs:DescribeLogStreams", "logs:FilterLogEvents", "logs:GetLogEvents"],
            arns.logs,
        ),
        allow("SeeAlarms", ["cloudwatch:DescribeAlarms"], [arns.alarms]),
        allow(
            "AskWithoutResource",
            [
                "application-autoscaling:DescribeScalableTargets",
                "ecr:GetAuthorizationToken",
                "kms:ListKeys",
                "pricing:GetProducts",
                "servicequotas:GetServiceQuota",
                "servicequotas:ListServiceQuotas",
            ],
            ["*"],
        ),
    ]
