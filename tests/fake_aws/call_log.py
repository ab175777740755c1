"""What was asked of the account by programs that use boto3, as the IAM actions that it takes.

The account's own clients, and those of tests, say who they are in their user agent and are left out; so are the CDK
command's, which has roles of its own.
"""

import threading
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qs

from .wire import Call

INSIDER: Final = "fake-aws-insider"
"""In the user agent of whoever does not count."""
_PREFIXES: Final = {"monitoring": "cloudwatch"}
_OF_BUCKETS: Final = {
    ("GET", "tagging"): "s3:GetBucketTagging",
    ("GET", "versions"): "s3:ListBucketVersions",
    ("POST", "delete"): "s3:DeleteObjectVersion",
    ("DELETE", ""): "s3:DeleteBucket",
}
_OF_OBJECTS: Final = {"HEAD": "s3:GetObject", "GET": "s3:GetObject", "PUT": "s3:PutObject"}


class CallLog:
    """Safe to use from any thread."""

    def __init__(self) -> None:
        self._actions: set[str] = set()
        self._lock = threading.Lock()

    def note(self, environ: Mapping[str, Any], call: Call) -> None:
        """One request."""
        agent = str(environ.get("HTTP_USER_AGENT", ""))
        if call.service and "Boto3/" in agent and INSIDER not in agent:
            with self._lock:
                self._actions.add(action_of(environ, call))

    def clear(self) -> None:
        """Forget."""
        with self._lock:
            self._actions.clear()

    def actions(self) -> list[str]:
        """All of them, sorted."""
        with self._lock:
            return sorted(self._actions)


def action_of(environ: Mapping[str, Any], call: Call) -> str:
    """`service:Action`; for what has no name here, the request itself, which no policy allows."""
    if call.service == "s3":
        method = str(environ.get("REQUEST_METHOD"))
        queried = next(iter(parse_qs(str(environ.get("QUERY_STRING", "")), keep_blank_values=True)), "")
        is_of_object = call.path.strip("/").count("/") > 0
        known = _OF_OBJECTS.get(method) if is_of_object else _OF_BUCKETS.get((method, queried))
        return known or f"s3: {method} {call.path}?{queried}"
    name = call.action or call.path.rpartition("/operation/")[2] or call.path
    return f"{_PREFIXES.get(call.service, call.service)}:{name}"
