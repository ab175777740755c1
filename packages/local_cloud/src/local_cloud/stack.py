"""Everything that speaks, on this machine: the speech container, the data planes in front of it, and the agent.

The order is that of a deployment. The container listens first and loads its weights while the rest comes up; the
SageMaker planes need its address, the agent needs the SageMaker and Bedrock planes, the AgentCore plane needs the
agent. It all ends in reverse, and children end with this process even when it is killed (see tether).
"""

import asyncio
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import httpx

from local_cloud.agentcore import AgentCore
from local_cloud.bedrock import Bedrock
from local_cloud.caller import AgentCaller
from local_cloud.certificates import Certificates, create_certificates
from local_cloud.errors import ServiceFailed
from local_cloud.language_model import LanguageModel
from local_cloud.processes import RunningService, ServiceProcess
from local_cloud.sagemaker_bidirectional import BidirectionalSettings, SageMakerBidirectional
from local_cloud.sagemaker_http import SageMakerHttp
from local_cloud.signatures import Credentials

REGION: Final = "us-east-1"
ENDPOINT_NAME: Final = "kokoro-82m"
MODEL_ID: Final = "local.language-model-v1:0"
RUNTIME_ARN: Final = f"arn:aws:bedrock-agentcore:{REGION}:000000000000:runtime/voice_agent-localhost"
READY_S: Final = 120.0  # weights from a cold disk on a busy machine
PING_INTERVAL_S: Final = 0.05
ACCEPT_S: Final = 2.0  # not SageMaker's 0.25: here the language model and the engine share two cores with the gateway

Step = Callable[[str], AbstractContextManager[object]]


@dataclass(frozen=True, slots=True)
class StackSettings:
    """What to start. Port 0 is a free one; `weights` None means the prepared default; `model` None means no agent.

    `look_ahead_s`: seconds of audio that the container makes ahead of a listener, None for its own default. What goes
    into a file has no listener, and need not wait for one. `speech_url`: a container that runs already, with whatever
    engine, weights and look-ahead it was given; none is started.
    """

    model: LanguageModel | None = None
    engine: str = "auto"
    weights: Path | None = None
    logs: Path = Path("out/logs")
    look_ahead_s: float | None = None
    speech_url: str | None = None
    speech_port: int = 0
    bidirectional_port: int = 0
    sagemaker_port: int = 0
    bedrock_port: int = 0
    agent_port: int = 0
    agentcore_port: int = 0


class LocalStack:
    """`async with LocalStack(settings, step) as stack`: all services up, their addresses in the attributes.

    `step` is called with what is being waited for. Raises `ServiceFailed` or `AddressInUse`, with nothing left running.
    """

    speech: ServiceProcess | RunningService
    bidirectional: SageMakerBidirectional
    sagemaker: SageMakerHttp
    bedrock: Bedrock | None = None
    agent: ServiceProcess | None = None
    agentcore: AgentCore | None = None

    def __init__(self, settings: StackSettings, step: Step) -> None:
        self.credentials = Credentials.generate()
        self._settings = settings
        self._step = step
        self._life = AsyncExitStack()

    @property
    def ca_file(self) -> Path:
        """What a client of the bidirectional plane must trust."""
        return self._certificates.ca

    def caller(self) -> AgentCaller:
        """A boto3 caller of this stack's agent."""
        if self.agentcore is None:
            raise ServiceFailed("this stack has no agent: it was started without a language model")
        keys = (self.credentials.access_key_id, self.credentials.secret_access_key)
        return AgentCaller(RUNTIME_ARN, REGION, self.agentcore.url, *keys)

    def addresses(self) -> dict[str, str]:
        """What a person needs to call the services: addresses, names and keys, for a terminal or a script."""
        addresses = {
            "speech container": self.speech.url,
            "SageMaker, bidirectional": self.bidirectional.url,
            "SageMaker, HTTP": self.sagemaker.url,
            "endpoint name": ENDPOINT_NAME,
        }
        if self.bedrock and self.agent and self.agentcore:
            addresses |= {
                "Bedrock": self.bedrock.url,
                "agent": self.agent.url,
                "AgentCore": self.agentcore.url,
                "agent runtime ARN": RUNTIME_ARN,
            }
        return addresses | {
            "AWS_REGION": REGION,
            "AWS_ACCESS_KEY_ID": self.credentials.access_key_id,
            "AWS_SECRET_ACCESS_KEY": self.credentials.secret_access_key,
            "certificate authority": str(self.ca_file),
        }

    async def until_a_service_ends(self) -> None:
        """Raises `ServiceFailed` when a child ends by itself; else waits for ever."""
        children: list[ServiceProcess | RunningService] = [self.speech]
        if self.agent is not None:
            children.append(self.agent)
        waits = {asyncio.create_task(child.wait()): child for child in children}
        try:
            ended, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waits:
                task.cancel()
        child = waits[ended.pop()]
        raise ServiceFailed(f"{child.name} ended: {child.last_log_line() or 'its log is empty'}")

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as life:
            directory = Path(life.enter_context(tempfile.TemporaryDirectory(prefix="voice-local-")))
            self._certificates: Certificates = create_certificates(directory)
            await self._start_speech(life)
            if self._settings.model is not None:
                await self._start_agent(life, self._settings.model)
            with self._step(f"Kokoro loads and warms up ({self._settings.engine})"):
                await self._ready(self.speech)
            self._life = life.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._life.aclose()

    async def _start_speech(self, life: AsyncExitStack) -> None:
        settings = self._settings
        if settings.speech_url is not None:
            self.speech = RunningService("speech-container", settings.speech_url)
        else:
            with self._step("The speech container starts"):
                self.speech = await life.enter_async_context(self._speech_process())
        endpoints = {ENDPOINT_NAME: self.speech.url}
        self.bidirectional = await life.enter_async_context(
            SageMakerBidirectional(
                endpoints,
                credentials=self.credentials,
                certificates=self._certificates,
                region=REGION,
                port=settings.bidirectional_port,
                settings=BidirectionalSettings(accept_timeout_s=ACCEPT_S),
            )
        )
        self.sagemaker = await life.enter_async_context(
            SageMakerHttp(endpoints, credentials=self.credentials, region=REGION, port=settings.sagemaker_port)
        )

    def _speech_process(self) -> ServiceProcess:
        settings = self._settings
        command = [_script("speech-container"), "serve", "--host", "127.0.0.1", "--port", str(settings.speech_port)]
        command += ["--engine", settings.engine]
        if settings.weights is not None:
            command += ["--weights", str(settings.weights)]
        ahead = {} if settings.look_ahead_s is None else {"SPEECH_LOOK_AHEAD_S": str(settings.look_ahead_s)}
        log_file = settings.logs / "speech-container.log"
        return ServiceProcess("speech-container", command, environment=ahead, log_file=log_file)

    async def _start_agent(self, life: AsyncExitStack, model: LanguageModel) -> None:
        settings = self._settings
        life.push_async_callback(model.close)
        self.bedrock = await life.enter_async_context(
            Bedrock(model, credentials=self.credentials, region=REGION, port=settings.bedrock_port)
        )
        environment = {
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ACCESS_KEY_ID": self.credentials.access_key_id,  # random, of this run: they open nothing elsewhere
            "AWS_SECRET_ACCESS_KEY": self.credentials.secret_access_key,
            "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": self.bedrock.url,
            "BEDROCK_MODEL_ID": MODEL_ID,
            "AGENT_TOOLS": "none",  # the local models take text only
            "SPEECH_WEBSOCKET_URL": "",  # the other way to the voice; empty is absent
            "SPEECH_ENDPOINT_NAME": ENDPOINT_NAME,
            "SPEECH_ENDPOINT_URI": self.bidirectional.url,
            "SPEECH_CA_FILE": str(self.ca_file),
        }
        command = [_script("agent-runtime"), "serve", "--host", "127.0.0.1", "--port", str(settings.agent_port)]
        agent = ServiceProcess(
            "agent-runtime", command, environment=environment, log_file=settings.logs / "agent-runtime.log"
        )
        with self._step("The agent starts, the language model loads"):
            preparing = asyncio.create_task(model.prepare())
            try:
                self.agent = await life.enter_async_context(agent)
                await preparing
            finally:
                preparing.cancel()
                await asyncio.gather(preparing, return_exceptions=True)
        self.agentcore = await life.enter_async_context(
            AgentCore(
                {RUNTIME_ARN: self.agent.url}, credentials=self.credentials, region=REGION, port=settings.agentcore_port
            )
        )

    async def _ready(self, service: ServiceProcess | RunningService) -> None:
        """Until its /ping says 200, as SageMaker waits for a container."""
        ended = asyncio.create_task(service.wait())
        answers = asyncio.create_task(_ping_until_healthy(service.url))
        try:
            async with asyncio.timeout(READY_S):
                await asyncio.wait({ended, answers}, return_when=asyncio.FIRST_COMPLETED)
        except TimeoutError as error:
            raise ServiceFailed(
                f"{service.name} was not ready within {READY_S:g} s; {service.where_it_logs}"
            ) from error
        finally:
            for task in (ended, answers):
                task.cancel()
            await asyncio.gather(ended, answers, return_exceptions=True)
        if ended.done() and not ended.cancelled():
            reason = service.last_log_line() or f"exit code {ended.result()}"
            raise ServiceFailed(f"{service.name} ended while it was loading: {reason}")


async def _ping_until_healthy(url: str) -> None:
    async with httpx.AsyncClient(trust_env=False, timeout=2) as client:
        while True:
            try:
                if (await client.get(f"{url}/ping")).status_code == httpx.codes.OK:
                    return
            except httpx.TransportError:
                pass  # it may be ending; the other task sees that
            await asyncio.sleep(PING_INTERVAL_S)


def _script(name: str) -> str:
    """A console script of this environment, whatever the PATH says."""
    return str(Path(sys.executable).with_name(name))
