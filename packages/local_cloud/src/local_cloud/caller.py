"""Asking the deployed way: boto3's `invoke_agent_runtime`, with the answer taken as it streams.

botocore's StreamingBody collects what it is asked for before it gives anything (`iter_lines` and `iter_chunks` to the
very end), so the bytes are read with urllib3's `read1` from the stream below it, which returns what has come.
"""

import asyncio
import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from speech_protocol import SseDecoder
from urllib3.exceptions import HTTPError

from local_cloud.answer import Answer, AnswerCollector
from local_cloud.environment import client_session
from local_cloud.errors import AnswerFailed

READ_BYTES = 64 * 1024
SILENCE_S = 120.0  # batch mode says nothing while the model writes its whole answer


@dataclass(frozen=True, slots=True)
class AgentCaller:
    """A caller of one agent runtime.

    `endpoint_url` None means AWS itself, with credentials from boto3's own chain, or from `profile`. A plane of one's
    own is called as given here, whatever the environment says of AWS and of proxies. `qualifier`: the runtime's
    endpoint.
    """

    runtime_arn: str
    region: str
    endpoint_url: str | None = None
    access_key_id: str | None = None
    secret_access_key: str | None = None
    qualifier: str | None = None
    profile: str | None = None

    async def ask(
        self,
        prompt: str,
        *,
        mode: str,
        voice: str | None = None,
        audio_format: str = "pcm",
        on_event: Callable[[dict[str, Any]], None] | None = None,
    ) -> Answer:
        """The whole answer, timed from the moment the question leaves. Raises `AnswerFailed`.

        `on_event` sees every event as it comes, in another thread. When the waiting task is cancelled, the connection
        is closed at the next event, and with it the agent's work for us.
        """
        payload = question(prompt, mode=mode, voice=voice, audio_format=audio_format)
        hung_up = threading.Event()
        try:
            return await asyncio.to_thread(self._ask, payload, hung_up, on_event)
        finally:
            hung_up.set()

    def _ask(
        self, payload: dict[str, Any], hung_up: threading.Event, on_event: Callable[[dict[str, Any]], None] | None
    ) -> Answer:
        collector = AnswerCollector(payload["mode"])
        start = time.perf_counter()
        try:
            client = self._client()
        except BotoCoreError as error:
            raise AnswerFailed(f"no client for the agent can be made: {error}") from error
        try:
            for event in _events(client, self, payload, hung_up):
                collector.feed(event, (time.perf_counter() - start) * 1000)
                if on_event is not None:
                    on_event(event)
        except (BotoCoreError, ClientError, HTTPError) as error:
            raise AnswerFailed(f"the agent could not be asked: {error}") from error
        finally:
            client.close()
        return collector.answer()

    def _client(self) -> Any:
        config = Config(
            region_name=self.region,
            connect_timeout=5,
            read_timeout=SILENCE_S,
            retries={"total_max_attempts": 1},
        )
        ours = self.endpoint_url is not None
        if ours:
            config = config.merge(Config(proxies={}, use_fips_endpoint=False, use_dualstack_endpoint=False))
        session = client_session() if ours else None
        return boto3.Session(botocore_session=session, profile_name=None if ours else self.profile).client(
            "bedrock-agentcore",
            endpoint_url=self.endpoint_url,
            aws_access_key_id=self.access_key_id,
            aws_secret_access_key=self.secret_access_key,
            config=config,
        )


def question(prompt: str, *, mode: str, voice: str | None, audio_format: str) -> dict[str, Any]:
    """What the agent is asked, on either of its faces."""
    return {"prompt": prompt, "mode": mode, "format": audio_format} | ({"voice": voice} if voice else {})


def new_session_id() -> str:
    """33 to 256 characters are allowed."""
    return f"voice-local-{uuid.uuid4()}"


def _events(
    client: Any, caller: AgentCaller, payload: dict[str, Any], hung_up: threading.Event
) -> Iterator[dict[str, Any]]:
    response = client.invoke_agent_runtime(
        agentRuntimeArn=caller.runtime_arn,
        runtimeSessionId=new_session_id(),
        contentType="application/json",
        accept="text/event-stream",
        payload=json.dumps(payload).encode(),
        **({} if caller.qualifier is None else {"qualifier": caller.qualifier}),
    )
    body = response["response"]
    decoder = SseDecoder()
    try:
        while not hung_up.is_set() and (chunk := body._raw_stream.read1(READ_BYTES)):
            yield from decoder.feed(chunk)
    finally:
        body.close()
