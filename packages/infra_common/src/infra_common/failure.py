"""From a stack's first failing event to one paragraph and one command.

What a person needs after a failed deployment is in four places: the event, the resource's own reason, the last lines of
a log, and the knowledge of what usually lies behind such words. This puts them together.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from infra_common.stack_events import StackEvent, first_failure, last_operation

_LOG_LINES: Final = 8
_LINE_CHARS: Final = 300
_HANDLER: Final = re.compile(
    r'Resource handler returned message: "(?P<message>.*?)"?( \(Service:| \(HandlerErrorCode:|$)'
)


@dataclass(frozen=True, slots=True)
class Cause:
    """Words that a reason contains, what lies behind them, and what helps."""

    words: tuple[str, ...]
    meaning: str
    fix: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """`paragraph` for a person; `command` is what to run next."""

    paragraph: str
    command: str
    log_lines: tuple[str, ...] = ()


COMMON_CAUSES: Final = (
    Cause(
        ("AlreadyExists", "already exists"),
        "something with that name is there already and was not made by this stack",
        "give this deployment another --stage, or remove the other one yourself",
    ),
    Cause(
        ("is not authorized to perform", "AccessDenied", "not authorized"),
        "the role that deploys lacks a permission",
        "ask whoever administers the account for the action that the reason names",
    ),
    Cause(
        ("ResourceLimitExceeded", "service limit", "account-level service limit"),
        "the account's quota does not allow it",
        "run doctor: it names the quota and the command that asks for more",
    ),
    Cause(
        ("Rate exceeded", "Throttling"),
        "AWS was asked too much at once",
        "wait a minute and deploy again",
    ),
)


def explain(
    events: Sequence[StackEvent],
    causes: Sequence[Cause],
    log_of: Callable[[StackEvent], Sequence[str]],
    again: str,
) -> Explanation:
    """`log_of` reads the last lines that the failed resource's program wrote; `again` is the command to try again."""
    failure = first_failure(last_operation(events))
    if failure is None:
        return Explanation("CloudFormation gives no reason.", again)
    reason = plain_reason(failure.reason)
    cause = next((each for each in causes if any(word in reason for word in each.words)), None)
    lines = tuple(plain_line(line)[:_LINE_CHARS] for line in list(log_of(failure))[-_LOG_LINES:] if line.strip())
    kind = failure.type.removeprefix("AWS::").replace("::", " ")
    parts = [f"{kind} {failure.logical_id} failed: {reason.rstrip('.')}."]
    if cause is not None:
        parts.append(f"That means {cause.meaning}.")
    if lines:
        parts.append(f"Its last log lines: {' | '.join(lines)}")
    return Explanation(" ".join(parts), cause.fix if cause else again, lines)


def plain_reason(reason: str) -> str:
    """The message inside CloudFormation's wrapping."""
    found = _HANDLER.search(reason)
    return (found["message"] if found else reason).strip() or "no reason is given"


def plain_line(line: str) -> str:
    """A log line for a person: of one in JSON its level, its code where it has one, and its message."""
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        return line.strip()
    if not isinstance(told, dict) or not isinstance(told.get("message"), str):
        return line.strip()
    marks = " ".join(str(told[name]) for name in ("level", "code") if told.get(name))
    return f"{marks}: {told['message'].strip()}" if marks else told["message"].strip()


def last_lines(logs: Any, group: str, count: int = _LOG_LINES) -> list[str]:
    """The last lines of the newest stream of a log group; empty where there is none. Raises what botocore raises."""
    try:
        streams = logs.describe_log_streams(logGroupName=group, orderBy="LastEventTime", descending=True, limit=1)
    except logs.exceptions.ResourceNotFoundException:
        return []
    names = [each["logStreamName"] for each in streams["logStreams"]]
    if not names:
        return []
    events = logs.get_log_events(logGroupName=group, logStreamName=names[0], limit=count, startFromHead=False)
    return [each["message"] for each in events["events"]]
