"""The gateway, with the real SageMaker HTTP/2 client or a caller by hand before it, and a container that gets stuck."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from local_cloud.certificates import Certificates
from local_cloud.container_socket import Closing, Fragment
from local_cloud.sagemaker_bidirectional import BidirectionalSettings, SageMakerBidirectional
from local_cloud.signatures import Credentials

from packages.local_cloud.tests.raw_caller import RawCaller, RawCallers
from packages.local_cloud.tests.sdk_caller import sdk_client

PATIENT = BidirectionalSettings(accept_timeout_s=20, close_timeout_s=0.2)
"""The platform's 250 ms are for a machine that has nothing else to do; tests about other things wait longer."""

Gateway = Callable[..., Any]


@pytest.fixture
def gateway(certificates: Certificates, credentials: Credentials) -> Gateway:
    """Makes a gateway to a container, with the endpoint name `kokoro`."""

    def make(url: str, settings: BidirectionalSettings = PATIENT, **options: Any) -> SageMakerBidirectional:
        return SageMakerBidirectional(
            {"kokoro": url}, credentials=credentials, certificates=certificates, settings=settings, **options
        )

    return make


@pytest.fixture
def client(certificates: Certificates, credentials: Credentials) -> Callable[..., Any]:
    def make(plane: SageMakerBidirectional, known: Credentials = credentials) -> Any:
        return sdk_client(plane.url, certificates.ca.read_bytes(), known)

    return make


@pytest.fixture
def raw_caller(certificates: Certificates, credentials: Credentials) -> RawCallers:
    return lambda plane: RawCaller(plane.url, certificates, credentials)


class StuckContainer:
    """Takes a number of frames and then none until it is let go; says what it took."""

    def __init__(self, takes: int) -> None:
        self._takes = takes
        self.taken: list[bytes] = []
        self.go = asyncio.Event()
        self.stuck = asyncio.Event()

    async def send(self, fragment: Fragment) -> None:
        if len(self.taken) == self._takes:
            self.stuck.set()
            await self.go.wait()
        self.taken.append(fragment.data)

    async def fragments(self) -> AsyncIterator[Fragment]:
        await self.go.wait()
        yield Fragment(b"done", text=False, final=True)
        await asyncio.Event().wait()

    def closing(self) -> Closing:
        return Closing(1006, "")

    def start_close(self, code: int) -> None:
        pass

    async def keep_alive(self, interval_s: float, unanswered_limit: int) -> None:
        await asyncio.Event().wait()

    async def end(self, code: int) -> None:
        self.go.set()
