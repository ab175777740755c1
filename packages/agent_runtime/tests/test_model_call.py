import asyncio
import queue
import threading
from collections.abc import Iterator
from typing import Any

import boto3  # ships no types
import pytest
from agent_runtime.errors import ModelError
from agent_runtime.model_call import GuardedStream, ModelCall, make_stoppable
from botocore.awsrequest import AWSHTTPConnectionPool, AWSHTTPSConnectionPool

from packages.agent_runtime.tests.conftest import within
from packages.agent_runtime.tests.scripted_bedrock import PATIENCE_S

END: dict[str, Any] = {"messageStop": {"stopReason": "end_turn"}}


def text(words: str) -> dict[str, Any]:
    return {"contentBlockDelta": {"delta": {"text": words}}}


class ListedStream:
    def __init__(self, *events: dict[str, Any] | Exception) -> None:
        self._events = events
        self.closed = False

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for event in self._events:
            if isinstance(event, Exception):
                raise event
            yield event

    def close(self) -> None:
        self.closed = True


async def test_a_whole_stream_passes_unchanged_and_is_closed() -> None:
    stream = ListedStream(text("a"), text("b"), END)
    assert list(ModelCall().guard(stream)) == [text("a"), text("b"), END]
    assert stream.closed


async def test_a_stream_without_its_end_is_a_failure() -> None:
    with pytest.raises(ModelError, match="broke off"):
        list(ModelCall().guard(ListedStream(text("a"))))


async def test_a_stopped_call_reads_nothing_more_and_does_not_complain() -> None:
    call = ModelCall()
    stream = ListedStream(text("a"), text("b"), OSError("the socket was shut down"))
    reading = iter(call.guard(stream))
    assert next(reading) == text("a")
    call.stop()
    assert list(reading) == []
    assert stream.closed


async def test_a_failure_after_the_stop_is_passed_over() -> None:
    call = ModelCall()
    call.stop()
    assert list(call.guard(ListedStream(OSError("the socket was shut down")))) == []


async def test_a_failure_of_a_call_that_goes_on_is_raised() -> None:
    with pytest.raises(OSError, match="lost"):
        list(ModelCall().guard(ListedStream(OSError("lost"))))


async def test_reading_waits_once_enough_texts_are_not_taken_and_goes_on_as_they_are() -> None:
    call = ModelCall(ahead_chunks=2)
    read: queue.Queue[dict[str, Any] | None] = queue.Queue()
    stream = ListedStream(*(text(str(number)) for number in range(9)), END)

    def reader(guarded: GuardedStream) -> None:
        for event in guarded:
            read.put(event)
        read.put(None)

    thread = threading.Thread(target=reader, args=(call.guard(stream),))
    thread.start()
    taken = [read.get(timeout=PATIENCE_S) for _ in range(2)]
    call.took_text()
    taken.append(read.get(timeout=PATIENCE_S))
    call.stop()  # were there no bound, the thread would have gone on to the end
    thread.join(PATIENCE_S)
    assert taken == [text("0"), text("1"), text("2")]
    assert read.get_nowait() is None


async def test_a_pause_ends_when_the_call_is_stopped() -> None:
    call = ModelCall()
    pausing = asyncio.create_task(call.pause(3600))
    await asyncio.sleep(0)
    call.stop()
    await within(pausing)


def test_the_locked_botocore_keeps_its_connection_classes_where_we_replace_them() -> None:
    client = boto3.client(
        "bedrock-runtime", region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test"
    )
    session = client._endpoint.http_session
    assert session._manager.pool_classes_by_scheme == {"http": AWSHTTPConnectionPool, "https": AWSHTTPSConnectionPool}
    make_stoppable(client)
    for scheme, url in (("http", "http://127.0.0.1:1"), ("https", "https://127.0.0.1:1")):
        pool = session._manager.connection_from_url(url)
        assert pool.ConnectionCls.__module__ == "agent_runtime.model_call", scheme
