"""Log lines: JSON, and no word of anybody's text."""

import json
import logging
import sys

from speech_container.log import JsonFormatter


def test_a_line_is_one_object_with_its_fields() -> None:
    record = logging.LogRecord("a.b", logging.INFO, "f.py", 1, "request %s", ("answered",), None)
    record.fields = {"request_id": "r", "text_chars": 5}
    line = json.loads(JsonFormatter().format(record))
    assert (line["level"], line["logger"], line["message"]) == ("info", "a.b", "request answered")
    assert (line["request_id"], line["text_chars"]) == ("r", 5)


def test_an_exception_is_its_class_and_place_and_not_its_words() -> None:
    try:
        int("what somebody said\n")
    except ValueError:
        record = logging.LogRecord("a", logging.ERROR, "f.py", 1, "failed", (), sys.exc_info())
    text = JsonFormatter().format(record)
    line = json.loads(text)
    assert line["exception"] == "ValueError"
    assert line["at"][-1].startswith("test_log.py:")
    assert "somebody" not in text
    assert "\n" not in text
