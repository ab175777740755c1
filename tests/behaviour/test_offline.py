"""A server needs nobody: it starts from a directory that it only reads, and no socket of its own is but the listener's.

The hook sees what Python does. That nothing below Python asks for the network either is shown by `make test-images`,
where the container has none.
"""

import asyncio
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from kokoro_weights import prepare

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


async def started(weights: Path) -> tuple[asyncio.subprocess.Process, str]:
    """A guarded server that listens, and where."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", GUARDED, "serve", "--port", "0", "--weights", str(weights), str(weights)),
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


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.unlink()
    path.write_bytes(content)


def swap(path: Path) -> None:
    other = path.with_name("am_adam.bin").read_bytes()
    path.unlink()
    path.write_bytes(other)


def cut(path: Path) -> None:
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content[:-1])


def rename_the_voice(path: Path) -> None:
    content = path.read_text()
    path.unlink()
    path.write_text(content.replace("voices/af_heart.bin", "voices/af_hurt.bin"))


DAMAGES: dict[str, tuple[str, Callable[[Path], object]]] = {
    "a flipped bit": ("model.int8.onnx", flip),
    "a truncated model": ("model.int8.onnx", cut),
    "a swapped voice": ("voices/af_heart.bin", swap),
    "a missing voice": ("voices/af_heart.bin", Path.unlink),
    "an edited manifest": ("manifest.json", rename_the_voice),
    "no manifest": ("manifest.json", Path.unlink),
}


@pytest.mark.parametrize("damage", DAMAGES)
async def test_damaged_weights_are_refused_by_name_and_never_healthy(damage: str, tmp_path: Path) -> None:
    copy = tmp_path / "weights"
    shutil.copytree(prepare("packages").path, copy, copy_function=os.link)
    file, break_it = DAMAGES[damage]
    break_it(copy / file)
    before = sorted(copy.rglob("*"))
    process, url = await started(copy)
    seen = set()
    async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=20) as http:
        while process.returncode is None:
            try:
                seen.add((await http.get("/ping")).status_code)
            except httpx.TransportError:
                break  # it ends
    code, said = await ended(process)
    assert seen <= {503}
    assert code == 1
    assert file in said.splitlines()[-1]
    assert "GUARD" not in said
    assert sorted(copy.rglob("*")) == before
