"""Logging as JSON lines on stderr: request ids, lengths, times and codes; never what somebody said.

Our own records carry constant messages and their data in `extra`. Libraries format what they handle into their messages
and exceptions (Strands logs whole requests at debug, boto3 quotes answers), so of a foreign record only the unformatted
template is written, and of any exception only its type and where it was raised.
"""

import json
import logging
import sys
import traceback
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
"""The turn that is being worked on; tasks inherit it from who starts them, and every record carries it."""

_OWN = __name__.partition(".")[0]
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonLines(logging.Formatter):
    """One JSON object a record."""

    def format(self, record: logging.LogRecord) -> str:
        """Overrides `logging.Formatter.format`."""
        fields: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": str(record.msg),
        }
        if record.name.split(".")[0] == _OWN:
            fields["message"] = record.getMessage()
            fields |= {name: value for name, value in vars(record).items() if name not in _STANDARD}
        if (current := request_id.get()) is not None:
            fields["request_id"] = current
        if record.exc_info and record.exc_info[1] is not None:
            fields["error"] = _chain(record.exc_info[1])
        return json.dumps(fields, default=str)


def configure_logging(level: str = "INFO", stream: TextIO | None = None) -> None:
    """Everything that this process logs goes to `stream` (stderr) as JSON lines; libraries from warnings up."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger(_OWN).setLevel(level)
    # BedrockAgentCoreApp adds a handler of its own to this logger unless one is there.
    agent_core = logging.getLogger("bedrock_agentcore.app")
    agent_core.addHandler(logging.NullHandler())
    agent_core.setLevel(logging.WARNING)


def _chain(error: BaseException) -> list[dict[str, Any]]:
    """Types and places of an exception and what caused it, without what they say."""
    links: list[dict[str, Any]] = []
    current: BaseException | None = error
    while current is not None and len(links) < 8:
        frames = traceback.extract_tb(current.__traceback__)[-8:]
        places = [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames]
        links.append({"type": type(current).__name__, "raised_at": places})
        current = current.__cause__ or current.__context__
    return links
