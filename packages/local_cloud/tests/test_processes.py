"""Services in processes of their own: they start, say where they are, and never outlive us."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import psutil
import pytest
from local_cloud.errors import ServiceFailed
from local_cloud.processes import ServiceProcess

LISTENS = """
import signal, sys, time
print("toy: listening on http://127.0.0.1:4242", flush=True)
signal.pause()
"""
IGNORES_SIGTERM = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + LISTENS
CHATTERS = """
print("toy: listening on http://127.0.0.1:4242", flush=True)
for _ in range(100_000):
    print("x" * 80)
"""
PARENT = """
import asyncio, os, signal, sys
from pathlib import Path
from local_cloud.processes import ServiceProcess

async def main():
    command = [sys.executable, "-c", {listens!r}]
    async with ServiceProcess("toy", command, environment={{}}, log_file=Path({log!r})) as service:
        print(service.pid, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


def service(tmp_path: Path, code: str, *, start_s: float = 30) -> ServiceProcess:
    command = [sys.executable, "-c", code]
    return ServiceProcess("toy", command, environment={"TOY": "1"}, log_file=tmp_path / "toy.log", start_s=start_s)


def family(pid: int) -> list[psutil.Process]:
    tether = psutil.Process(pid)
    return [tether, *tether.children(recursive=True)]


def gone(processes: list[psutil.Process]) -> bool:
    _, alive = psutil.wait_procs(processes, timeout=60)
    return not alive


async def test_a_service_is_there_when_it_says_so_and_gone_afterwards(tmp_path: Path) -> None:
    async with service(tmp_path, LISTENS) as toy:
        assert toy.url == "http://127.0.0.1:4242"
        processes = family(toy.pid)
        assert len(processes) == 2
    assert gone(processes)


async def test_a_killed_parent_leaves_no_service_behind(tmp_path: Path) -> None:
    code = PARENT.format(listens=LISTENS, log=str(tmp_path / "toy.log"))
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE)
    assert parent.stdout is not None
    tether_pid = int(await parent.stdout.readline())
    try:
        processes = family(tether_pid)
    except psutil.NoSuchProcess:
        processes = []  # already gone, which is what is wanted
    assert await parent.wait() == -signal.SIGKILL
    assert await asyncio.to_thread(gone, processes)


async def test_a_service_that_fails_gives_its_last_words(tmp_path: Path) -> None:
    code = "import sys; print('first', file=sys.stderr); sys.exit('toy: the port is taken')"
    with pytest.raises(ServiceFailed, match="toy did not start: the port is taken"):
        async with service(tmp_path, code):
            pytest.fail("it is not running")


async def test_a_service_that_ends_silently_is_reported_with_its_exit_code(tmp_path: Path) -> None:
    with pytest.raises(ServiceFailed, match="exit code 7"):
        async with service(tmp_path, "raise SystemExit(7)"):
            pytest.fail("it is not running")


async def test_a_service_that_never_listens_is_given_up_and_ended(tmp_path: Path) -> None:
    toy = service(tmp_path, "import signal; signal.pause()", start_s=0.2)
    with pytest.raises(ServiceFailed, match=r"did not listen within 0\.2 s"):
        await toy.__aenter__()
    assert not psutil.pid_exists(toy.pid) or gone([psutil.Process(toy.pid)])


async def test_a_chatty_service_is_not_stopped_by_a_full_pipe(tmp_path: Path) -> None:
    async with service(tmp_path, CHATTERS) as toy:
        assert await toy.wait() == 0


async def test_cancelling_the_wait_for_a_stubborn_service_kills_it(tmp_path: Path) -> None:
    toy = service(tmp_path, IGNORES_SIGTERM)
    await toy.__aenter__()
    processes = family(toy.pid)
    stopping = asyncio.create_task(toy.__aexit__(None, None, None))
    await asyncio.sleep(0)
    stopping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stopping
    assert await asyncio.to_thread(gone, processes)


def test_a_service_that_was_not_started_has_no_pid(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="enter it as a context manager first"):
        _ = service(tmp_path, LISTENS).pid
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - nothing was written either
