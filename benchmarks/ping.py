"""How long `/ping` takes while the engine is busy with somebody's text all the time (SageMaker gives it 2 s).

    uv run python -m benchmarks.ping [--engine onnx] [--pings 500] [--listeners 2]

The client and the server share the machine's cores with the engine, so this is the worst case of a small machine.
"""

import argparse
import asyncio
import json
import os
import re
import statistics
import sys
import time
from pathlib import Path

import httpx
from websockets.asyncio.client import connect

TEXT = "This is one sentence of a long text, which goes on and on and on until nobody listens any more. " * 20
INTERVAL_S = 0.02
LIMIT_MS = 100


async def measure(engine: str, pings: int, listeners: int) -> list[float]:
    """Milliseconds of each of `pings` answers."""
    command = str(Path(sys.executable).with_name("speech-container"))
    server = await asyncio.create_subprocess_exec(
        *(command, "serve", "--engine", engine, "--port", "0"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        assert server.stdout is not None
        listening = re.search(rb"http://\S+", await server.stdout.readline())
        if listening is None or b"ready" not in await server.stdout.readline():
            raise SystemExit("the server did not get ready; run `speech-container serve` to see why")
        url = listening[0].decode()
        talking = [asyncio.create_task(keep_busy(url.replace("http", "ws", 1))) for _ in range(listeners)]
        took_ms = []
        async with httpx.AsyncClient(base_url=url, trust_env=False) as http:
            for _ in range(pings):
                await asyncio.sleep(INTERVAL_S)  # so that the pings fall anywhere in the engine's steps
                began_s = time.perf_counter()
                (await http.get("/ping")).raise_for_status()
                took_ms.append((time.perf_counter() - began_s) * 1000)
        for task in talking:
            if task.done():
                task.result()
            task.cancel()
        await asyncio.gather(*talking, return_exceptions=True)
        return took_ms
    finally:
        server.terminate()
        await server.wait()


async def keep_busy(url: str) -> None:
    """One listener who always has more to hear, and does not let the server wait for real time to pass."""
    while True:
        async with connect(f"{url}/invocations-bidirectional-stream", max_size=None, proxy=None) as socket:
            await socket.send(json.dumps({"text": TEXT}))
            heard = 0
            async for frame in socket:
                heard += len(frame) if isinstance(frame, bytes) else 0
                if heard > 8 * 48_000:  # the look-ahead's 10 s are near: begin anew, as somebody else
                    break


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", default="onnx")
    parser.add_argument("--pings", type=int, default=500)
    parser.add_argument("--listeners", type=int, default=2)
    arguments = parser.parse_args()
    took_ms = sorted(asyncio.run(measure(arguments.engine, arguments.pings, arguments.listeners)))
    percent = statistics.quantiles(took_ms, n=100)
    over = sum(each > LIMIT_MS for each in took_ms)
    print(
        f"/ping while {arguments.engine} is busy, {len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f}: "
        f"median {percent[49]:.1f}, p90 {percent[89]:.1f}, p99 {percent[98]:.1f}, most {took_ms[-1]:.1f} ms; "
        f"{over} of {len(took_ms)} over {LIMIT_MS} ms"
    )


if __name__ == "__main__":
    main()
