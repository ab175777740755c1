"""A caller that hangs up, 500 times: what it had asked for ends within a second, and nothing of it stays."""

import asyncio
import json
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import psutil
import pytest
import pytest_asyncio
from local_cloud.script_model import ScriptModel
from local_cloud.socket_caller import SocketCaller
from local_cloud.stack import LocalStack

from tests.conftest import start

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.load,
    pytest.mark.weights,
    pytest.mark.timeout(1200),
]

TIMES = 500
SETTLED = 50  # from here on, pools and caches are as large as they get
ENDS_WITHIN_S = 1.0
TOKENS_A_SECOND = 200.0  # a first sentence soon, and an answer that goes on for ten seconds
ANSWER = "The kettle is on. " + "It will take a minute or two, and then the tea is ready. " * 150
RESIDENT_SLACK_BYTES = 24 * 1024 * 1024
# Python's pool counts its idle threads too late, and so grows to its bound: two for each of 64 turns.
MOST_THREADS = 2 * 64 + 8


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stack(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LocalStack]:
    async with start(tmp_path_factory.mktemp("logs"), "tone", ScriptModel(ANSWER, TOKENS_A_SECOND)) as running:
        yield running


def agent_process(stack: LocalStack) -> psutil.Process:
    """The agent itself, below the tether that ends it."""
    assert stack.agent is not None
    (agent,) = psutil.Process(stack.agent.pid).children()
    return agent


def log_of(stack: LocalStack) -> str:
    assert stack.agent is not None
    return stack.agent.log_file.read_text(encoding="utf-8")


async def hang_up_on_events(stack: LocalStack) -> None:
    """At the first audio, without a word."""
    assert stack.agent is not None
    address = urlsplit(stack.agent.url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    body = json.dumps({"prompt": "Tea?"}).encode()
    writer.write(b"POST /invocations HTTP/1.0\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
    while b"audio_chunk" not in await reader.read(65_536):
        assert not reader.at_eof()
    writer.transport.abort()


async def hang_up_on_the_socket(stack: LocalStack) -> None:
    heard = asyncio.Event()
    async with SocketCaller.connect(stack.caller()) as socket:
        asking = asyncio.create_task(
            socket.ask("Tea?", mode="bidi", on_event=lambda event: heard.set() if "bytes" in event else None)
        )
        await heard.wait()
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        socket.drop()


async def until_all_has_ended(stack: LocalStack) -> float:
    """Seconds until the model writes no more, no speech session is open, and the agent says that it is idle."""
    assert stack.bedrock is not None
    began_s = asyncio.get_running_loop().time()
    async with asyncio.timeout(30):
        while stack.bedrock.active or stack.bidirectional.active:  # noqa: ASYNC110 - they tell nobody
            await asyncio.sleep(0.001)
        while await status(stack) != "Healthy":
            pass
    return asyncio.get_running_loop().time() - began_s


async def status(stack: LocalStack) -> str:
    assert stack.agent is not None
    address = urlsplit(stack.agent.url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    writer.write(b"GET /ping HTTP/1.0\r\n\r\n")
    answer = await reader.read()
    writer.close()
    return str(json.loads(answer.split(b"\r\n\r\n", 1)[1])["status"])


async def test_nothing_of_500_callers_who_hung_up_stays(stack: LocalStack) -> None:
    agent = agent_process(stack)
    took_s: list[float] = []
    before = (0, 0)
    for number in range(TIMES):
        await (hang_up_on_the_socket if number % 2 else hang_up_on_events)(stack)
        took_s.append(await until_all_has_ended(stack))
        if number == SETTLED:
            before = (agent.num_fds(), agent.memory_info().rss)
    open_files, resident_bytes = before
    assert agent.num_fds() <= open_files + 2
    assert agent.num_threads() <= MOST_THREADS
    assert agent.memory_info().rss - resident_bytes < RESIDENT_SLACK_BYTES
    log = log_of(stack)
    assert '"level": "error"' not in log
    assert log.count('"outcome": "caller went away"') == TIMES
    assert max(took_s) <= ENDS_WITHIN_S
