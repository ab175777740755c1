"""Stopping a Bedrock call that another thread is reading, and keeping that thread from reading far ahead.

boto3 blocks, so Strands runs it in a thread and looks at its cancel signal between two chunks only: a model that
pauses, or has not answered yet, keeps the thread and the connection until botocore's read timeout, and Strands clears
the signal when its own side has ended, after which the thread reads to the end of the answer. Closing the response
from outside would wait for the very read it is to end. Shutting the socket down does not: the blocked read returns at
once and the service sees the caller gone. So the connections of this client note their socket on the `ModelCall` that
the thread works for (a context variable, which `asyncio.to_thread` copies).

Strands also puts what it reads on a queue without a bound. The stream that it gets from here waits once `AHEAD_CHUNKS`
texts have not been taken yet, so that a slow caller slows the service's sending through TCP.
"""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any, Final, Protocol

from botocore.awsrequest import (
    AWSHTTPConnection,
    AWSHTTPConnectionPool,
    AWSHTTPSConnection,
    AWSHTTPSConnectionPool,
)
from botocore.client import BaseClient
from urllib3.exceptions import ProtocolError, ReadTimeoutError

from .errors import AgentErrorCode, ModelError

AHEAD_CHUNKS: Final = 256  # about as many tokens: 5 s of a fast model, 90 s of speech

_current: ContextVar["ModelCall | None"] = ContextVar("model_call", default=None)


class EventStream(Protocol):
    """botocore's event stream, as far as it is used."""

    def __iter__(self) -> Iterator[dict[str, Any]]: ...

    def close(self) -> None: ...


class ModelCall:
    """The calls to the model for one answer: made and stopped on the event loop, read in a thread."""

    def __init__(self, ahead_chunks: int = AHEAD_CHUNKS) -> None:
        self.signal = threading.Event()  # what Strands looks at
        self._room = threading.Semaphore(ahead_chunks)
        self._stopped = asyncio.Event()
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self.has_text = False  # whether the caller may have seen text of the call in progress

    @property
    def stopped(self) -> bool:
        """Whether nobody waits for the answer any more."""
        return self.signal.is_set()

    def begin(self) -> None:
        """From here on, this task and the threads that it starts work for this call."""
        _current.set(self)

    def new_attempt(self) -> None:
        """A call to the model is about to be made, or made again."""
        self.has_text = False

    def stop(self) -> None:
        """End the call now, whatever its thread is doing. Returns at once; may be called more than once."""
        with self._lock:
            self.signal.set()
            if self._socket is not None:
                _shut_down(self._socket)
                self._socket = None
        self._stopped.set()
        self._room.release()

    async def pause(self, delay_s: float) -> None:
        """Wait for `delay_s`, or until the call is stopped."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(delay_s):
                await self._stopped.wait()

    def took_text(self) -> None:
        """One text has been taken off the queue: there is room for another."""
        self._room.release()

    def use(self, connected: socket.socket | None) -> None:
        """The thread is about to wait for an answer on this socket."""
        with self._lock:
            self._socket = connected
            if self.stopped and connected is not None:
                _shut_down(connected)

    def guard(self, stream: EventStream) -> "GuardedStream":
        """`stream` as the thread is to read it."""
        return GuardedStream(self, stream)

    def wait_for_room(self) -> None:
        """Called in the thread: waits while too many texts have not been taken."""
        self._room.acquire()


class GuardedStream:
    """An event stream that ends quietly when its call is stopped, waits for room, and knows a whole answer from a part.

    Iterating raises `ModelError` where the service goes silent, or the stream ends without `messageStop`: a lost
    connection may look like an end.
    """

    def __init__(self, call: ModelCall, stream: EventStream) -> None:
        self._call = call
        self._stream = stream

    def __iter__(self) -> Iterator[dict[str, Any]]:
        whole = False
        try:
            for event in self._stream:
                whole = whole or "messageStop" in event
                if "text" in event.get("contentBlockDelta", {}).get("delta", {}):
                    self._call.wait_for_room()
                    self._call.has_text = True
                if self._call.stopped:
                    return
                yield event
        except Exception as error:  # a socket that was shut under botocore fails in any of its layers
            if self._call.stopped:  # the read that stop() ended; what it failed with does not matter
                return
            if isinstance(error, ReadTimeoutError):
                raise ModelError(AgentErrorCode.MODEL_TIMEOUT, "the model did not go on in time") from error
            if isinstance(error, ProtocolError):
                raise _broken_off() from error
            raise
        finally:
            self._call.use(None)
            self._stream.close()
        if not whole and not self._call.stopped:
            raise _broken_off()

    def close(self) -> None:
        """Close the response."""
        self._stream.close()


class _HTTPConnection(AWSHTTPConnection):  # type: ignore[misc]  # botocore has no types
    def getresponse(self) -> Any:
        _note(self.sock)
        return super().getresponse()


class _HTTPSConnection(AWSHTTPSConnection):  # type: ignore[misc]  # botocore has no types
    def getresponse(self) -> Any:
        _note(self.sock)
        return super().getresponse()


class _HTTPConnectionPool(AWSHTTPConnectionPool):  # type: ignore[misc]  # botocore has no types
    ConnectionCls = _HTTPConnection


class _HTTPSConnectionPool(AWSHTTPSConnectionPool):  # type: ignore[misc]  # botocore has no types
    ConnectionCls = _HTTPSConnection


def make_stoppable(client: BaseClient) -> None:
    """Let `ModelCall` reach the sockets and streams of this bedrock-runtime client. Before its first request.

    botocore has no public way to its connections; `test_model_call` holds this to what the locked version does.
    """
    pools = client._endpoint.http_session._pool_classes_by_scheme
    pools.update(http=_HTTPConnectionPool, https=_HTTPSConnectionPool)
    client.meta.events.register("after-call.bedrock-runtime.ConverseStream", _guard_response)


def _guard_response(parsed: dict[str, Any], **_: Any) -> None:
    call = _current.get()
    if call is not None and "stream" in parsed:
        parsed["stream"] = call.guard(parsed["stream"])


def _broken_off() -> ModelError:
    return ModelError(AgentErrorCode.MODEL_FAILED, "the model's answer broke off")


def _note(connected: socket.socket | None) -> None:
    call = _current.get()
    if call is not None:
        call.use(connected)


def _shut_down(connected: socket.socket) -> None:
    # socket.socket's own method: SSLSocket's would also drop the TLS state that the reading thread is using.
    with contextlib.suppress(OSError):  # already closed
        socket.socket.shutdown(connected, socket.SHUT_RDWR)
