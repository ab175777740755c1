"""Talking the deployed way: AgentCore's `/ws`, signed, for several questions that can be interrupted.

The opening request is signed with SigV4 like any other of the service; after that the socket carries what the agent's
page says: JSON in text frames, audio in binary ones.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Literal
from urllib.parse import quote, urlsplit

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.session import Session
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from local_cloud.agentcore import MAX_FRAME_BYTES, SESSION_HEADER
from local_cloud.answer import Answer, AnswerCollector
from local_cloud.caller import SILENCE_S, AgentCaller, new_session_id, question
from local_cloud.errors import AnswerFailed

SERVICE = "bedrock-agentcore"
ENDS = ("agent_end", "agent_cancelled")

OnEvent = Callable[[dict[str, Any]], None]


class SocketCaller:
    """One open socket. Made by `connect`."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket

    @classmethod
    @asynccontextmanager
    async def connect(cls, caller: AgentCaller, session_id: str | None = None) -> AsyncIterator["SocketCaller"]:
        """A socket to the agent that `caller` calls, in the session of that id or a new one. Raises `AnswerFailed`."""
        url = f"{_base(caller)}/runtimes/{quote(caller.runtime_arn, safe='')}/ws"
        if caller.qualifier is not None:
            url += f"?qualifier={quote(caller.qualifier, safe='')}"
        request = AWSRequest("GET", url, {SESSION_HEADER: session_id or new_session_id()})
        SigV4Auth(_credentials(caller), SERVICE, caller.region).add_auth(request)
        headers = {name: value for name, value in request.headers.items() if name.lower() != "host"}
        parts = urlsplit(url)
        address = parts._replace(scheme="wss" if parts.scheme == "https" else "ws").geturl()
        proxy: Literal[True] | None = None if caller.endpoint_url is not None else True
        try:
            socket = await connect(
                address, additional_headers=headers, proxy=proxy, compression=None, max_size=MAX_FRAME_BYTES
            )
        except (OSError, InvalidHandshake) as error:
            raise AnswerFailed(f"the agent's socket could not be opened: {error}") from error
        async with socket:
            yield cls(socket)

    async def ask(
        self,
        prompt: str,
        *,
        mode: str,
        voice: str | None = None,
        audio_format: str = "pcm",
        on_event: OnEvent | None = None,
    ) -> Answer:
        """The whole answer, timed from the moment the question leaves, or what came of it before a `cancel`.

        `on_event` sees every event as it comes, audio as `audio_chunk` with its number of `bytes`. Raises
        `AnswerFailed`.
        """
        fields = question(prompt, mode=mode, voice=voice, audio_format=audio_format)
        collector = AnswerCollector(mode)
        start = time.perf_counter()
        await self._say(fields)
        async for frame in self._frames():
            at_ms = (time.perf_counter() - start) * 1000
            if on_event is not None:
                on_event({"type": "audio_chunk", "bytes": len(frame)} if isinstance(frame, bytes) else frame)
            if isinstance(frame, bytes):
                collector.feed_audio(frame, at_ms)
                continue
            collector.feed(frame, at_ms)
            if frame["type"] in ENDS:
                return collector.answer()
        raise AnswerFailed("the agent closed its socket before its agent_end event; see the agent's log")

    async def cancel(self, played_s: float | None = None) -> None:
        """The listener has heard `played_s` and wants no more; the answer ends with `agent_cancelled`."""
        await self._say({"type": "cancel"} | ({} if played_s is None else {"played_s": played_s}))

    def drop(self) -> None:
        """Lose the connection, without a word."""
        self._socket.transport.abort()

    async def _say(self, fields: dict[str, Any]) -> None:
        try:
            await self._socket.send(json.dumps(fields))
        except ConnectionClosed as error:
            raise AnswerFailed(f"the agent's socket is closed: {error}") from error

    async def _frames(self) -> AsyncIterator[dict[str, Any] | bytes]:
        while True:
            try:
                async with asyncio.timeout(SILENCE_S):
                    frame = await self._socket.recv()
            except TimeoutError as error:
                raise AnswerFailed(f"the agent said nothing for {SILENCE_S:g} seconds") from error
            except ConnectionClosed:
                return
            if isinstance(frame, bytes):
                yield frame
            else:
                event: dict[str, Any] = json.loads(frame)
                yield event


def _base(caller: AgentCaller) -> str:
    return (caller.endpoint_url or f"https://{SERVICE}.{caller.region}.amazonaws.com").rstrip("/")


def _credentials(caller: AgentCaller) -> Credentials:
    if caller.access_key_id is not None and caller.secret_access_key is not None:
        return Credentials(caller.access_key_id, caller.secret_access_key)
    found = Session(profile=caller.profile).get_credentials()
    if found is None:
        raise AnswerFailed("expected AWS credentials in the environment or the shared files; there are none")
    return found.get_frozen_credentials()
