"""Answers that stream through, and end when the caller hangs up.

A data plane in the middle must notice a caller that leaves while nothing is being sent, close the request behind it
at once, and hold no more than one piece of the answer. Starlette's StreamingResponse leaves its source open when the
caller goes; this one closes it, and waits for that."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import AbstractAsyncContextManager

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from local_cloud.errors import CallerGone

Body = AbstractAsyncContextManager[AsyncIterator[bytes]]


class RelayResponse(Response):
    """Streams `body` as it comes. Whatever happens, `body` is closed before the response is over."""

    def __init__(
        self,
        body: Body,
        status_code: int = 200,
        headers: Mapping[str, str] | None = None,
        media_type: str | None = None,
    ) -> None:
        self.status_code = status_code
        self.media_type = media_type
        self.background = None
        self._source = body
        self.init_headers(headers)

    def init_headers(self, headers: Mapping[str, str] | None = None) -> None:
        """Headers without a length: the body is chunked."""
        self.body = b""
        super().init_headers(headers)
        self.raw_headers = [(name, value) for name, value in self.raw_headers if name != b"content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with contextlib.suppress(CallerGone, OSError):
            await until_hangup(receive, self._send_all(send))

    async def _send_all(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async with self._source as pieces:
            async for piece in pieces:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def until_hangup[T](receive: Receive, work: Awaitable[T]) -> T:
    """Do `work`, and give it up when the caller hangs up. The request's body must have been read.

    Raises:
        CallerGone: the caller hung up first; `work` has been cancelled and has ended.
    """
    doing = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_hangup(receive))
    try:
        await asyncio.wait({doing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if doing.done():
            return doing.result()
        raise CallerGone("the caller hung up before the answer was complete")
    finally:
        for task in (doing, leaving):
            task.cancel()
        await asyncio.gather(doing, leaving, return_exceptions=True)


async def read_body(request: Request, limit_bytes: int) -> bytes | None:
    """The request's body, or None where it is longer than `limit_bytes`."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > limit_bytes:
            return None
    return bytes(body)


async def _hangup(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
