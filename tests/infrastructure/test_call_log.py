"""What the stand-in says was asked of it: as IAM names it, and without those who belong to the house."""

import boto3
import pytest
from botocore.config import Config

from tests.fake_aws.harness import KEYS, REGION, FakeAws

pytestmark = pytest.mark.infra


def test_what_was_asked_is_told_as_actions_and_the_house_does_not_count(aws: FakeAws) -> None:
    aws.client("s3").create_bucket(Bucket="weights")
    aws.client("ssm").put_parameter(Name="/a", Value="b", Type="String")
    session = boto3.Session(*KEYS.values(), region_name=REGION)
    s3 = session.client("s3", endpoint_url=aws.url, config=Config(proxies={}, s3={"addressing_style": "path"}))
    s3.put_object(Bucket="weights", Key="a/b", Body=b"1")
    s3.head_object(Bucket="weights", Key="a/b")
    s3.list_object_versions(Bucket="weights")
    s3.list_buckets()
    session.client("cloudwatch", endpoint_url=aws.url).describe_alarms()
    session.client("sts", endpoint_url=aws.url).get_caller_identity()
    assert aws.actions() == {
        "s3:PutObject",
        "s3:GetObject",
        "s3:ListBucketVersions",
        "s3: GET /?",
        "cloudwatch:DescribeAlarms",
        "sts:GetCallerIdentity",
    }
