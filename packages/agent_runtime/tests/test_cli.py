"""The command as a process, against a scripted Bedrock and a scripted voice on a real WebSocket."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
import urllib.request
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from speech_protocol import SseDecoder
from websockets.asyncio.server import serve

from packages.agent_runtime.tests.scripted_bedrock import Script, ScriptedBedrock
from packages.agent_runtime.tests.scripted_voice import ScriptedVoice

START_S = 60  # importing Strands and boto3 on a busy machine

COMMAND = Path(sys.executable).with_name("agent-runtime")


async def start(*arguments: str, **environment: str) -> Process:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "SPEECH_", "AGENT_"))}
    keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
    return await asyncio.create_subprocess_exec(
        COMMAND, *arguments, stdout=PIPE, stderr=PIPE, env=clean | keys | environment
    )


async def finish(process: Process) -> tuple[int, str, str]:
    async with asyncio.timeout(START_S):
        out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


@contextlib.asynccontextmanager
async def agent(bedrock: ScriptedBedrock, voice: ScriptedVoice) -> AsyncIterator[tuple[Process, str]]:
    """The agent as a process, and its address."""
    async with serve(voice.serve_socket, "127.0.0.1", 0) as server:
        process = await start(
            "serve",
            "--port",
            "0",
            AWS_REGION="us-east-1",
            BEDROCK_MODEL_ID="amazon.test-model-v1:0",
            AWS_ENDPOINT_URL_BEDROCK_RUNTIME=bedrock.url,
            SPEECH_WEBSOCKET_URL=f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}",
        )
        try:
            assert process.stdout is not None
            async with asyncio.timeout(START_S):
                line = (await process.stdout.readline()).decode()
            assert line.startswith("agent-runtime: listening on http://127.0.0.1:")
            yield process, line.split()[-1]
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


def post(url: str, payload: dict[str, Any]) -> list[dict[str, Any]]:
    request = urllib.request.Request(url + "/invocations", json.dumps(payload).encode())
    with urllib.request.urlopen(request, timeout=START_S) as response:
        return SseDecoder().feed(response.read())


async def test_the_command_answers_and_stops_when_told_to(bedrock: ScriptedBedrock) -> None:
    bedrock.scripts = [Script(["The sky is blue. ", "A secret."])]
    voice = ScriptedVoice()
    async with agent(bedrock, voice) as (process, url):
        events = await asyncio.to_thread(post, url, {"prompt": "A secret question"})
        process.send_signal(signal.SIGTERM)
        code, out, err = await finish(process)
    assert voice.texts == ["The sky is blue.", "A secret."]
    assert (events[0]["type"], events[-1]["type"]) == ("agent_start", "agent_end")
    assert (code, out) == (0, "")
    records = [json.loads(line) for line in err.splitlines()]
    assert [(record["message"], record["request_id"]) for record in records] == [
        ("turn began", events[0]["request_id"]),
        ("turn ended", events[0]["request_id"]),
    ]
    assert "secret" not in err


async def test_a_caller_of_the_command_that_hangs_up_is_seen_everywhere(bedrock: ScriptedBedrock) -> None:
    bedrock.scripts = [Script(["The sky is blue. And", asyncio.Event()])]
    voice = ScriptedVoice(hold={"The sky is blue.": asyncio.Event()})
    async with agent(bedrock, voice) as (process, url):
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rsplit(":", 1)[1]))
        body = b'{"prompt": "Why?"}'
        writer.write(b"POST /invocations HTTP/1.0\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
        async with asyncio.timeout(START_S):
            await reader.readuntil(b"audio_chunk")
        writer.transport.abort()
        await bedrock.until(lambda server: server.hang_ups == 1 and server.active == 0)
        voice.hold["The sky is blue."].set()
        async with asyncio.timeout(START_S):
            await voice.closed.wait()
        process.send_signal(signal.SIGINT)
        code, _, err = await finish(process)
    assert code == 0
    assert [json.loads(line)["level"] for line in err.splitlines()] == ["info", "info"]


async def test_a_port_in_use_is_one_line_and_a_failure() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = await start(
            "serve",
            "--port",
            str(port),
            AWS_REGION="us-east-1",
            BEDROCK_MODEL_ID="m",
            SPEECH_WEBSOCKET_URL="ws://127.0.0.1:9",
        )
        code, out, err = await finish(process)
    assert (code, out) == (2, "")
    assert err.startswith(f"agent-runtime: cannot listen on 127.0.0.1 port {port}: another program uses it")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({}, "neither is set"),
        ({"SPEECH_ENDPOINT_NAME": "kokoro"}, "AWS_REGION is not set"),
        (
            {"SPEECH_ENDPOINT_NAME": "not a name", "AWS_REGION": "us-east-1", "BEDROCK_MODEL_ID": "m"},
            "the way to the voice cannot be set up",
        ),
    ],
)
async def test_a_bad_setting_is_one_line_and_a_failure(environment: dict[str, str], words: str) -> None:
    code, out, err = await finish(await start("serve", "--port", "0", **environment))
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


async def test_help_teaches() -> None:
    code, out, _ = await finish(await start("serve", "--help"))
    assert code == 0
    assert "curl -N" in out
