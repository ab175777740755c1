"""CloudWatch's embedded metric format."""

import json
import logging
from collections.abc import Mapping
from typing import Any

import pytest
from speech_container.account import Account
from speech_container.emf import MAX_VALUES, NAMESPACE, EmbeddedMetrics
from speech_container.log import JsonFormatter

DONE = Account(
    face="websocket",
    outcome="complete",
    format="pcm",
    queue_s=0.02,
    first_audio_s=0.12,
    audio_s=2.5,
    audio_bytes=120_000,
    underruns=1,
    silent_s=0.25,
)


class Written(list[Mapping[str, Any]]):
    """The lines, and a server of which one gauge is at `sessions`."""

    def __init__(self) -> None:
        super().__init__()
        self.sessions = 0.0
        self.metrics = EmbeddedMetrics(
            "onnx", {"Sessions": lambda: self.sessions}, write=self.append, clock=lambda: 1_700_000_000.25
        )


@pytest.fixture
def written() -> Written:
    return Written()


def test_a_line_is_what_cloudwatch_reads(written: Written) -> None:
    written.metrics.request(DONE)
    written.metrics.step(4, 0.5, 2.0)
    written.metrics.flush()
    (line,) = written
    aws = line["_aws"]
    assert aws["Timestamp"] == 1_700_000_000_250
    (directive,) = aws["CloudWatchMetrics"]
    assert directive["Namespace"] == NAMESPACE
    assert directive["Dimensions"] == [["Engine"]]
    assert line["Engine"] == "onnx"
    units = {metric["Name"]: metric["Unit"] for metric in directive["Metrics"]}
    assert units["FirstAudio"] == "Seconds"
    assert {name: line[name] for name in units} == {
        "QueueWait": [0.02],
        "FirstAudio": [0.12],
        "Synthesis": [0.5],
        "BatchSize": [4.0],
        "RealTimeFactor": [0.25],
        "Requests": 1,
        "AudioSeconds": 2.5,
        "AudioBytes": 120_000,
        "Underruns": 1,
        "UnderrunSeconds": 0.25,
        "Sessions": 0.0,
    }


def test_errors_have_a_line_for_each_code(written: Written) -> None:
    for code in ("busy", "voice_unknown", "busy"):
        written.metrics.error(code)
    written.metrics.flush()
    assert [(line["Code"], line["Errors"]) for line in written] == [("busy", 2), ("voice_unknown", 1)]
    assert written[0]["_aws"]["CloudWatchMetrics"][0]["Dimensions"] == [["Engine", "Code"]]


def test_no_list_is_longer_than_a_line_may_hold(written: Written) -> None:
    for _ in range(2 * MAX_VALUES + 1):
        written.metrics.request(DONE)
    written.metrics.flush()
    assert [len(line["FirstAudio"]) for line in written] == [MAX_VALUES, MAX_VALUES, 1]
    assert sum(line["Requests"] for line in written) == 2 * MAX_VALUES + 1


def test_a_server_at_rest_writes_nothing(written: Written) -> None:
    written.metrics.flush()
    assert written == []
    written.sessions = 1.0
    written.metrics.flush()
    assert [line["Sessions"] for line in written] == [1.0]


def test_the_line_goes_to_the_log_whatever_its_level(caplog: pytest.LogCaptureFixture) -> None:
    metrics = EmbeddedMetrics("onnx", {})
    caplog.set_level(logging.ERROR)
    caplog.handler.setLevel(logging.NOTSET)
    metrics.request(DONE)
    metrics.flush()
    (record,) = caplog.records
    line = json.loads(JsonFormatter().format(record))
    assert line["_aws"]["CloudWatchMetrics"][0]["Namespace"] == NAMESPACE
    assert line["FirstAudio"] == [0.12]
