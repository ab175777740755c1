"""The AWS protocols of the faces: query (form in, XML out) and JSON; and who is asked, from the signature."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import parse_qsl
from uuid import uuid4
from xml.sax.saxutils import escape

from .errors import AwsRefusal

_SCOPE: Final = re.compile(r"Credential=([^/]+)/\d{8}/([^/]+)/([^/]+)/aws4_request")
_REST: Final = frozenset({"bedrock", "bedrock-agentcore", "xray"})
_QUERY: Final = frozenset({"cloudformation", "iam", "sts", "sns", "autoscaling"})


@dataclass(frozen=True, slots=True)
class Call:
    """One request: `service` as in the signature's scope, `action` where the protocol names one.

    REST services say by `method`, `path` and `query` what they want.
    """

    service: str
    region: str
    access_key_id: str
    action: str
    body: bytes
    path: str
    method: str = ""
    query: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """One response."""

    status: int
    content_type: str
    body: bytes


def is_rest(environ: Mapping[str, Any]) -> bool:
    """Whether a request is signed for one of the faces whose bodies are JSON without a header that says so."""
    match = _SCOPE.search(environ.get("HTTP_AUTHORIZATION", ""))
    return match is not None and match[3] in _REST


def read_call(environ: Mapping[str, Any], body: bytes) -> Call:
    """What a WSGI request asks for; service and region are empty where it is not signed."""
    match = _SCOPE.search(environ.get("HTTP_AUTHORIZATION", ""))
    key, region, service = match.groups() if match else ("", "", "")
    action = str(environ.get("HTTP_X_AMZ_TARGET", "")).rpartition(".")[2]
    if not action and str(environ.get("CONTENT_TYPE", "")).startswith("application/x-www-form-urlencoded"):
        action = dict(parse_qsl(body.decode())).get("Action", "")
    path, query = str(environ.get("PATH_INFO", "")), str(environ.get("QUERY_STRING", ""))
    return Call(service, region, key, action, body, path, str(environ.get("REQUEST_METHOD", "")), query)


def json_answer(result: object, status: int = 200) -> Answer:
    """The JSON protocol's success."""
    return Answer(status, "application/x-amz-json-1.1", json.dumps(result, default=_json_time).encode())


def error_answer(call: Call, refusal: AwsRefusal) -> Answer:
    """A refusal in the form the service's clients parse."""
    code, message = refusal.code, refusal.message
    if call.service in _QUERY:
        text = (
            f"<ErrorResponse><Error><Type>Sender</Type><Code>{escape(code)}</Code>"
            f"<Message>{escape(message)}</Message></Error><RequestId>{uuid4()}</RequestId></ErrorResponse>"
        )
        return Answer(refusal.status, "text/xml", text.encode())
    if call.service == "s3":
        text = f"<Error><Code>{escape(code)}</Code><Message>{escape(message)}</Message></Error>"
        return Answer(refusal.status, "application/xml", text.encode())
    if call.service == "ec2":
        text = (
            f"<Response><Errors><Error><Code>{escape(code)}</Code><Message>{escape(message)}</Message></Error></Errors>"
            f"<RequestID>{uuid4()}</RequestID></Response>"
        )
        return Answer(refusal.status, "text/xml", text.encode())
    return json_answer({"__type": code, "message": message, "Message": message}, refusal.status)


def query_parameters(body: bytes) -> dict[str, Any]:
    """`Tags.member.1.Key=a` and its like as nested dicts and lists."""
    root: dict[str, Any] = {}
    for name, value in parse_qsl(body.decode(), keep_blank_values=True):
        here = root
        *path, last = name.split(".")
        for part in path:
            here = here.setdefault(part, {})
        here[last] = value
    listed = _lists(root)
    assert isinstance(listed, dict)
    return listed


def query_answer(action: str, result: Mapping[str, Any]) -> Answer:
    """The query protocol's success: lists become `member` elements, None is left out."""
    text = (
        f'<{action}Response xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><{action}Result>'
        f"{_xml(result)}</{action}Result><ResponseMetadata><RequestId>{uuid4()}</RequestId></ResponseMetadata>"
        f"</{action}Response>"
    )
    return Answer(200, "text/xml", text.encode())


def _lists(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if set(value) == {"member"} and isinstance(value["member"], dict):
        members = value["member"]
        return [_lists(members[key]) for key in sorted(members, key=int)]
    return {key: _lists(item) for key, item in value.items()}


def _xml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "".join(f"<{key}>{_xml(item)}</{key}>" for key, item in value.items() if item is not None)
    if isinstance(value, list | tuple):
        return "".join(f"<member>{_xml(item)}</member>" for item in value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
    return escape(str(value))


def _json_time(value: object) -> float:
    if isinstance(value, datetime):
        return value.timestamp()
    raise TypeError(f"{type(value).__name__} has no place in an answer")
