"""The account as tests use it: started as a process, spoken to with boto3, made to fail by its control plane."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import boto3
import httpx
from botocore.config import Config

from .call_log import INSIDER
from .registry import Registry

ROOT: Final = Path(__file__).parents[2]
REGION: Final = "us-east-1"
KEYS: Final = {"AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret"}


@dataclass(frozen=True, slots=True)
class FakeAws:
    """A running account."""

    url: str
    registry: Registry

    def environment(self, **extra: str) -> dict[str, str]:
        """What a child needs to be at this account and no other."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "CDK_"))}
        return kept | {
            **KEYS,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ENDPOINT_URL_S3_FOR_CLOUDFORMATION": "https://s3.us-east-1.amazonaws.com",
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "CDK_DISABLE_CLI_TELEMETRY": "1",
            "NO_PROXY": "127.0.0.1,localhost",
            "no_proxy": "127.0.0.1,localhost",
            **extra,
        }

    def client(self, service: str, region: str = REGION) -> Any:
        """A boto3 client of this account."""
        session = boto3.Session(*KEYS.values(), region_name=region)
        config = Config(
            proxies={}, s3={"addressing_style": "path"}, retries={"total_max_attempts": 1}, user_agent_extra=INSIDER
        )
        return session.client(service, endpoint_url=self.url, config=config)

    def fault(self, **changes: Any) -> None:
        """Set fields of `faults.Faults`."""
        self._tell("faults", changes)

    def refuse(self, service: str, code: str, message: str, **more: Any) -> None:
        """An AWS error for the next calls of a service; see `faults.Refusal`."""
        self.fault(refusals=[{"service": service, "code": code, "message": message, **more}])

    def actions(self) -> set[str]:
        """The IAM actions of everything that was asked through boto3 since the account was new."""
        answer: dict[str, list[str]] = self._tell("calls", {})
        return set(answer["actions"])

    def clear_faults(self) -> None:
        """Nothing goes wrong any more."""
        self._tell("clear", {})

    def reset(self) -> None:
        """A new, empty account."""
        self._tell("reset", {})

    def bootstrap(self, region: str = REGION) -> None:
        """What `cdk bootstrap` leaves, as far as deployments lean on it; quicker than the command."""
        bucket = f"cdk-hnb659fds-assets-123456789012-{region}"
        template = {
            "Resources": {
                "StagingBucket": {
                    "Type": "AWS::S3::Bucket",
                    "DeletionPolicy": "Retain",
                    "Properties": {"BucketName": bucket, "VersioningConfiguration": {"Status": "Enabled"}},
                },
                "ContainerAssetsRepository": {
                    "Type": "AWS::ECR::Repository",
                    "Properties": {"RepositoryName": f"cdk-hnb659fds-container-assets-123456789012-{region}"},
                },
                "CdkBootstrapVersion": {
                    "Type": "AWS::SSM::Parameter",
                    "Properties": {"Name": "/cdk-bootstrap/hnb659fds/version", "Type": "String", "Value": "30"},
                },
            },
            "Outputs": {
                "BucketName": {"Value": {"Ref": "StagingBucket"}},
                "BucketDomainName": {"Value": {"Fn::GetAtt": ["StagingBucket", "RegionalDomainName"]}},
                "BootstrapVersion": {"Value": "30"},
            },
        }
        self.client("cloudformation", region).create_stack(StackName="CDKToolkit", TemplateBody=json.dumps(template))

    def _tell(self, what: str, body: dict[str, Any]) -> Any:
        answer = httpx.post(f"{self.url}/_fake/{what}", json=body, trust_env=False, timeout=30)
        return answer.raise_for_status().json()


@contextmanager
def fake_aws(directory: Path) -> Iterator[FakeAws]:
    """Start an account whose registry lies in `directory`; ended when the context is left."""
    command = [sys.executable, "-m", "tests.fake_aws", "--registry", str(directory / "registry")]
    with (directory / "fake_aws.log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True
        )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        if not line:
            raise RuntimeError((directory / "fake_aws.log").read_text()[-2000:])
        told = json.loads(line)
        yield FakeAws(told["url"], Registry(told["registry"]))
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()
