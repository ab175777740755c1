"""The account as a whole: every face and moto, wired to each other through public APIs on loopback."""

import json
import time
from contextlib import suppress
from typing import Any, Final

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.test import Client

from .agentcore import AgentCore
from .agentcore import Neighbours as AgentNeighbours
from .bedrock import Bedrock
from .call_log import INSIDER, CallLog
from .cloudformation import Account as Neighbours
from .cloudformation import CloudFormation
from .codebuild import CodeBuild
from .ecr import Ecr
from .errors import AwsRefusal, validation
from .faults import Faults
from .price_list import PriceList
from .providers import provider_for
from .providers.base import Clients, Simple
from .registry import Registry
from .sagemaker import Neighbours as HostingNeighbours
from .sagemaker import SageMaker
from .service_quotas import ServiceQuotas
from .wire import Answer, Call, json_answer

ACCOUNT_ID: Final = "123456789012"
_KEY: Final = "AKIAIOSFODNN7EXAMPLE"  # the documentation's own
_JSON_TARGETS: Final = {"ecr": "AmazonEC2ContainerRegistry_V20150921"}


class FakeAccount:
    """`answer` gives a face's answer, or None where moto is to answer."""

    def __init__(self, url: str, registry: Registry) -> None:
        self._url = url
        self.moto = DomainDispatcherApplication(create_backend_app)
        self.faults = Faults()
        self.calls = CallLog()
        self._clients: dict[str, Clients] = {}
        self.ecr = Ecr(ACCOUNT_ID, registry, self._ask_moto)
        self.sagemaker = SageMaker(
            ACCOUNT_ID,
            self.faults,
            HostingNeighbours(
                image_exists=lambda _region, uri: self.ecr.image_exists(uri),
                prefix_holds_objects=self._prefix_holds_objects,
                is_alarm_on=self._is_alarm_on,
                write_log=self._write_log,
            ),
        )
        self.agentcore = AgentCore(
            ACCOUNT_ID,
            self.faults,
            AgentNeighbours(
                image_exists=self.ecr.image_exists,
                architecture=self.ecr.architecture,
                role_exists=self._role_exists,
                write_log=self._write_log,
            ),
        )
        self.codebuild = CodeBuild(ACCOUNT_ID, self.faults, registry, self._read_bytes, self._write_log)
        self._bedrock = Bedrock(ACCOUNT_ID, self.faults)
        self.cloudformation = CloudFormation(
            ACCOUNT_ID,
            Neighbours(
                read_object=self._read_object,
                read_parameter=self._read_parameter,
                provider=self._provider,
                rollback_failure=lambda: self.faults.rollback_failure,
                is_held=lambda: self.faults.endpoint_is_held,
            ),
        )
        self._quotas = ServiceQuotas(self.faults)
        self._prices = PriceList(self.faults)

    def answer(self, call: Call) -> Answer | None:
        """One API call. Raises AwsRefusal."""
        self.faults.refuse(call)
        match call.service:
            case "cloudformation":
                return self.cloudformation.answer(call)
            case "sagemaker" if call.action:
                return self.sagemaker.answer(call, _asked(call))
            case "ecr":
                return self.ecr.answer(call, _asked(call))
            case "servicequotas":
                return self._quotas.answer(call, _asked(call))
            case "pricing":
                return self._prices.answer(call, _asked(call))
            case "codebuild":
                return self.codebuild.answer(call, _asked(call))
            case "bedrock-agentcore":
                return self.agentcore.answer(call, _asked(call))
            case "bedrock":
                return self._bedrock.answer(call)
            case "xray" if call.path == "/GetTraceSegmentDestination":
                where = "CloudWatchLogs" if self.faults.is_tracing_on else "XRay"
                return json_answer({"Destination": where, "Status": "ACTIVE"})
            case _:
                return None

    def reset(self) -> None:
        """As if the account were new; the registry keeps what was pushed."""
        self.faults.clear()
        self.calls.clear()
        self.cloudformation.reset()
        self.sagemaker.reset()
        self.agentcore.reset()
        self.codebuild.reset()
        Client(self.moto).post("/moto-api/reset")

    def client(self, service: str, region: str) -> Any:
        """A boto3 client of this account."""
        return boto3.Session(_KEY, "secret", region_name=region).client(
            service,
            endpoint_url=self._url,
            config=Config(
                retries={"total_max_attempts": 1},
                proxies={},
                s3={"addressing_style": "path"},
                user_agent_extra=INSIDER,
            ),
        )

    def _in(self, region: str) -> Clients:
        if region not in self._clients:
            self._clients[region] = Clients(lambda service: self.client(service, region), ACCOUNT_ID, region)
        return self._clients[region]

    def _provider(self, region: str, kind: str) -> Simple:
        return provider_for(kind, self._in(region))

    def _read_object(self, bucket: str, key: str) -> str:
        return self._read_bytes(bucket, key).decode()

    def _read_bytes(self, bucket: str, key: str) -> bytes:
        content: bytes = self._in("us-east-1")["s3"].get_object(Bucket=bucket, Key=key)["Body"].read()
        return content

    def _role_exists(self, arn: str) -> bool:
        try:
            self._in("us-east-1")["iam"].get_role(RoleName=arn.rpartition("/")[2])
        except ClientError:
            return False
        return True

    def _read_parameter(self, region: str, name: str) -> str:
        try:
            value: str = self._in(region)["ssm"].get_parameter(Name=name)["Parameter"]["Value"]
        except ClientError as error:
            raise validation(f"Unable to fetch parameters [{name}] from parameter store for this account.") from error
        return value

    def _prefix_holds_objects(self, uri: str) -> bool:
        bucket, _, prefix = uri.removeprefix("s3://").partition("/")
        try:
            found = self._in("us-east-1")["s3"].list_objects_v2(Bucket=bucket, Prefix=prefix, MaxKeys=1)
        except ClientError:
            return False
        return bool(found.get("KeyCount"))

    def _is_alarm_on(self, region: str, name: str) -> bool:
        found = self._in(region)["cloudwatch"].describe_alarms(AlarmNames=[name])["MetricAlarms"]
        return any(each["StateValue"] == "ALARM" for each in found)

    def _write_log(self, region: str, group: str, stream: str, lines: list[str]) -> None:
        logs = self._in(region)["logs"]
        with suppress(logs.exceptions.ResourceAlreadyExistsException):
            logs.create_log_group(logGroupName=group)
        with suppress(logs.exceptions.ResourceAlreadyExistsException):
            logs.create_log_stream(logGroupName=group, logStreamName=stream)
        now_ms = _now_ms()
        events = [{"timestamp": now_ms + index, "message": line} for index, line in enumerate(lines)]
        logs.put_log_events(logGroupName=group, logStreamName=stream, logEvents=events)

    def _ask_moto(self, call: Call) -> dict[str, Any]:
        scope = f"{call.access_key_id or _KEY}/20260101/{call.region}/{call.service}/aws4_request"
        answer = Client(self.moto).post(
            "/",
            data=call.body,
            headers={
                "X-Amz-Target": f"{_JSON_TARGETS[call.service]}.{call.action}",
                "Content-Type": "application/x-amz-json-1.1",
                "Authorization": f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0",
            },
        )
        result: dict[str, Any] = json.loads(answer.get_data())
        if answer.status_code >= 400:
            raise AwsRefusal(result.get("__type", "UnknownError"), result.get("message", ""), answer.status_code)
        return result


def _asked(call: Call) -> dict[str, Any]:
    asked: dict[str, Any] = json.loads(call.body or b"{}")
    return asked


def _now_ms() -> int:
    return round(time.time() * 1000)
