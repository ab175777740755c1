import contextvars
import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from agent_runtime.log import configure_logging, request_id


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    stream = io.StringIO()
    configure_logging("INFO", stream)
    yield stream
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.getLogger("agent_runtime").setLevel(logging.NOTSET)


def fail() -> None:
    try:
        int("a secret question")
    except ValueError as inner:
        raise RuntimeError("a secret answer") from inner


def read(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_our_own_records_are_json_with_their_data(lines: io.StringIO) -> None:
    logging.getLogger("agent_runtime.app").info("turn began", extra={"request_id": "r-1", "prompt_chars": 12})
    (record,) = read(lines)
    assert record.pop("time").endswith("+00:00")
    assert record == {
        "level": "info",
        "logger": "agent_runtime.app",
        "message": "turn began",
        "request_id": "r-1",
        "prompt_chars": 12,
    }


def test_a_library_s_record_is_its_template_without_what_it_handled(lines: io.StringIO) -> None:
    logging.getLogger("strands.models").warning("request=<%s> | odd", "a secret question")
    (record,) = read(lines)
    assert record["message"] == "request=<%s> | odd"
    assert "secret" not in lines.getvalue()


def test_every_record_of_a_turn_carries_its_id(lines: io.StringIO) -> None:
    def turn() -> None:
        request_id.set("r-2")
        logging.getLogger("agent_runtime.voice").warning("speech failed")
        logging.getLogger("urllib3").warning("odd")

    contextvars.copy_context().run(turn)
    assert [record["request_id"] for record in read(lines)] == ["r-2", "r-2"]


def test_a_library_s_chatter_is_not_written(lines: io.StringIO) -> None:
    logging.getLogger("strands.models").info("request")
    logging.getLogger("bedrock_agentcore.app").info("done")
    assert read(lines) == []


def test_an_exception_is_its_types_and_places_never_its_words(lines: io.StringIO) -> None:
    try:
        fail()
    except RuntimeError:
        logging.getLogger("agent_runtime.relay").exception("turn failed")
    (record,) = read(lines)
    assert [link["type"] for link in record["error"]] == ["RuntimeError", "ValueError"]
    assert record["error"][0]["raised_at"][-1].startswith("test_log.py:")
    assert "secret" not in lines.getvalue()
