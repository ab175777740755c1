"""What the HTTP clients of a run do. Each function is one client from begin to end."""

import asyncio
import base64
import json
import random
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from typing import Any

import httpx
from speech_protocol import ErrorCode, SseDecoder

from tests.load import texts
from tests.load.ledger import Violation
from tests.load.reading import REFUSALS, Ended
from tests.load.target import PATIENCE_S, Target

_MALFORMED = {ErrorCode.INVALID_JSON, ErrorCode.SPEED_OUT_OF_RANGE}


@asynccontextmanager
async def _client(target: Target) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(
        base_url=target.url,
        timeout=PATIENCE_S,
        limits=httpx.Limits(keepalive_expiry=2),  # the server closes after 5 s, and a request may cross that
        trust_env=False,
        verify=False,  # there is no TLS, and setting it up takes long
    ) as client:
        yield client


async def invoke(target: Target, chance: random.Random, name: str) -> None:
    """`POST /invocations`: streamed, whole or as events, several on one connection."""
    async with _client(target) as client:
        for number in range(chance.randint(1, 4)):
            text, options = chance.choice(texts.TEXTS), {"format": "wav", **texts.options(chance)}
            options |= {"stream": chance.random() < 0.6, "transport": chance.choice(("binary", "sse"))}
            sound: Hashable = None
            if options["format"] == "pcm" or (options["format"] in ("mp3", "aac") and options["stream"]):
                sound = ("whole", text, options["voice"], options["format"], options.get("sample_rate"))
            body = {"text": text, "request_id": f"{name}.{number}", **options}
            await _post(target, client, "/invocations", body, sound)


async def speak_as_openai(target: Target, chance: random.Random, name: str) -> None:
    """`POST /v1/audio/speech`, as audio or as events."""
    async with _client(target) as client:
        for number in range(chance.randint(1, 3)):
            body = {
                "model": "kokoro-82m",
                "input": chance.choice(texts.TEXTS),
                "voice": chance.choice(("alloy", "nova", "af_heart")),
                "response_format": chance.choice(("mp3", "opus", "aac", "wav", "pcm")),
                "stream_format": chance.choice(("audio", "sse")),
                "request_id": f"{name}.{number}",
            }
            await _post(target, client, "/v1/audio/speech", body, None)


async def send_nonsense(target: Target, chance: random.Random, name: str) -> None:
    """Bodies that are no requests: each gets a typed error with its status."""
    async with _client(target) as client:
        for number in range(chance.randint(1, 5)):
            path = chance.choice(("/invocations", "/v1/audio/speech"))
            match chance.randrange(4):
                case 0:
                    nonsense = texts.garbage(chance)
                    body: Any = nonsense if isinstance(nonsense, bytes) else nonsense.encode("utf-8", "replace")
                case 1:
                    body = b" " * (target.max_message_bytes * chance.choice((2, 6)))
                case 2:
                    wrong = chance.choice(texts.WRONG_OPTIONS)
                    body = {"text": "Hi.", "input": "Hi.", "voice": "af_heart", "request_id": f"{name}.{number}"}
                    body |= wrong
                case _:
                    text = chance.choice(texts.ODD_TEXTS)
                    body = {"text": text, "input": text, "voice": "alloy", "request_id": f"{name}.{number}"}
            await _post(target, client, path, body, None)


async def hang_up(target: Target, chance: random.Random, name: str) -> None:
    """Goes away before the answer, or in the middle of it."""
    async with _client(target) as client:
        text = chance.choice((texts.TEXTS[-1], texts.LONG_TEXT))
        path, body = chance.choice(
            (
                ("/invocations", {"text": text, "stream": chance.random() < 0.7, "format": "mp3"}),
                ("/v1/audio/speech", {"input": text, "voice": "nova", "response_format": "pcm"}),
            )
        )
        request_id = f"{name}.0"
        target.record.sent[request_id] = None
        target.record.nameless_sent += 1
        patience_s = chance.random() * 0.6
        try:
            async with (
                asyncio.timeout(patience_s),
                client.stream("POST", path, json={**body, "request_id": request_id}) as response,
            ):
                async for _ in response.aiter_raw():
                    pass
        except TimeoutError:
            target.record.did["hung up"] += 1


async def look_around(target: Target, chance: random.Random, name: str) -> None:
    """What monitors and catalogues are read with, and paths that there are not."""
    async with _client(target) as client:
        for path in chance.sample(
            ("/ping", "/metrics", "/v1/audio/voices", "/v1/models", "/nothing", "/invocations"), 3
        ):
            response = await client.get(path)
            expected = {"/nothing": 404, "/invocations": 405}.get(path, 200)
            if response.status_code != expected:
                raise Violation(f"GET {path} is answered with {response.status_code}")


async def _post(target: Target, client: httpx.AsyncClient, path: str, body: Any, sound: Hashable) -> None:
    """One request, answered to its end."""
    record = target.record
    record.nameless_sent += 1
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    request_id = body.get("request_id") if isinstance(body, dict) else None
    if isinstance(request_id, str) and request_id:
        record.sent[request_id] = None
    try:
        async with client.stream("POST", path, content=content) as response:
            answer = await response.aread()
    except (httpx.ReadError, httpx.WriteError):
        if len(content) <= target.max_message_bytes:
            raise
        record.did["was cut off with far too large a body"] += 1
        return
    name = response.headers.get("x-request-id")
    if response.status_code == 200:
        _read_speech(target, response, answer, f"{path} {request_id}", sound)
        record.saw(Ended(name, "complete"))
        record.nameless_ended += name not in record.sent
    else:
        code = _read_error(response, answer)
        record.saw(Ended(name, "error", code))
        record.nameless_ended += name not in record.sent


def _read_speech(target: Target, response: httpx.Response, answer: bytes, who: str, sound: Hashable) -> None:
    if not response.headers["content-type"].startswith("text/event-stream"):
        audio = answer
    else:
        decoder = SseDecoder()
        events = decoder.feed(answer)
        kinds = [event["type"] for event in events]
        if kinds[-1] not in ("audio_stream_end", "speech.audio.done"):
            raise Violation(f"{who}: the events end with {events[-1]}")
        chunks = [event.get("data") or event.get("audio") for event in events]
        audio = b"".join(base64.b64decode(chunk) for chunk in chunks if chunk)
    if not audio:
        raise Violation(f"{who}: a good answer without audio")
    if sound is not None:
        target.record.heard(sound, audio, who)


def _read_error(response: httpx.Response, answer: bytes) -> str:
    try:
        error = json.loads(answer)["error"]
        code, message = error["code"], error["message"]
    except (ValueError, KeyError, TypeError) as fault:
        raise Violation(f"{response.status_code} with a body that is no error: {answer[:200]!r}") from fault
    if code not in REFUSALS | _MALFORMED or ErrorCode(code).http_status != response.status_code or not message:
        raise Violation(f"{response.status_code} with {answer[:200]!r}")
    return str(code)
