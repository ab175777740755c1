"""Log lines as JSON on stderr, with ids and lengths, and what was said only where the level is `text`.

An exception's message may quote the text it failed on, so a line has the exception's class and where it was raised
instead.
"""

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

_LEVELS: Final = {"text": "DEBUG"}  # what it adds, `telemetry` writes
_QUIET: Final = {"phonemizer": logging.ERROR, "uvicorn": logging.WARNING, "websockets": logging.WARNING}


class JsonFormatter(logging.Formatter):
    """One object a line: time, level, logger, message, and the record's `fields`."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its end."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= getattr(record, "fields", {})
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = record.exc_info[0].__name__
            line["at"] = [
                f"{Path(frame.filename).name}:{frame.lineno}" for frame in traceback.extract_tb(record.exc_info[2])
            ][-8:]
        return json.dumps(line, default=str)


def configure(level: str) -> None:
    """Send everything from `level` (one of `settings.LOG_LEVELS`) up to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=_LEVELS.get(level, level.upper()), handlers=[handler], force=True)
    logging.captureWarnings(capture=True)
    for name, least in _QUIET.items():
        logging.getLogger(name).setLevel(least)
