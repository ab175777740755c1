"""Refusing a body that is no JSON object before bedrock-agentcore sees it: its own answer would quote the parser.

The body is read up to a bound in bytes and in time, checked, and handed on as it came; what the server says after it
(that the caller went away) still reaches the application. More than the bound is read and thrown away before the
answer: a server that closes while its caller still sends resets the connection, and the caller never sees why.
"""

import asyncio
from typing import Final

from speech_protocol import ErrorCode
from speech_protocol.json_object import parse_object
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .errors import AgentErrorCode
from .events import AgentErrorEvent, render_sse

MAX_BODY_BYTES: Final = 1024 * 1024  # a prompt of 10,000 characters, every one escaped, is 120 kB
PATIENCE_S: Final = 30.0
_DISCARD_FACTOR: Final = 4  # how many times the bound is read and thrown away
_PATH: Final = "/invocations"


class _Refused(Exception):
    """The body is not handed on. `answer`: what the caller is told, None where it has gone."""

    def __init__(self, answer: Response | None = None) -> None:
        super().__init__()
        self.answer = answer


class BodyGate:
    """ASGI middleware around the invocations path."""

    def __init__(self, app: ASGIApp, max_bytes: int = MAX_BODY_BYTES, patience_s: float = PATIENCE_S) -> None:
        self._app = app
        self._max_bytes = max_bytes
        self._patience_s = patience_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Called by the server."""
        if scope["type"] != "http" or scope["method"] != "POST" or scope["path"] != _PATH:
            await self._app(scope, receive, send)
            return
        try:
            body = await self._checked(receive)
        except _Refused as refused:
            if refused.answer is not None:
                await refused.answer(scope, receive, send)
            return
        await self._app(scope, _replay(body, receive), send)

    async def _checked(self, receive: Receive) -> bytes:
        """A JSON object. Raises `_Refused`."""
        try:
            async with asyncio.timeout(self._patience_s):
                body = await self._read(receive)
        except TimeoutError:
            sentence = f"the payload did not come within {self._patience_s:g} s of its request"
            raise _Refused(refusal(ErrorCode.REQUEST_STALE, sentence)) from None
        if parse_object(body) is None:
            sentence = 'the payload is one JSON object in UTF-8 with a "prompt"'
            raise _Refused(refusal(AgentErrorCode.INVALID_JSON, sentence))
        return body

    async def _read(self, receive: Receive) -> bytes:
        body = bytearray()
        size = 0
        more = True
        while more and size <= self._max_bytes * _DISCARD_FACTOR:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _Refused
            chunk = message.get("body", b"")
            size += len(chunk)
            more = message.get("more_body", False)
            if size <= self._max_bytes:
                body += chunk
        if size > self._max_bytes:
            sentence = f"the payload has at most {self._max_bytes} bytes"
            raise _Refused(refusal(AgentErrorCode.REQUEST_TOO_LARGE, sentence))
        return bytes(body)


def refusal(code: str, message: str) -> Response:
    """A whole answer that is one typed error."""
    return Response(render_sse(AgentErrorEvent(code, message)), media_type="text/event-stream")


def _replay(body: bytes, receive: Receive) -> Receive:
    delivered = False

    async def receive_again() -> Message:
        nonlocal delivered
        if delivered:
            return await receive()
        delivered = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_again
