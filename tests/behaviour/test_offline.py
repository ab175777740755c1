"""A server needs nobody: it starts from a directory that it only reads, and no socket of its own is but the listener's.

The hook sees what Python does. That nothing below Python asks for the network either is shown by `make test-images`,
where the container has none.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

import httpx
import pytest
from kokoro_weights import prepare

from tests.damaged_weights import DAMAGES, damaged_copy

pytestmark = [pytest.mark.weights, pytest.mark.slow]

GUARDED = """
import os
import sys

weights = sys.argv.pop()
bound = []
ASKS = {"socket.connect", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname"}
CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.link", "os.symlink"}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
PROBE = ("::1", 0)  # urllib3, when it is imported: is there IPv6?


def guard(event, arguments):
    if event == "socket.bind" and arguments[1] != PROBE:
        bound.append(arguments[1])
    refused = event in ASKS or len(bound) > 1
    if event == "open" or event in CHANGES:
        writes = event in CHANGES or (arguments[2] or 0) & WRITING
        refused = writes and str(arguments[0]).startswith(weights)
    if refused:
        os.write(2, f"GUARD {event} {arguments}".encode())
        os._exit(70)


sys.addaudithook(guard)
from speech_container.entry import main

main()
"""


async def started(weights: Path, *options: str) -> tuple[asyncio.subprocess.Process, str]:
    """A guarded server that listens, and where."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", GUARDED, "serve", "--port", "0", "--weights", str(weights), *options, str(weights)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=os.environ | {"HF_HUB_OFFLINE": "1"},
    )
    assert process.stdout is not None
    line = await asyncio.wait_for(process.stdout.readline(), 60)
    return process, line.decode().split()[-1]


async def ended(process: asyncio.subprocess.Process) -> tuple[int | None, str]:
    """Its exit code and what it has said on stderr."""
    _, said = await asyncio.wait_for(process.communicate(), 60)
    return process.returncode, said.decode()


@pytest.mark.timeout(180)
async def test_it_speaks_without_any_socket_but_its_listener_and_writes_nothing() -> None:
    process, url = await started(prepare("packages").path)
    try:
        assert process.stdout is not None
        ready = await asyncio.wait_for(process.stdout.readline(), 120)
        assert b"ready" in ready, (await ended(process))[1]
        async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=60) as http:
            reply = await http.post("/invocations", json={"text": "Hello there, Xyloquant.", "format": "pcm"})
        process.terminate()
        code, said = await ended(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert (reply.status_code, code) == (200, 0)
    assert len(reply.content) > 48_000
    assert "GUARD" not in said


@pytest.fixture(scope="module")
def whole() -> Path:
    """Weights with every kind of model."""
    return prepare("packages", safetensors=True).path


@pytest.mark.parametrize("name", DAMAGES)
async def test_damaged_weights_are_refused_by_name_and_never_healthy(name: str, whole: Path, tmp_path: Path) -> None:
    damage = DAMAGES[name]
    weights = damaged_copy(whole, damage, tmp_path / "weights")
    before = sorted(weights.rglob("*"))
    process, url = await started(weights, "--stay-up")
    try:
        async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=20) as http:
            while (ping := await http.get("/ping")).json() == {"status": "loading"}:
                assert ping.status_code == 503
            refused = await http.post("/invocations", json={"text": "Hello there."})
        process.terminate()
        code, said = await ended(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert (ping.status_code, ping.json()) == (503, {"status": "failed", "code": damage.code})
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "shutting_down")
    *lines, last = said.splitlines()
    (line,) = [told for told in map(json.loads, lines) if told["level"] == "error"]
    assert line["code"] == damage.code
    assert damage.file in line["message"]
    assert (code, last) == (1, f"speech-container: {line['message'].removeprefix('not ready: ')}")
    assert sorted(weights.rglob("*")) == before


async def test_on_a_laptop_damaged_weights_end_it_at_once(whole: Path, tmp_path: Path) -> None:
    weights = damaged_copy(whole, DAMAGES["a swapped voice"], tmp_path / "weights")
    process, _ = await started(weights)
    code, said = await ended(process)
    assert code == 1
    assert "voices/af_heart.bin" in said.splitlines()[-1]
