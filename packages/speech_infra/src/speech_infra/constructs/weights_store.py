"""The bucket that SageMaker mounts the weights from, and the one that says who read it.

Left behind they cost cents a month (0.4 GB of weights). Both are kept when their stack goes, by name, so that the next
deployment adopts them; nothing in them is overwritten, because weights lie under the hash of their content.
"""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct
from infra_common.constructs.acknowledged import acknowledge

from speech_infra.names import Names

_LOGS_DAYS = 90
_OLD_VERSION_DAYS = 7
_LOGS_PREFIX = "weights/"


class WeightsStore(Construct):
    """`bucket` holds the weights."""

    def __init__(self, scope: Construct, id: str, names: Names, key: kms.IKey | None) -> None:
        super().__init__(scope, id)
        access_logs = s3.Bucket(
            self,
            "AccessLogs",
            bucket_name=names.access_log_bucket,
            encryption=s3.BucketEncryption.S3_MANAGED,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            removal_policy=cdk.RemovalPolicy.RETAIN,
            lifecycle_rules=[s3.LifecycleRule(expiration=cdk.Duration.days(_LOGS_DAYS))],
        )
        acknowledge(
            access_logs,
            "AwsSolutions-S1",
            "this is where the access log goes; logging it into itself would never end",
        )
        self.bucket = s3.Bucket(
            self,
            "Weights",
            bucket_name=names.weights_bucket,
            versioned=True,
            encryption=s3.BucketEncryption.KMS if key else s3.BucketEncryption.S3_MANAGED,
            encryption_key=key,
            bucket_key_enabled=True if key else None,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            removal_policy=cdk.RemovalPolicy.RETAIN,
            lifecycle_rules=[
                s3.LifecycleRule(
                    abort_incomplete_multipart_upload_after=cdk.Duration.days(1),
                    noncurrent_version_expiration=cdk.Duration.days(_OLD_VERSION_DAYS),
                )
            ],
        )
        # Granted here and not by server_access_logs_bucket alone: the log's policy then names its one source.
        access_logs.add_to_resource_policy(
            iam.PolicyStatement(
                actions=["s3:PutObject"],
                principals=[iam.ServicePrincipal("logging.s3.amazonaws.com")],
                resources=[access_logs.arn_for_objects(f"{_LOGS_PREFIX}*")],
                conditions={
                    "ArnLike": {"aws:SourceArn": f"arn:{cdk.Aws.PARTITION}:s3:::{names.weights_bucket}"},
                    "StringEquals": {"aws:SourceAccount": cdk.Stack.of(self).account},
                },
            )
        )
        bucket = self.bucket.node.default_child
        assert isinstance(bucket, s3.CfnBucket)  # noqa: S101 - narrows the type; CDK gives no other
        bucket.logging_configuration = s3.CfnBucket.LoggingConfigurationProperty(
            destination_bucket_name=access_logs.bucket_name, log_file_prefix=_LOGS_PREFIX
        )
