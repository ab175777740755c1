"""The agent's image as it runs: hardened, between the local Bedrock, the gateway and a speech container.

The same question over both of its faces gives the same audio; what passes on the wire is counted and printed.
"""

import asyncio
import contextlib
import dataclasses
import json
import shutil
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from local_cloud.agentcore import AgentCore
from local_cloud.answer import Answer
from local_cloud.bedrock import Bedrock
from local_cloud.caller import AgentCaller
from local_cloud.script_model import ScriptModel
from local_cloud.stack import ENDPOINT_NAME, REGION, RUNTIME_ARN, LocalStack, StackSettings
from websockets.asyncio.client import connect

from tests.images.agent_container import CA, AgentContainer, running_agent
from tests.images.conftest import ARTEFACTS, Image
from tests.wire_tap import WireTap, tapped

pytestmark = pytest.mark.images
in_one_loop = pytest.mark.asyncio(loop_scope="module")

ANSWER = "Hello there. This is a streamed answer, not a prepared recording. It has three sentences."
QUESTION = {"prompt": "What is this?", "mode": "bidi"}
BESIDE_AUDIO_BYTES = 12_000  # events as text, and the heads of HTTP and frames


@dataclasses.dataclass(frozen=True)
class Deployed:
    """The container, and who calls it through the AgentCore plane."""

    container: AgentContainer
    caller: AgentCaller


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def deployed(agent_image: Image, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Deployed]:
    """Everything around the agent as `voice-local` has it, with beeps for a voice, and the agent from its image."""
    directory = tmp_path_factory.mktemp("agent")
    async with LocalStack(StackSettings(engine="tone", logs=directory), _quietly) as stack:
        bedrock = Bedrock(ScriptModel(ANSWER, 400.0), credentials=stack.credentials, region=REGION)
        authority = directory / "authority.pem"
        shutil.copy(stack.ca_file, authority)
        authority.chmod(0o644)
        async with bedrock:
            environment = {
                "AWS_REGION": REGION,
                "AWS_ACCESS_KEY_ID": stack.credentials.access_key_id,
                "AWS_SECRET_ACCESS_KEY": stack.credentials.secret_access_key,
                "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": bedrock.url,
                "AGENT_TOOLS": "none",
                "BEDROCK_MODEL_ID": "local.model-v1:0",
                "SPEECH_ENDPOINT_NAME": ENDPOINT_NAME,
                "SPEECH_ENDPOINT_URI": stack.bidirectional.url,
                "SPEECH_CA_FILE": CA,
            }
            with running_agent(agent_image, environment, authority=authority) as container:
                start = {"start_to_ping_200_s": round(await asyncio.to_thread(container.ready), 2)}
                ARTEFACTS.mkdir(parents=True, exist_ok=True)
                (ARTEFACTS / "start-agent.json").write_text(json.dumps(start) + "\n")
                plane = AgentCore({RUNTIME_ARN: container.url}, credentials=stack.credentials, region=REGION)
                async with plane:
                    keys = (stack.credentials.access_key_id, stack.credentials.secret_access_key)
                    yield Deployed(container, AgentCaller(RUNTIME_ARN, REGION, plane.url, *keys))


def _quietly(_what: str) -> contextlib.AbstractContextManager[None]:
    return contextlib.nullcontext()


async def by_events(deployed: Deployed, audio_format: str) -> tuple[Answer, WireTap]:
    """Over boto3's `invoke_agent_runtime`."""
    assert deployed.caller.endpoint_url is not None
    async with tapped(deployed.caller.endpoint_url) as tap:
        caller = dataclasses.replace(deployed.caller, endpoint_url=tap.url)
        return await caller.ask(QUESTION["prompt"], mode="bidi", audio_format=audio_format), tap


async def by_socket(deployed: Deployed, audio_format: str) -> tuple[bytes, str, WireTap]:
    """Over `/ws`, with a client that knows nothing of us."""
    audio, text = bytearray(), ""
    async with (
        tapped(deployed.container.url) as tap,
        connect(tap.url.replace("http", "ws") + "/ws", compression=None, proxy=None) as socket,
    ):
        await socket.send(json.dumps(QUESTION | {"format": audio_format}))
        async for frame in socket:
            if isinstance(frame, bytes):
                audio += frame
                continue
            event: dict[str, Any] = json.loads(frame)
            assert event["type"] != "error", event
            text += event.get("text", "") if event["type"] == "text_delta" else ""
            if event["type"] == "agent_end":
                break
    return bytes(audio), text, tap


@in_one_loop
@pytest.mark.parametrize("audio_format", ["pcm", "mp3", "aac"])
async def test_both_faces_of_the_image_give_the_same_audio_and_one_of_them_without_base64(
    deployed: Deployed, audio_format: str, capsys: pytest.CaptureFixture[str]
) -> None:
    answer, sse = await by_events(deployed, audio_format)
    audio, text, ws = await by_socket(deployed, audio_format)
    size = len(audio)
    with capsys.disabled():
        sys.stdout.write(
            f"\n{audio_format}: {size:,} bytes of audio; on the wire {sse.down_bytes:,} as server-sent events "
            f"({sse.down_bytes / size:.2f}), {ws.down_bytes:,} on the WebSocket ({ws.down_bytes / size:.2f})\n"
        )
    assert answer.audio == audio
    assert answer.text == text == ANSWER
    assert sse.down_bytes > size * 4 / 3
    assert size <= ws.down_bytes < size + BESIDE_AUDIO_BYTES


@in_one_loop
async def test_without_an_exporter_it_starts_as_itself(deployed: Deployed) -> None:
    processes = await asyncio.to_thread(lambda: deployed.container.processes)
    assert "agent-runtime serve" in processes
    log = await asyncio.to_thread(lambda: deployed.container.log)
    assert "opentelemetry" not in log.lower()
    assert '"level": "error"' not in log


def test_with_an_exporter_it_starts_under_the_instrumentation_and_exports_what_it_did(agent_image: Image) -> None:
    environment = {
        "AWS_REGION": REGION,
        "BEDROCK_MODEL_ID": "local.model-v1:0",
        "SPEECH_WEBSOCKET_URL": "ws://127.0.0.1:9/",
        "OTEL_TRACES_EXPORTER": "console",
        "OTEL_METRICS_EXPORTER": "none",
        "OTEL_LOGS_EXPORTER": "none",
    }
    with running_agent(agent_image, environment) as container:
        container.ready()
        variables = container.engine.run("exec", container.id, "cat", "/proc/1/environ")
        assert "auto_instrumentation" in variables
        container.engine.run("stop", "--time", "20", container.id)
        assert container.state["ExitCode"] == 0
        assert '"trace_id"' in container.log, "the pings that were answered are spans"


async def test_sigterm_ends_it_with_0(agent_image: Image) -> None:
    environment = {
        "AWS_REGION": REGION,
        "BEDROCK_MODEL_ID": "local.model-v1:0",
        "SPEECH_WEBSOCKET_URL": "ws://127.0.0.1:9/",
    }
    with running_agent(agent_image, environment) as container:
        await asyncio.to_thread(container.ready)
        await asyncio.to_thread(container.engine.run, "stop", "--time", "20", container.id)
        assert (container.state["ExitCode"], container.state["OOMKilled"]) == (0, False)
