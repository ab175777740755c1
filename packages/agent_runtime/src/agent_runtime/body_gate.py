"""Refusing a body that is no JSON object before bedrock-agentcore sees it: its own answer would quote the parser.

The body is read up to a bound, checked, and handed on as it came; what the server says after it (that the caller went
away) still reaches the application.
"""

from typing import Final

from speech_protocol.json_object import parse_object
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .errors import AgentErrorCode
from .events import AgentErrorEvent, render_sse

MAX_BODY_BYTES: Final = 1024 * 1024  # a prompt of 10,000 characters, every one escaped, is 120 kB
_PATH: Final = "/invocations"


class BodyGate:
    """ASGI middleware around the invocations path."""

    def __init__(self, app: ASGIApp, max_bytes: int = MAX_BODY_BYTES) -> None:
        self._app = app
        self._max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Called by the server."""
        if scope["type"] != "http" or scope["method"] != "POST" or scope["path"] != _PATH:
            await self._app(scope, receive, send)
            return
        body = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > self._max_bytes:
                sentence = f"the payload has at most {self._max_bytes} bytes"
                await refusal(AgentErrorCode.REQUEST_TOO_LARGE, sentence)(scope, receive, send)
                return
        if parse_object(bytes(body)) is None:
            sentence = 'the payload is one JSON object in UTF-8 with a "prompt"'
            await refusal(AgentErrorCode.INVALID_JSON, sentence)(scope, receive, send)
            return
        await self._app(scope, _replay(bytes(body), receive), send)


def refusal(code: AgentErrorCode, message: str) -> Response:
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
