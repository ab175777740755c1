"""`python -m tests.infrastructure.agent_plane ARN DIR`: a deployed agent's data plane, on loopback.

The real agent and the real container on the local cloud, behind an AgentCore plane that knows the runtime by the ARN
it was deployed under, with the stand-in account's keys. The first line of standard output is JSON: `url`. Ends with
SIGTERM.
"""

import asyncio
import contextlib
import json
import signal
import sys
from pathlib import Path

from local_cloud.agentcore import AgentCore
from local_cloud.script_model import ScriptModel
from local_cloud.signatures import Credentials
from local_cloud.stack import LocalStack, StackSettings

from tests.fake_aws.harness import KEYS, REGION

ANSWER = "Hello there. It has two sentences."


async def serve(arn: str, directory: Path) -> None:
    """Until SIGTERM."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    settings = StackSettings(model=ScriptModel(ANSWER, 200.0), engine="tone", logs=directory)
    async with LocalStack(settings, lambda _what: contextlib.nullcontext()) as stack:
        assert stack.agent is not None
        plane = AgentCore({arn: stack.agent.url}, credentials=Credentials(*KEYS.values()), region=REGION)
        async with plane:
            print(json.dumps({"url": plane.url}), flush=True)  # noqa: T201 - read by who started this
            await stop.wait()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], Path(sys.argv[2])))
