"""The stand-in for CloudFormation does what the product leans on the real one for."""

import json
from typing import Any

import pytest

from tests.fake_aws.harness import FakeAws

pytestmark = pytest.mark.infra
IMAGE = "123456789012.dkr.ecr.us-east-1.amazonaws.com/voice@"


def hosting(digest: str, **endpoint: Any) -> str:
    """A model, its configuration and its endpoint: what changes with an image."""
    return json.dumps(
        {
            "Resources": {
                "Endpoint": {
                    "Type": "AWS::SageMaker::Endpoint",
                    "Properties": {
                        "EndpointName": "voice",
                        "EndpointConfigName": {"Fn::GetAtt": ["Config", "EndpointConfigName"]},
                        **endpoint,
                    },
                },
                "Config": {
                    "Type": "AWS::SageMaker::EndpointConfig",
                    "Properties": {
                        "ProductionVariants": [
                            {
                                "VariantName": "AllTraffic",
                                "ModelName": {"Fn::GetAtt": ["Model", "ModelName"]},
                                "InstanceType": "ml.g5.xlarge",
                                "InitialInstanceCount": 1,
                            }
                        ]
                    },
                },
                "Model": {
                    "Type": "AWS::SageMaker::Model",
                    "Properties": {
                        "ExecutionRoleArn": "arn:aws:iam::123456789012:role/x",
                        "PrimaryContainer": {"Image": IMAGE + digest},
                    },
                },
            }
        }
    )


def status(aws: FakeAws, stack: str = "voice") -> str:
    found: str = aws.client("cloudformation").describe_stacks(StackName=stack)["Stacks"][0]["StackStatus"]
    return found


def events(aws: FakeAws, stack: str = "voice") -> list[tuple[str, str]]:
    found = aws.client("cloudformation").describe_stack_events(StackName=stack)["StackEvents"]
    return [(each["LogicalResourceId"], each["ResourceStatus"]) for each in reversed(found)]


def live_image(aws: FakeAws) -> str:
    variant = aws.client("sagemaker").describe_endpoint(EndpointName="voice")["ProductionVariants"][0]
    image: str = variant["DeployedImages"][0]["ResolvedImage"]
    return image


def test_a_new_image_replaces_the_model_and_what_refers_to_it(aws: FakeAws) -> None:
    first, second = (aws.registry.push("voice", tag, {}, tag.encode()) for tag in ("one", "two"))
    cloudformation = aws.client("cloudformation")
    cloudformation.create_stack(StackName="voice", TemplateBody=hosting(first))
    cloudformation.update_stack(StackName="voice", TemplateBody=hosting(second))
    assert status(aws) == "UPDATE_COMPLETE"
    assert live_image(aws) == IMAGE + second
    assert len(aws.client("sagemaker").list_models()["Models"]) == 1


def test_a_creation_that_fails_is_rolled_back_and_cannot_be_updated(aws: FakeAws) -> None:
    digest = aws.registry.push("voice", "one", {}, b"one")
    aws.fault(endpoint_failure="The primary container did not pass the ping health check.")
    cloudformation = aws.client("cloudformation")
    cloudformation.create_stack(StackName="voice", TemplateBody=hosting(digest))
    assert status(aws) == "ROLLBACK_COMPLETE"
    assert ("Endpoint", "CREATE_FAILED") in events(aws)
    assert not aws.client("sagemaker").list_models()["Models"]
    with pytest.raises(cloudformation.exceptions.ClientError, match="ROLLBACK_COMPLETE"):
        cloudformation.update_stack(StackName="voice", TemplateBody=hosting(digest))


def test_an_alarm_of_the_deployment_turns_an_update_back(aws: FakeAws) -> None:
    first, second = (aws.registry.push("voice", tag, {}, tag.encode()) for tag in ("one", "two"))
    guard = {
        "DeploymentConfig": {
            "BlueGreenUpdatePolicy": {
                "TrafficRoutingConfiguration": {"Type": "ALL_AT_ONCE", "WaitIntervalInSeconds": 60}
            },
            "AutoRollbackConfiguration": {"Alarms": [{"AlarmName": "slow"}]},
        }
    }
    cloudformation, cloudwatch = aws.client("cloudformation"), aws.client("cloudwatch")
    cloudformation.create_stack(StackName="voice", TemplateBody=hosting(first, **guard))
    cloudwatch.put_metric_alarm(
        AlarmName="slow",
        Namespace="x",
        MetricName="y",
        Period=60,
        EvaluationPeriods=1,
        Threshold=1,
        Statistic="Sum",
        ComparisonOperator="GreaterThanThreshold",
    )
    cloudwatch.set_alarm_state(AlarmName="slow", StateValue="ALARM", StateReason="test")
    cloudformation.update_stack(StackName="voice", TemplateBody=hosting(second, **guard))
    assert status(aws) == "UPDATE_ROLLBACK_COMPLETE"
    assert live_image(aws) == IMAGE + first


def test_what_is_retained_survives_its_stack_and_is_adopted_by_the_next(aws: FakeAws) -> None:
    template = json.dumps(
        {
            "Resources": {
                "Kept": {"Type": "AWS::S3::Bucket", "DeletionPolicy": "Retain", "Properties": {"BucketName": "kept"}}
            }
        }
    )
    cloudformation = aws.client("cloudformation")
    cloudformation.create_stack(StackName="voice", TemplateBody=template)
    aws.client("s3").put_object(Bucket="kept", Key="a", Body=b"1")
    cloudformation.delete_stack(StackName="voice")
    cloudformation.create_stack(StackName="again", TemplateBody=template)
    assert status(aws, "again") == "ROLLBACK_COMPLETE"
    cloudformation.create_change_set(
        StackName="third",
        ChangeSetName="c",
        ChangeSetType="CREATE",
        TemplateBody=template,
        ImportExistingResources=True,
    )
    cloudformation.execute_change_set(StackName="third", ChangeSetName="c")
    assert status(aws, "third") == "CREATE_COMPLETE"
    assert ("Kept", "IMPORT_COMPLETE") in events(aws, "third")
    assert aws.client("s3").get_object(Bucket="kept", Key="a")["Body"].read() == b"1"


def test_a_bucket_that_holds_something_stops_the_deletion(aws: FakeAws) -> None:
    template = json.dumps({"Resources": {"Full": {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": "full"}}}})
    cloudformation = aws.client("cloudformation")
    cloudformation.create_stack(StackName="voice", TemplateBody=template)
    aws.client("s3").put_object(Bucket="full", Key="a", Body=b"1")
    cloudformation.delete_stack(StackName="voice")
    assert status(aws) == "DELETE_FAILED"


def test_an_upload_that_differs_from_its_hash_is_refused(aws: FakeAws) -> None:
    s3 = aws.client("s3")
    s3.create_bucket(Bucket="weights")
    with pytest.raises(s3.exceptions.ClientError, match="BadDigest"):
        s3.put_object(Bucket="weights", Key="a", Body=b"1", ChecksumAlgorithm="SHA256", ChecksumSHA256="A" * 43 + "=")


def test_a_refusal_is_told_as_often_as_it_was_asked_for(aws: FakeAws) -> None:
    aws.refuse("sts", "ExpiredToken", "The security token included in the request is expired", status=403)
    sts = aws.client("sts")
    with pytest.raises(sts.exceptions.ClientError, match="ExpiredToken"):
        sts.get_caller_identity()
    assert sts.get_caller_identity()["Account"] == "123456789012"
