"""boto3's bedrock-runtime against the plane, with models that do what a test needs."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError, EventStreamError
from local_cloud.bedrock import Bedrock
from local_cloud.errors import ModelUnavailable
from local_cloud.language_model import Conversation, Turn
from local_cloud.script_model import ScriptModel, tokens
from local_cloud.signatures import Credentials

from packages.local_cloud.tests.conftest import eventually, signed_post, soon

BotoClient = Callable[..., Any]
TEXT = "Hello there. This is a streamed reply! It has three sentences, and a naïve café."
MESSAGES = [{"role": "user", "content": [{"text": "Hello?"}]}]
PROFILE = "us.anthropic.claude-sonnet-4-20250514-v1:0"
PROFILE_ARN = f"arn:aws:bedrock:us-east-1:123456789012:inference-profile/{PROFILE}"


class StepModel:
    """Writes one token for each permit, and remembers how often it was stopped."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.permits = asyncio.Semaphore(0)
        self.conversations: list[Conversation] = []
        self.written = 0
        self.stopped = asyncio.Event()
        self._failure = failure

    async def stream(self, conversation: Conversation) -> AsyncGenerator[str]:
        self.conversations.append(conversation)
        try:
            while True:
                await self.permits.acquire()
                if self._failure is not None:
                    raise self._failure
                self.written += 1
                yield f"token {self.written} "
        finally:
            self.stopped.set()

    async def prepare(self) -> None:
        pass

    async def close(self) -> None:
        pass


@pytest.fixture
async def plane(credentials: Credentials) -> AsyncIterator[Bedrock]:
    async with Bedrock(ScriptModel(TEXT, 1e9), credentials=credentials) as serving:
        yield serving


def converse(boto: Any, model_id: str = PROFILE, **members: Any) -> list[dict[str, Any]]:
    answer = boto.converse_stream(modelId=model_id, **({"messages": MESSAGES} | members))
    return list(answer["stream"])


def text_of(events: list[dict[str, Any]]) -> list[str]:
    return [event["contentBlockDelta"]["delta"]["text"] for event in events if "contentBlockDelta" in event]


@pytest.mark.parametrize("model_id", [PROFILE, PROFILE_ARN, "plain-model"])
async def test_a_stream_has_bedrocks_events_in_order(plane: Bedrock, boto_client: BotoClient, model_id: str) -> None:
    events = await asyncio.to_thread(converse, boto_client("bedrock-runtime", plane.url), model_id)
    names = [next(iter(event)) for event in events]
    pieces = tokens(TEXT)
    assert names == [
        "messageStart",
        *["contentBlockDelta"] * len(pieces),
        "contentBlockStop",
        "messageStop",
        "metadata",
    ]
    assert text_of(events) == pieces
    assert events[-2] == {"messageStop": {"stopReason": "end_turn"}}
    assert events[-1]["metadata"]["usage"] == {
        "inputTokens": 2,
        "outputTokens": len(pieces),
        "totalTokens": len(pieces) + 2,
    }
    assert plane.active == 0


async def test_converse_answers_whole(plane: Bedrock, boto_client: BotoClient) -> None:
    boto = boto_client("bedrock-runtime", plane.url)
    answer = await asyncio.to_thread(boto.converse, modelId=PROFILE, messages=MESSAGES)
    assert answer["output"]["message"] == {"role": "assistant", "content": [{"text": TEXT}]}
    assert answer["stopReason"] == "end_turn"


async def test_the_token_limit_is_kept(plane: Bedrock, boto_client: BotoClient) -> None:
    boto = boto_client("bedrock-runtime", plane.url)
    events = await asyncio.to_thread(converse, boto, inferenceConfig={"maxTokens": 3})
    assert text_of(events) == tokens(TEXT)[:3]
    assert events[-2] == {"messageStop": {"stopReason": "max_tokens"}}
    assert plane.tokens == 3


async def test_an_answer_of_nothing_has_no_content(credentials: Credentials, boto_client: BotoClient) -> None:
    async with Bedrock(ScriptModel("", 1e9), credentials=credentials) as plane:
        boto = boto_client("bedrock-runtime", plane.url)
        events = await asyncio.to_thread(converse, boto)
        assert [next(iter(event)) for event in events] == ["messageStart", "messageStop", "metadata"]
        answer = await asyncio.to_thread(boto.converse, modelId=PROFILE, messages=MESSAGES)
        assert answer["output"]["message"]["content"] == []


async def test_the_model_gets_the_conversation_and_writes_as_it_is_read(
    credentials: Credentials, boto_client: BotoClient
) -> None:
    model = StepModel()
    async with Bedrock(model, credentials=credentials) as plane:
        boto = boto_client("bedrock-runtime", plane.url)
        system = [{"text": "Be brief."}]
        answer = await asyncio.to_thread(boto.converse_stream, modelId=PROFILE, messages=MESSAGES, system=system)
        events = iter(answer["stream"])
        assert "messageStart" in await asyncio.to_thread(next, events)
        for number in (1, 2, 3):
            model.permits.release()
            event = await soon(asyncio.to_thread(next, events))
            assert event["contentBlockDelta"]["delta"]["text"] == f"token {number} "
        assert model.conversations == [Conversation("Be brief.", (Turn("user", "Hello?"),))]
        assert plane.active == 1
        await asyncio.to_thread(answer["stream"].close)


async def test_a_caller_that_hangs_up_stops_the_model_at_once(credentials: Credentials) -> None:
    model = StepModel()
    body = b'{"messages": [{"role": "user", "content": [{"text": "Hello?"}]}]}'
    async with Bedrock(model, credentials=credentials) as plane:
        for path in ("/model/m/converse-stream", "/model/m/converse"):
            model.stopped.clear()
            model.written = 0
            async with signed_post(plane.url, path, "bedrock", body, credentials):
                model.permits.release()
                await eventually(lambda: model.written == 1)
                assert plane.active == 1
            await soon(model.stopped.wait())
            assert model.written == 1
            await eventually(lambda: plane.active == 0)


async def test_throttling_comes_before_the_first_token_and_then_ends(plane: Bedrock, boto_client: BotoClient) -> None:
    plane.faults.throttle_requests = 2
    boto = boto_client("bedrock-runtime", plane.url)
    with pytest.raises(ClientError) as raised:
        await asyncio.to_thread(converse, boto)
    assert raised.value.response["Error"]["Code"] == "ThrottlingException"
    assert raised.value.response["ResponseMetadata"]["HTTPStatusCode"] == 429
    patient = boto_client("bedrock-runtime", plane.url, attempts=2)
    events = await asyncio.to_thread(converse, patient)
    assert text_of(events) == tokens(TEXT)
    assert plane.requests == 3


@pytest.mark.parametrize("after", [0, 3])
async def test_a_stream_can_be_made_to_fail_in_the_middle(plane: Bedrock, boto_client: BotoClient, after: int) -> None:
    plane.faults.fail_after_tokens = after
    boto = boto_client("bedrock-runtime", plane.url)
    answer = await asyncio.to_thread(boto.converse_stream, modelId=PROFILE, messages=MESSAGES)
    seen: list[dict[str, Any]] = []
    with pytest.raises(EventStreamError, match="modelStreamErrorException"):
        await asyncio.to_thread(lambda: seen.extend(iter(answer["stream"])))
    assert text_of(seen) == tokens(TEXT)[:after]
    await eventually(lambda: plane.active == 0)


@pytest.mark.parametrize(
    ("failure", "code"),
    [(RuntimeError("secret detail"), "modelStreamErrorException"), (ModelUnavailable("/a/path"), "serviceUnavailable")],
)
async def test_a_model_that_fails_says_so_without_its_details(
    credentials: Credentials, boto_client: BotoClient, failure: Exception, code: str
) -> None:
    model = StepModel(failure)
    model.permits.release()
    async with Bedrock(model, credentials=credentials) as plane:
        boto = boto_client("bedrock-runtime", plane.url)
        with pytest.raises(EventStreamError, match=code) as raised:
            await asyncio.to_thread(converse, boto)
    assert str(failure) not in str(raised.value)


async def test_a_model_that_cannot_run_is_503_for_converse(credentials: Credentials, boto_client: BotoClient) -> None:
    model = StepModel(ModelUnavailable("/a/path"))
    model.permits.release()
    async with Bedrock(model, credentials=credentials) as plane:
        boto = boto_client("bedrock-runtime", plane.url)
        with pytest.raises(ClientError, match="ServiceUnavailableException") as raised:
            await asyncio.to_thread(boto.converse, modelId=PROFILE, messages=MESSAGES)
    assert "/a/path" not in str(raised.value)


async def test_a_malformed_request_and_a_wrong_secret_are_refused(plane: Bedrock, boto_client: BotoClient) -> None:
    boto = boto_client("bedrock-runtime", plane.url)
    with pytest.raises(ClientError, match=r"ValidationException.*start with a user message"):
        await asyncio.to_thread(converse, boto, messages=[{"role": "assistant", "content": [{"text": "Hi."}]}])
    wrong = boto_client("bedrock-runtime", plane.url, Credentials("AKIALOCALTEST", "guess"))
    with pytest.raises(ClientError, match="InvalidSignatureException"):
        await asyncio.to_thread(converse, wrong)


async def test_closing_the_plane_stops_what_is_being_written(credentials: Credentials) -> None:
    model = StepModel()
    body = b'{"messages": [{"role": "user", "content": [{"text": "Hello?"}]}]}'
    plane = Bedrock(model, credentials=credentials)
    async with plane:
        await plane_streaming(plane, model, body, credentials)
    assert model.stopped.is_set()
    assert plane.active == 0


async def plane_streaming(plane: Bedrock, model: StepModel, body: bytes, credentials: Credentials) -> None:
    """Leave a caller connected that has had one token."""
    post = signed_post(plane.url, "/model/m/converse-stream", "bedrock", body, credentials)
    await post.__aenter__()
    model.permits.release()
    await eventually(lambda: model.written == 1)
