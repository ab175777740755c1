import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from agent_runtime.errors import AgentErrorCode, ModelError
from agent_runtime.model import SPOKEN_PROMPT, BedrockWriter

from packages.agent_runtime.tests.conftest import (
    PATIENCE_S,
    Fault,
    Refusal,
    Script,
    ScriptedBedrock,
    make_settings,
    within,
)

THROTTLED = Refusal(429, "ThrottlingException")


def writer_for(bedrock: ScriptedBedrock, **changes: float) -> BedrockWriter:
    return BedrockWriter(make_settings(bedrock.url, **changes), retry_delay_s=0.001)


async def whole(deltas: AsyncGenerator[str]) -> str:
    async with asyncio.timeout(PATIENCE_S):
        return "".join([delta async for delta in deltas])


async def failure(deltas: AsyncGenerator[str]) -> tuple[str, ModelError]:
    """The text that came before the failure, and the failure."""
    text = ""
    try:
        async with asyncio.timeout(PATIENCE_S):
            async for delta in deltas:
                text += delta
    except ModelError as error:
        return text, error
    pytest.fail("the answer ended without a failure")


async def test_text_comes_as_the_model_writes_it(bedrock: ScriptedBedrock) -> None:
    more = asyncio.Event()
    bedrock.scripts = [Script(["Hello", " there.", more, " More."])]
    deltas = writer_for(bedrock).write("Say hello.")
    assert await within(anext(deltas)) == "Hello"
    assert await within(anext(deltas)) == " there."
    more.set()
    assert await whole(deltas) == " More."


async def test_the_model_is_told_to_speak_and_given_only_the_prompt(bedrock: ScriptedBedrock) -> None:
    await whole(writer_for(bedrock, max_answer_tokens=77).write("Say hello."))
    (request,) = bedrock.requests
    assert request["system"] == [{"text": SPOKEN_PROMPT}]
    assert request["messages"] == [{"role": "user", "content": [{"text": "Say hello."}]}]
    assert request["inferenceConfig"]["maxTokens"] == 77


async def test_turns_share_no_memory(bedrock: ScriptedBedrock) -> None:
    bedrock.scripts = [Script(["One."])]
    writer = writer_for(bedrock)
    await whole(writer.write("First."))
    await whole(writer.write("Second."))
    assert [len(request["messages"]) for request in bedrock.requests] == [1, 1]


@pytest.mark.parametrize("steps", [[], [""]])
async def test_an_empty_answer_is_an_answer(bedrock: ScriptedBedrock, steps: list[str]) -> None:
    bedrock.scripts = [Script(steps)]
    assert await whole(writer_for(bedrock).write("Say nothing.")) == ""


async def test_an_answer_at_the_token_limit_ends_where_it_is(bedrock: ScriptedBedrock) -> None:
    bedrock.scripts = [Script(["It goes on and"], stop_reason="max_tokens")]
    assert await whole(writer_for(bedrock).write("Go on.")) == "It goes on and"


async def test_a_throttle_before_the_first_token_is_retried(bedrock: ScriptedBedrock) -> None:
    bedrock.scripts = [THROTTLED, Script([Fault("throttlingException")]), Refusal(503, "ServiceUnavailableException")]
    bedrock.scripts.append(Script(["Hello."]))
    assert await whole(writer_for(bedrock).write("Say hello.")) == "Hello."
    assert len(bedrock.requests) == 4


async def test_retries_are_bounded(bedrock: ScriptedBedrock) -> None:
    bedrock.scripts = [THROTTLED]
    text, error = await failure(writer_for(bedrock).write("Say hello."))
    assert (text, error.code, len(bedrock.requests)) == ("", AgentErrorCode.MODEL_THROTTLED, 4)


async def test_a_throttle_after_the_first_token_is_an_error_at_once(bedrock: ScriptedBedrock) -> None:
    bedrock.scripts = [Script(["Hel", Fault("throttlingException")]), Script(["Hello."])]
    text, error = await failure(writer_for(bedrock).write("Say hello."))
    assert (text, error.code, len(bedrock.requests)) == ("Hel", AgentErrorCode.MODEL_THROTTLED, 1)


@pytest.mark.parametrize(
    ("script", "code"),
    [
        (Refusal(403, "AccessDeniedException"), AgentErrorCode.MODEL_ACCESS_DENIED),
        (Refusal(408, "ModelTimeoutException"), AgentErrorCode.MODEL_TIMEOUT),
        (Refusal(400, "ValidationException"), AgentErrorCode.MODEL_FAILED),
        (Refusal(502, ""), AgentErrorCode.MODEL_UNAVAILABLE),
        (
            Refusal(400, "ValidationException", "Input is too long for requested model. secret"),
            AgentErrorCode.CONTEXT_TOO_LONG,
        ),
        (Refusal(503, "ServiceUnavailableException"), AgentErrorCode.MODEL_UNAVAILABLE),
        (Script(["Hel", Fault("modelStreamErrorException")]), AgentErrorCode.MODEL_FAILED),
        (Script(["Hel", Fault()]), AgentErrorCode.MODEL_FAILED),
    ],
)
async def test_failures_have_codes_and_never_the_service_s_words(
    bedrock: ScriptedBedrock, script: Script | Refusal, code: AgentErrorCode
) -> None:
    bedrock.scripts = [script]
    _, error = await failure(writer_for(bedrock).write("Say hello."))
    assert error.code is code
    assert "secret" not in error.message


async def test_an_address_where_nothing_listens_is_a_typed_error(bedrock: ScriptedBedrock) -> None:
    writer = writer_for(bedrock)
    await bedrock.stop()
    _, error = await failure(writer.write("Say hello."))
    assert error.code is AgentErrorCode.MODEL_UNAVAILABLE
    await bedrock.start()


async def test_an_agent_without_credentials_says_so_at_once(
    bedrock: ScriptedBedrock, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    _, error = await failure(writer_for(bedrock).write("Say hello."))
    assert (error.code, bedrock.requests) == (AgentErrorCode.MODEL_ACCESS_DENIED, [])


async def test_a_connection_lost_before_the_first_token_is_retried(bedrock: ScriptedBedrock) -> None:
    bedrock.scripts = [Script([Fault()]), Script(["Hello."])]
    assert await whole(writer_for(bedrock).write("Say hello.")) == "Hello."


async def test_a_model_that_goes_silent_is_given_up(bedrock: ScriptedBedrock) -> None:
    bedrock.scripts = [Script(["Hel", asyncio.Event()])]
    text, error = await failure(writer_for(bedrock, model_silence_s=0.2).write("Say hello."))
    assert (text, error.code) == ("Hel", AgentErrorCode.MODEL_TIMEOUT)


@pytest.mark.parametrize("pause_at", ["before the headers", "before the first token", "after the first token"])
async def test_closing_ends_the_stream_that_the_service_sees(
    bedrock: ScriptedBedrock, pause_at: str, caplog: pytest.LogCaptureFixture
) -> None:
    never = asyncio.Event()
    bedrock.scripts = [
        {
            "before the headers": Script(before_headers=never),
            "before the first token": Script([never, "Hello"]),
            "after the first token": Script(["Hello", never]),
        }[pause_at]
    ]
    deltas = writer_for(bedrock).write("Say hello.")
    reading = asyncio.create_task(whole(deltas))
    await bedrock.until(lambda server: server.active == 1)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await within(reading)
    await bedrock.until(lambda server: server.active == 0)
    assert (bedrock.hang_ups, len(bedrock.requests)) == (1, 1)
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


async def test_closing_between_two_tokens_leaves_no_task_and_no_thread_at_work(bedrock: ScriptedBedrock) -> None:
    bedrock.scripts = [Script(["Hello", asyncio.Event()])]
    writer = writer_for(bedrock)
    before = asyncio.all_tasks()
    for _ in range(20):
        deltas = writer.write("Say hello.")
        await within(anext(deltas))
        await within(deltas.aclose())
    await bedrock.until(lambda server: server.active == 0 and server.hang_ups == 20)
    assert {task for task in asyncio.all_tasks() - before if "Scripted" not in repr(task)} == set()


async def test_a_caller_that_waits_while_throttled_can_still_hang_up(bedrock: ScriptedBedrock) -> None:
    bedrock.scripts = [THROTTLED]
    writer = BedrockWriter(make_settings(bedrock.url), retry_delay_s=3600)
    reading = asyncio.create_task(whole(writer.write("Say hello.")))
    await bedrock.until(lambda server: len(server.requests) == 1)
    reading.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await within(reading)
    assert reading.cancelled()
    assert len(bedrock.requests) == 1


async def test_a_caller_that_does_not_read_can_still_hang_up(bedrock: ScriptedBedrock) -> None:
    bedrock.scripts = [Script(["word " * 2000] * 3000)]  # more than the room ahead and the sockets' buffers hold
    deltas = writer_for(bedrock).write("Go on.")
    await within(anext(deltas))
    await within(deltas.aclose())
    await bedrock.until(lambda server: server.active == 0)
    assert bedrock.hang_ups == 1
