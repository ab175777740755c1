"""The writer: a Strands agent on Amazon Bedrock, as a stream of text that ends at once when nobody listens.

Strands runs in a task of its own from its first event to its last, so that its context variables and spans are closed
where they were opened; stopping means ending the model's call under it (see `model_call`) and waiting until it is
through.

Retries: botocore's are off, Strands' default (5 s, 14 s …) is replaced. A call is repeated only while none of its
text has come, after at most `RETRY_DELAY_S` · 2ⁿ with jitter; a listener who waits longer than a few seconds has
gone.
"""

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any, Final

from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
    NoCredentialsError,
    ReadTimeoutError,
)
from strands import Agent
from strands.hooks import (
    AfterModelCallEvent,
    AfterToolsEvent,
    BeforeModelCallEvent,
    BeforeToolsEvent,
    HookProvider,
    HookRegistry,
)
from strands.models import BedrockModel
from strands.types.exceptions import (
    ContextWindowOverflowException,
    MaxTokensReachedException,
    ModelThrottledException,
)

from .errors import AgentErrorCode, ModelError
from .memory import Remark
from .model_call import ModelCall, make_stoppable
from .settings import Settings
from .tools import load_tools
from .writer import Pause

ATTEMPTS: Final = 4
RETRY_DELAY_S: Final = 0.25  # so a throttled answer gives up after 1.75 s of waiting at most
STOP_TIMEOUT_S: Final = 0.5  # Strands looks at its signal every 50 ms; past this its task is cancelled
MAX_MODEL_CALLS: Final = 8  # in one answer: a model that goes on using tools past this does not answer

_RETRYABLE_CODES: Final = frozenset(
    {"InternalServerException", "ModelNotReadyException", "ServiceUnavailableException", "ThrottlingException"}
)
_DENIED_CODES: Final = frozenset(
    {"AccessDeniedException", "ExpiredTokenException", "UnrecognizedClientException", "InvalidSignatureException"}
)

_log = logging.getLogger(__name__)


class BedrockWriter:
    """Writes answers with one Bedrock model. One client for all turns, a fresh agent for each: what it remembers of a
    conversation is not what it has written, but what was heard of that (see `memory`).

    Raises `SettingsError` for tools that there are not.
    """

    def __init__(self, settings: Settings, *, attempts: int = ATTEMPTS, retry_delay_s: float = RETRY_DELAY_S) -> None:
        self._attempts = attempts
        self._retry_delay_s = retry_delay_s
        self._system_prompt = settings.system_prompt
        self._tools = load_tools(settings.tools)
        self._tool_s = settings.tool_s
        self._model = BedrockModel(
            model_id=settings.bedrock_model_id,
            region_name=settings.region,
            endpoint_url=settings.bedrock_endpoint_url,
            max_tokens=settings.max_answer_tokens,
            boto_client_config=Config(
                connect_timeout=settings.model_connect_s,
                read_timeout=settings.model_silence_s,
                max_pool_connections=settings.max_turns,
                retries={"total_max_attempts": 1, "mode": "standard"},
            ),
        )
        make_stoppable(self._model.client)

    async def write(self, remarks: Sequence[Remark]) -> AsyncGenerator[str | Pause]:
        """The answer to the last of `remarks` as the model writes it.

        Raises `ModelError`; closing the generator ends the model's stream.
        """
        call = ModelCall()
        texts: asyncio.Queue[str | Pause | None] = asyncio.Queue()  # bounded by the call's room
        tools = ToolLimit(self._tool_s, lambda: texts.put_nowait(None))
        task = asyncio.create_task(self._run(remarks, call, tools, texts.put_nowait))
        try:
            while (text := await texts.get()) is not None:
                if isinstance(text, Pause):
                    yield text
                    continue
                call.took_text()
                if text:
                    yield text
            if tools.expired:
                message = "a tool that the agent uses did not answer in time"
                raise ModelError(AgentErrorCode.TOOL_TIMEOUT, message)
            await task
        finally:
            tools.end()
            call.stop()
            await _finish(task)

    async def _run(
        self,
        remarks: Sequence[Remark],
        call: ModelCall,
        tools: "ToolLimit",
        put: Callable[[str | Pause | None], None],
    ) -> None:
        call.begin()
        try:
            agent = self._new_agent(remarks[:-1], call, tools)
            stream = agent.stream_async(remarks[-1].text, cancel_signal=call.signal, limits={"turns": MAX_MODEL_CALLS})
            async for event in stream:
                if "data" in event:
                    put(event["data"])
                elif _begins_tool_use(event):
                    put(Pause.TOOL)
                elif "result" in event:
                    _check_end(event["result"].stop_reason)
        except MaxTokensReachedException:
            _log.warning("answer cut at the token limit")
        except Exception as error:  # strands and botocore raise many kinds; each becomes one of our codes
            if not call.stopped:  # what a stopped call fails with is of no interest
                raise _model_error(error) from error
        finally:
            put(None)

    def _new_agent(self, remarks: Sequence[Remark], call: ModelCall, tools: "ToolLimit") -> Agent:
        return Agent(
            model=self._model,
            messages=[
                {"role": "user" if remark.is_users else "assistant", "content": [{"text": remark.text}]}
                for remark in remarks
            ],
            system_prompt=self._system_prompt,
            tools=self._tools,
            callback_handler=None,  # the default prints the answer
            retry_strategy=None,
            hooks=[RetryBeforeText(call, self._attempts, self._retry_delay_s), tools],
        )


class RetryBeforeText(HookProvider):
    """Repeats a call that failed for want of capacity, as long as the caller has seen none of its text."""

    def __init__(self, call: ModelCall, attempts: int, delay_s: float) -> None:
        self._call = call
        self._attempts = attempts
        self._delay_s = delay_s
        self._failed = 0

    def register_hooks(self, registry: HookRegistry, **_: Any) -> None:
        """Called by Strands."""
        registry.add_callback(BeforeModelCallEvent, self._begin)
        registry.add_callback(AfterModelCallEvent, self._end)

    async def _begin(self, event: BeforeModelCallEvent) -> None:
        self._call.new_attempt()

    async def _end(self, event: AfterModelCallEvent) -> None:
        if event.exception is None or self._call.stopped or self._call.has_text or not _is_retryable(event.exception):
            self._failed = 0
            return
        self._failed += 1
        if self._failed >= self._attempts:
            return
        delay_s = self._delay_s * 2 ** (self._failed - 1) * random.uniform(0.5, 1)  # noqa: S311 - spreads load only
        _log.warning(
            "model call is repeated",
            extra={"attempt": self._failed, "delay_s": round(delay_s, 3), "cause": type(event.exception).__name__},
        )
        await self._call.pause(delay_s)
        event.retry = not self._call.stopped


class ToolLimit(HookProvider):
    """Gives the tools that a model uses at one time `limit_s` seconds together, and then calls `expire`, once.

    A tool that waits in a thread cannot be stopped; it is left behind.
    """

    def __init__(self, limit_s: float, expire: Callable[[], None]) -> None:
        self.expired = False
        self._limit_s = limit_s
        self._expire = expire
        self._timer: asyncio.TimerHandle | None = None

    def register_hooks(self, registry: HookRegistry, **_: Any) -> None:
        """Called by Strands."""
        registry.add_callback(BeforeToolsEvent, self._begin)
        registry.add_callback(AfterToolsEvent, self._done)

    def end(self) -> None:
        """No more tools are used."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _begin(self, event: BeforeToolsEvent) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._limit_s, self._ring)

    async def _done(self, event: AfterToolsEvent) -> None:
        self.end()

    def _ring(self) -> None:
        self._timer = None
        self.expired = True
        self._expire()


def _begins_tool_use(event: Mapping[str, Any]) -> bool:
    """Whether the model has gone over from text to the use of a tool: what it has said so far is whole."""
    start = event.get("event", {}).get("contentBlockStart", {}).get("start", {})
    return bool(start.get("toolUse"))


def _check_end(stop_reason: str) -> None:
    if stop_reason == "limit_turns":
        raise ModelError(AgentErrorCode.MODEL_FAILED, "the model came to no answer")


async def _finish(task: asyncio.Task[None]) -> None:
    """Wait for a stopped run; cancel it if Strands takes longer than it should, or if we are cancelled meanwhile."""
    try:
        await asyncio.wait({task}, timeout=STOP_TIMEOUT_S)
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # raised already by whoever read the answer to its end; else nobody waits for it


def _is_retryable(error: Exception) -> bool:
    match error:
        case ModelThrottledException() | EndpointConnectionError() | ConnectTimeoutError() | ConnectionClosedError():
            return True
        case ModelError(code=AgentErrorCode.MODEL_FAILED):  # the connection was lost
            return True
        case ClientError():
            return _code(error) in _RETRYABLE_CODES or _status(error) >= 500
        case _:
            return False


def _model_error(error: Exception) -> ModelError:
    """What the caller is told about a failed call. Strands may wrap what the client raised."""
    cause = getattr(error, "original_exception", error)
    match cause:
        case ModelError():
            return cause
        case ModelThrottledException():
            return ModelError(AgentErrorCode.MODEL_THROTTLED, "the model is busy; try again in a moment")
        case ContextWindowOverflowException():
            return ModelError(AgentErrorCode.CONTEXT_TOO_LONG, "the conversation is longer than the model can read")
        case ReadTimeoutError():
            return ModelError(AgentErrorCode.MODEL_TIMEOUT, "the model did not go on in time")
        case NoCredentialsError():
            return ModelError(AgentErrorCode.MODEL_ACCESS_DENIED, "the agent has no access to its model")
        case ClientError() if _code(cause) in _DENIED_CODES:
            return ModelError(AgentErrorCode.MODEL_ACCESS_DENIED, "the agent has no access to its model")
        case ClientError() if _code(cause) == "ModelTimeoutException":
            return ModelError(AgentErrorCode.MODEL_TIMEOUT, "the model did not go on in time")
        case ClientError() if _is_retryable(cause):
            return ModelError(AgentErrorCode.MODEL_UNAVAILABLE, "the model cannot answer just now")
        case HTTPClientError() | ConnectionError() | BotoCoreError():
            return ModelError(AgentErrorCode.MODEL_UNAVAILABLE, "the model cannot be reached")
        case _:
            return ModelError(AgentErrorCode.MODEL_FAILED, "the model failed while it answered")


def _status(error: ClientError) -> int:
    """The HTTP status of an answer; a proxy or a load balancer in between gives no code of the service's."""
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def _code(error: ClientError) -> str:
    """The service's error code, spelled as for HTTP answers (in an event stream it begins with a small letter)."""
    code = str(error.response.get("Error", {}).get("Code", ""))
    return code[:1].upper() + code[1:]
