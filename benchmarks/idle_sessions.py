"""What a thousand sessions that say nothing cost a server in memory.

    uv run python -m benchmarks.idle_sessions [--sessions 1000] [--engine tone]

A server in a process of its own, and its resident memory: empty; with the sessions open; and once each of them has
heard a sentence and is silent again. The first sessions of a process also pay for what is loaded and grown only once,
so a few come and go before "empty". Fails past 60 MB for 1,000 open sessions.
"""

import argparse
import asyncio
import json
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final

from speech_container.limits import allow_descriptors
from websockets.asyncio.client import ClientConnection, connect

from tests.load.server import LoadedServer
from tests.load.target import SESSION_PATH

LIMIT_BYTES: Final = 60_000_000
"""For 1,000 sessions."""
WARM_UP_SESSIONS: Final = 20
SETTLE_S: Final = 2.0
_OWN_DESCRIPTORS: Final = 100
_AT_ONCE: Final = 50


@dataclass(frozen=True, slots=True)
class Costs:
    """Resident bytes of the whole server."""

    sessions: int
    empty: int
    opened: int
    spoken: int

    @property
    def idle(self) -> int:
        """What the open sessions have added."""
        return self.opened - self.empty

    @property
    def used(self) -> int:
        """What they have added once each has heard a sentence."""
        return self.spoken - self.empty


async def measure(sessions: int = 1000, engine: str = "tone", say: Callable[[str], None] = lambda _: None) -> Costs:
    """Start a server, open so many sessions, and look."""
    allow_descriptors(sessions + _OWN_DESCRIPTORS)
    settings = {"max_sessions": sessions + WARM_UP_SESSIONS, "max_requests_per_minute": 1_000_000}
    async with LoadedServer(engine, settings) as server:
        url = server.url.replace("http", "ws", 1) + SESSION_PATH
        async with AsyncExitStack() as warm_up:
            for client in await _open(warm_up, url, WARM_UP_SESSIONS):
                await _speak(client)
        empty = await _resident(server)
        say(f"empty      {_mega(empty)}")
        async with AsyncExitStack() as open_sessions:
            clients = await _open(open_sessions, url, sessions)
            opened = await _resident(server)
            say(f"opened     {_mega(opened)}  {(opened - empty) / sessions / 1000:6.1f} kB a session")
            for start in range(0, sessions, _AT_ONCE):
                await asyncio.gather(*map(_speak, clients[start : start + _AT_ONCE]))
            spoken = await _resident(server)
            say(f"has spoken {_mega(spoken)}  {(spoken - empty) / sessions / 1000:6.1f} kB a session")
    if server.log.problems:
        raise SystemExit(f"the server complained: {server.log.problems[0]}")
    return Costs(sessions, empty, opened, spoken)


async def _open(stack: AsyncExitStack, url: str, count: int) -> list[ClientConnection]:
    clients: list[ClientConnection] = []
    while len(clients) < count:
        batch = [
            connect(url, max_size=None, compression=None, ping_interval=None, proxy=None, open_timeout=120)
            for _ in range(min(_AT_ONCE, count - len(clients)))
        ]
        clients += await asyncio.gather(*map(stack.enter_async_context, batch))
    return clients


async def _speak(client: ClientConnection) -> None:
    await client.send(json.dumps({"text": "Hello there."}))
    async for frame in client:
        if isinstance(frame, str) and json.loads(frame)["type"] == "synthesis_complete":
            return
    raise SystemExit(f"a session was closed: {client.close_code} {client.close_reason}")


async def _resident(server: LoadedServer) -> int:
    """Once what was begun has been finished and freed: after a while, for a server has no other sign of it."""
    await asyncio.sleep(SETTLE_S)
    return server.footprint().resident_bytes


def _mega(count: int) -> str:
    return f"{count / 1e6:8.1f} MB"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=1000)
    parser.add_argument("--engine", default="tone")
    arguments = parser.parse_args()
    costs = asyncio.run(measure(arguments.sessions, arguments.engine, say=lambda line: print(line, flush=True)))
    print(f"{costs.sessions} idle sessions add {_mega(costs.idle).strip()}")
    if costs.idle > LIMIT_BYTES * costs.sessions / 1000:
        raise SystemExit(f"that is more than {_mega(LIMIT_BYTES).strip()} for 1,000")


if __name__ == "__main__":
    main()
