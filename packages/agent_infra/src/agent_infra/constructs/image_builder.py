"""A CodeBuild project on ARM that makes the image. A build costs about 0.02 USD a minute, the project nothing.

Sources come in through a bucket whose objects go after a day; the image goes straight into the agent's repository,
under the tag that the sources have.
"""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from constructs import Construct
from infra_common.constructs.acknowledged import acknowledge
from infra_common.constructs.statements import allow, argue_wildcards

from agent_infra.names import Names

LONGEST_MINUTES = 30
_BUILD = (
    'docker build --platform "$PLATFORM" --file "$DOCKERFILE" --tag "$REPOSITORY:$TAG" '
    "${BASE_IMAGE:+--build-arg BASE_IMAGE=$BASE_IMAGE} ."
)
_LOG_IN = (
    'aws ecr get-login-password | docker login --username AWS --password-stdin "$(echo "$REPOSITORY" | cut -d / -f 1)"'
)


class ImageBuilder(Construct):
    """Project, source bucket and role."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        names: Names,
        repository: ecr.IRepository,
    ) -> None:
        super().__init__(scope, id)
        stack = cdk.Stack.of(self)
        bucket = s3.Bucket(
            self,
            "Sources",
            bucket_name=names.source_bucket,
            encryption=s3.BucketEncryption.S3_MANAGED,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            removal_policy=cdk.RemovalPolicy.DESTROY,
            lifecycle_rules=[s3.LifecycleRule(expiration=cdk.Duration.days(1))],
        )
        acknowledge(
            bucket, "AwsSolutions-S1", "it holds a build's sources for a day; CodeBuild's log says who read them"
        )
        group = logs.LogGroup(
            self,
            "Log",
            log_group_name=f"/aws/codebuild/{names.builder}",
            retention=logs.RetentionDays.ONE_MONTH,
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )
        project_arn = stack.format_arn(service="codebuild", resource="project", resource_name=names.builder)
        role = iam.Role(
            self,
            "Role",
            description=f"builds the image of {names.deployment}",
            assumed_by=iam.ServicePrincipal(
                "codebuild.amazonaws.com",
                conditions={
                    "StringEquals": {"aws:SourceAccount": stack.account},
                    "ArnLike": {"aws:SourceArn": project_arn},
                },
            ),
        )
        sources = bucket.arn_for_objects("*")
        policy = iam.Policy(
            self,
            "Policy",
            roles=[role],
            statements=[
                allow("FindSources", ["s3:GetBucketAcl", "s3:GetBucketLocation"], [bucket.bucket_arn]),
                allow("ReadSources", ["s3:GetObject", "s3:GetObjectVersion"], [sources]),
                allow(
                    "PushImage",
                    [
                        "ecr:BatchCheckLayerAvailability",
                        "ecr:BatchGetImage",
                        "ecr:CompleteLayerUpload",
                        "ecr:GetDownloadUrlForLayer",
                        "ecr:InitiateLayerUpload",
                        "ecr:PutImage",
                        "ecr:UploadLayerPart",
                    ],
                    [repository.repository_arn],
                ),
                allow("LogInToRegistry", ["ecr:GetAuthorizationToken"], ["*"]),
                allow("WriteLogLines", ["logs:CreateLogStream", "logs:PutLogEvents"], [group.log_group_arn]),
            ],
        )
        argue_wildcards(
            policy,
            {
                "*": "an ECR token is for every repository of the account: the action knows no resource",
                sources: "a build's sources lie under the tag of their content, which changes with each build",
            },
        )
        project = codebuild.CfnProject(
            self,
            "Project",
            name=names.builder,
            description=f"builds the image of {names.deployment} for arm64",
            service_role=role.role_arn,
            timeout_in_minutes=LONGEST_MINUTES,
            artifacts=codebuild.CfnProject.ArtifactsProperty(type="NO_ARTIFACTS"),
            source=codebuild.CfnProject.SourceProperty(
                type="S3", location=f"{bucket.bucket_name}/none.zip", build_spec=_buildspec(stack)
            ),
            environment=codebuild.CfnProject.EnvironmentProperty(
                type="ARM_CONTAINER",
                compute_type="BUILD_GENERAL1_SMALL",
                image="aws/codebuild/amazonlinux-aarch64-standard:3.0",
                privileged_mode=True,
                environment_variables=[
                    codebuild.CfnProject.EnvironmentVariableProperty(name="REPOSITORY", value=repository.repository_uri)
                ],
            ),
            logs_config=codebuild.CfnProject.LogsConfigProperty(
                cloud_watch_logs=codebuild.CfnProject.CloudWatchLogsConfigProperty(
                    status="ENABLED", group_name=group.log_group_name
                )
            ),
        )
        project.node.add_dependency(policy)
        acknowledge(project, "AwsSolutions-CB4", "it keeps no artefact; the image is encrypted in its repository")
        acknowledge(project, "AwsSolutions-CB3", "Docker builds an image inside, which takes a privileged container")


def _buildspec(stack: cdk.Stack) -> str:
    spec: str = stack.to_json_string(
        {
            "version": "0.2",
            "phases": {
                "pre_build": {"commands": [_LOG_IN]},
                "build": {"commands": [_BUILD]},
                "post_build": {"commands": ['docker push "$REPOSITORY:$TAG"']},
            },
        }
    )
    return spec
