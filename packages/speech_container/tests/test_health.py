"""The image's health check agrees with /ping."""

import asyncio
import signal
import subprocess
import sys
from typing import Any

import pytest
from speech_container.health import status
from speech_container.server import bind


def check(port: int, host: str = "127.0.0.1") -> "subprocess.CompletedProcess[str]":
    """The check as an image runs it."""
    return subprocess.run(
        [sys.executable, "-m", "speech_container.health"],
        env={"SPEECH_HOST": host, "SAGEMAKER_BIND_TO_PORT": str(port)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def port_of(running: Any) -> int:
    return int(running.url.rpartition(":")[2])


def test_nobody_there_is_unhealthy_and_says_where() -> None:
    with bind("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
    done = check(port)
    assert done.returncode == 1
    assert done.stdout == f"/ping at port {port} of 127.0.0.1: expected 200, nobody answers\n"


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
async def test_a_server_that_is_ready_is_healthy(host: str, start: Any) -> None:
    running = await start()
    done = await asyncio.to_thread(check, port_of(running), host)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


async def test_a_server_that_drains_is_unhealthy(start: Any) -> None:
    running = await start()
    async with running.session() as socket:
        running.engine.hold()
        await socket.send(text="One.")
        await running.engine.busy()
        running.server.handle_exit(signal.SIGTERM, None)
        assert await asyncio.to_thread(status, "127.0.0.1", port_of(running)) == 503
        running.engine.release()
        await socket.answer()
