import asyncio
import json
from typing import Any

import pytest
from agent_runtime.body_gate import BodyGate
from speech_protocol import SseDecoder
from starlette.types import Message, Receive, Scope, Send

SCOPE: Scope = {"type": "http", "method": "POST", "path": "/invocations", "headers": []}


class Inner:
    """An application that reads all it is given."""

    def __init__(self) -> None:
        self.received: list[Message] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        while not self.received or self.received[-1]["type"] != "http.disconnect":
            self.received.append(await receive())


async def pass_through(*pieces: bytes, scope: Scope = SCOPE, max_bytes: int = 100) -> tuple[Inner, list[Message]]:
    """What the application got, and what was answered in its place."""
    messages: list[Message] = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
    messages[-1]["more_body"] = False
    messages.append({"type": "http.disconnect"})
    inner, sent = Inner(), []

    async def receive() -> Message:
        return messages.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    await BodyGate(inner, max_bytes)(scope, receive, send)
    return inner, sent


def error_in(sent: list[Message]) -> dict[str, Any]:
    assert sent[0]["status"] == 200
    (event,) = SseDecoder().feed(b"".join(message.get("body", b"") for message in sent))
    return event


async def test_a_json_object_is_handed_on_whole_and_so_is_the_hang_up() -> None:
    inner, sent = await pass_through(b'{"prompt":', b' "Hi"}')
    assert [message["type"] for message in inner.received] == ["http.request", "http.disconnect"]
    assert json.loads(inner.received[0]["body"]) == {"prompt": "Hi"}
    assert sent == []


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"x"', b"\xff", b"[" * 90, b"{}x"])
async def test_anything_else_is_one_typed_error(body: bytes) -> None:
    inner, sent = await pass_through(body)
    event = error_in(sent)
    assert (event["type"], event["code"]) == ("error", "invalid_json")
    assert inner.received == []


async def test_a_body_over_the_bound_is_read_to_its_end_and_then_refused() -> None:
    inner, sent = await pass_through(b"x" * 60, b"x" * 60, b"x" * 60)
    assert error_in(sent)["code"] == "request_too_large"
    assert inner.received == []


async def test_a_body_without_end_is_refused_while_it_comes() -> None:
    pieces = 0

    async def receive() -> Message:
        nonlocal pieces
        pieces += 1
        return {"type": "http.request", "body": b"x" * 60, "more_body": True}

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    await BodyGate(Inner(), max_bytes=100)(SCOPE, receive, send)
    assert error_in(sent)["code"] == "request_too_large"
    assert pieces == 7  # the first beyond four times the bound


async def test_a_body_that_does_not_come_is_one_typed_error() -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Message) -> None:
        sent.append(message)

    inner = Inner()
    await BodyGate(inner, patience_s=0.01)(SCOPE, receive, send)
    assert error_in(sent)["code"] == "request_stale"
    assert inner.received == []


async def test_a_caller_that_leaves_before_its_body_is_whole_starts_nothing() -> None:
    inner = Inner()

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        raise AssertionError(message)

    await BodyGate(inner)(SCOPE, receive, send)
    assert inner.received == []


@pytest.mark.parametrize("change", [{"type": "websocket"}, {"method": "GET"}, {"path": "/ping"}])
async def test_other_requests_are_none_of_its_business(change: dict[str, str]) -> None:
    inner, _ = await pass_through(b"not json", scope={**SCOPE, **change})
    assert inner.received[0]["body"] == b"not json"
