"""`python -m tests.infrastructure.gateway ENDPOINT ENGINE DIR`: a deployed endpoint's data plane, on loopback.

SageMaker's bidirectional face as the local cloud has it, under the endpoint's own name and the stand-in account's keys,
with the real speech server behind it, or whichever runs at `VOICE_TEST_SPEECH_URL`. The first line of standard output
is JSON: `url` and `ca`. Ends with SIGTERM.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
from local_cloud.certificates import create_certificates
from local_cloud.processes import ServiceProcess
from local_cloud.sagemaker_bidirectional import BidirectionalSettings, SageMakerBidirectional
from local_cloud.signatures import Credentials

from tests.fake_aws.harness import KEYS, REGION

READY_S = 120


async def serve(endpoint: str, engine: str, directory: Path) -> None:
    """Until SIGTERM."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    certificates = create_certificates(directory / "certificates")
    async with _speech(engine, directory) as url:
        await _ready(url)
        plane = SageMakerBidirectional(
            {endpoint: url},
            credentials=Credentials(*KEYS.values()),
            certificates=certificates,
            region=REGION,
            settings=BidirectionalSettings(accept_timeout_s=2.0),  # not 0.25: the tests share two cores with it
        )
        async with plane:
            print(json.dumps({"url": plane.url, "ca": str(certificates.ca)}), flush=True)  # noqa: T201 - read by who started this
            await stop.wait()


@contextlib.asynccontextmanager
async def _speech(engine: str, directory: Path) -> AsyncIterator[str]:
    """Where a speech server is."""
    running = os.environ.get("VOICE_TEST_SPEECH_URL")
    if running:
        yield running
        return
    script = str(Path(sys.executable).with_name("speech-container"))
    command = [script, "serve", "--host", "127.0.0.1", "--port", "0", "--engine", engine]
    log = directory / "speech-container.log"
    async with ServiceProcess("speech-container", command, environment={}, log_file=log) as speech:
        yield speech.url


async def _ready(url: str) -> None:
    async with asyncio.timeout(READY_S), httpx.AsyncClient(trust_env=False) as client:
        while True:
            with contextlib.suppress(httpx.TransportError):
                if (await client.get(f"{url}/ping")).status_code == httpx.codes.OK:
                    return
            await asyncio.sleep(0.1)


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], sys.argv[2], Path(sys.argv[3])))
