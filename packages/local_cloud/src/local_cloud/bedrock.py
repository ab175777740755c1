"""Amazon Bedrock's Converse and ConverseStream on loopback, with a `LanguageModel` behind every model id.

The events are Bedrock's: messageStart, contentBlockDelta for each token, contentBlockStop, messageStop, metadata. A
caller that hangs up stops the model at its next token. `faults` has the plane fail as Bedrock does, for those who
must survive it."""

import logging
import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from local_cloud.converse_request import ConverseRequest, parse_converse
from local_cloud.errors import ModelUnavailable, RequestRefused
from local_cloud.event_stream import CONTENT_TYPE, encode_exception, encode_json_event
from local_cloud.http_plane import HttpPlane
from local_cloud.language_model import Conversation, LanguageModel
from local_cloud.relay import RelayResponse, until_hangup
from local_cloud.signatures import Credentials

log = logging.getLogger(__name__)

CHARS_PER_INPUT_TOKEN = 4
"""Usage counts the input in tokens of four characters; the output is counted as it is written."""


@dataclass
class Faults:
    """Failures to come. They can be set at any time; each throttled request uses one up."""

    throttle_requests: int = 0
    """Answer so many requests with ThrottlingException (429) before their first token."""
    fail_after_tokens: int | None = None
    """End every stream with modelStreamErrorException after so many tokens."""


class Bedrock(HttpPlane):
    """The Bedrock runtime plane. Every model id is answered by `model`, which the plane neither prepares nor closes."""

    service = "bedrock"
    title = "the Bedrock plane"
    max_body_bytes = 25_000_000

    def __init__(
        self, model: LanguageModel, *, credentials: Credentials, region: str = "us-east-1", port: int = 0
    ) -> None:
        super().__init__(credentials=credentials, region=region, port=port)
        self._model = model
        self.faults = Faults()
        self.active = 0
        """Streams in which the model is writing now."""
        self.tokens = 0
        """Tokens that models have written since the plane was made."""
        self.requests = 0
        """Requests since the plane was made, refused ones included."""

    def routes(self) -> Sequence[BaseRoute]:
        return [
            Route("/model/{model_id:path}/converse-stream", self._converse_stream, methods=["POST"]),
            Route("/model/{model_id:path}/converse", self._converse, methods=["POST"]),
        ]

    async def _converse_stream(self, request: Request) -> Response:
        asked = await self._admit(request)
        headers = {"x-amzn-requestid": str(uuid.uuid4())}
        return RelayResponse(self._events(asked), headers=headers, media_type=CONTENT_TYPE)

    async def _converse(self, request: Request) -> Response:
        asked = await self._admit(request)
        began = time.monotonic()
        writing = _Writing(asked)
        try:
            text = await until_hangup(request.receive, self._write_whole(writing))
        except ModelUnavailable as error:
            raise _not_ready(error) from error
        return JSONResponse(
            {
                "output": {"message": {"role": "assistant", "content": [{"text": text}] if text else []}},
                "stopReason": writing.stop_reason,
                "usage": writing.usage(),
                "metrics": {"latencyMs": _ms_since(began)},
            },
            headers={"x-amzn-requestid": str(uuid.uuid4())},
        )

    async def _admit(self, request: Request) -> ConverseRequest:
        self.requests += 1
        body = await self.read_signed_body(request)
        if self.faults.throttle_requests > 0:
            self.faults.throttle_requests -= 1
            raise RequestRefused(429, "ThrottlingException", "Too many requests, please wait before trying again.")
        return parse_converse(body)

    async def _write_whole(self, writing: "_Writing") -> str:
        async with aclosing(self._write(writing)) as pieces:
            return "".join([piece async for piece in pieces])

    async def _write(self, writing: "_Writing") -> AsyncGenerator[str]:
        """The model's tokens, counted; at most as many as were asked for."""
        self.active += 1
        try:
            async with aclosing(self._model.stream(writing.request.conversation)) as pieces:
                async for piece in pieces:
                    writing.tokens += 1
                    self.tokens += 1
                    yield piece
                    if writing.at_limit:
                        return
        finally:
            self.active -= 1

    @asynccontextmanager
    async def _events(self, asked: ConverseRequest) -> AsyncIterator[AsyncIterator[bytes]]:
        async with aclosing(self._event_stream(asked)) as events:
            yield events

    async def _event_stream(self, asked: ConverseRequest) -> AsyncGenerator[bytes]:
        began = time.monotonic()
        writing = _Writing(asked)
        yield encode_json_event("messageStart", {"role": "assistant"})
        try:
            async with aclosing(self._write(writing)) as pieces:
                if self.faults.fail_after_tokens == 0:
                    yield _stream_error()
                    return
                async for piece in pieces:
                    yield encode_json_event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": piece}})
                    if writing.tokens == self.faults.fail_after_tokens:
                        yield _stream_error()
                        return
        except ModelUnavailable as error:
            log.warning("the language model is unavailable: %s", error)
            yield encode_exception("serviceUnavailableException", {"message": "The model is not available."})
            return
        # A model may fail in any way; the caller gets Bedrock's event for that, and the log what it was.
        except Exception:
            log.exception("the language model failed in mid answer")
            yield _stream_error()
            return
        if writing.tokens:
            yield encode_json_event("contentBlockStop", {"contentBlockIndex": 0})
        yield encode_json_event("messageStop", {"stopReason": writing.stop_reason})
        yield encode_json_event("metadata", {"usage": writing.usage(), "metrics": {"latencyMs": _ms_since(began)}})


@dataclass
class _Writing:
    """One answer in the making."""

    request: ConverseRequest
    tokens: int = 0

    @property
    def at_limit(self) -> bool:
        return self.request.max_tokens is not None and self.tokens >= self.request.max_tokens

    @property
    def stop_reason(self) -> str:
        return "max_tokens" if self.at_limit else "end_turn"

    def usage(self) -> dict[str, int]:
        read = _input_tokens(self.request.conversation)
        return {"inputTokens": read, "outputTokens": self.tokens, "totalTokens": read + self.tokens}


def _input_tokens(conversation: Conversation) -> int:
    characters = len(conversation.system) + sum(len(turn.text) for turn in conversation.turns)
    return -(-characters // CHARS_PER_INPUT_TOKEN)


def _ms_since(began: float) -> int:
    return round((time.monotonic() - began) * 1000)


def _stream_error() -> bytes:
    message = "The model ended its answer unexpectedly. Try your request again."
    members = {"message": message, "originalStatusCode": 424, "originalMessage": message}
    return encode_exception("modelStreamErrorException", members)


def _not_ready(error: ModelUnavailable) -> RequestRefused:
    log.warning("the language model is unavailable: %s", error)
    return RequestRefused(503, "ServiceUnavailableException", "The model is not available.")
