import asyncio
import contextlib
import logging
import threading
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from agent_runtime.errors import AgentErrorCode, ModelError
from agent_runtime.memory import Remark
from agent_runtime.model import MAX_MODEL_CALLS, BedrockWriter
from agent_runtime.settings import SPOKEN_PROMPT
from agent_runtime.writer import Pause
from strands import tool

from packages.agent_runtime.tests.conftest import make_settings, within
from packages.agent_runtime.tests.scripted_bedrock import (
    PATIENCE_S,
    Fault,
    Refusal,
    Script,
    ScriptedBedrock,
    UseTool,
)

THROTTLED = Refusal(429, "ThrottlingException")


Deltas = AsyncGenerator[str | Pause]


def writer_for(bedrock: ScriptedBedrock, **changes: Any) -> BedrockWriter:
    return BedrockWriter(make_settings(bedrock.url, **changes), retry_delay_s=0.001)


def ask(writer: BedrockWriter, prompt: str) -> Deltas:
    return writer.write([Remark(True, prompt)])


async def whole(deltas: Deltas) -> str:
    async with asyncio.timeout(PATIENCE_S):
        return "".join([delta async for delta in deltas if isinstance(delta, str)])


async def failure(deltas: Deltas) -> tuple[str, ModelError]:
    """The text that came before the failure, and the failure."""
    text = ""
    try:
        async with asyncio.timeout(PATIENCE_S):
            async for delta in deltas:
                text += delta if isinstance(delta, str) else ""
    except ModelError as error:
        return text, error
    pytest.fail("the answer ended without a failure")


async def test_text_comes_as_the_model_writes_it(bedrock: ScriptedBedrock) -> None:
    more = asyncio.Event()
    bedrock.scripts = [Script(["Hello", " there.", more, " More."])]
    deltas = ask(writer_for(bedrock), "Say hello.")
    assert await within(anext(deltas)) == "Hello"
    assert await within(anext(deltas)) == " there."
    more.set()
    assert await whole(deltas) == " More."


async def test_the_model_is_told_to_speak_and_given_only_the_prompt(bedrock: ScriptedBedrock) -> None:
    await whole(ask(writer_for(bedrock, max_answer_tokens=77), "Say hello."))
    (request,) = bedrock.requests
    assert request["system"] == [{"text": SPOKEN_PROMPT}]
    assert request["messages"] == [{"role": "user", "content": [{"text": "Say hello."}]}]
    assert request["inferenceConfig"]["maxTokens"] == 77


async def test_the_model_is_told_what_the_settings_say(bedrock: ScriptedBedrock) -> None:
    await whole(ask(writer_for(bedrock, system_prompt="You are a pirate."), "Say hello."))
    assert bedrock.requests[0]["system"] == [{"text": "You are a pirate."}]


async def test_the_model_is_given_what_was_said_before(bedrock: ScriptedBedrock) -> None:
    remarks = [Remark(True, "Who are you?"), Remark(False, "A voice."), Remark(True, "Whose?")]
    await whole(writer_for(bedrock).write(remarks))
    assert bedrock.requests[0]["messages"] == [
        {"role": "user", "content": [{"text": "Who are you?"}]},
        {"role": "assistant", "content": [{"text": "A voice."}]},
        {"role": "user", "content": [{"text": "Whose?"}]},
    ]


async def test_turns_share_no_memory(bedrock: ScriptedBedrock) -> None:
    bedrock.scripts = [Script(["One."])]
    writer = writer_for(bedrock)
    await whole(ask(writer, "First."))
    await whole(ask(writer, "Second."))
    assert [len(request["messages"]) for request in bedrock.requests] == [1, 1]


@pytest.mark.parametrize("steps", [[], [""]])
async def test_an_empty_answer_is_an_answer(bedrock: ScriptedBedrock, steps: list[str]) -> None:
    bedrock.scripts = [Script(steps)]
    assert await whole(ask(writer_for(bedrock), "Say nothing.")) == ""


async def test_an_answer_at_the_token_limit_ends_where_it_is(bedrock: ScriptedBedrock) -> None:
    bedrock.scripts = [Script(["It goes on and"], stop_reason="max_tokens")]
    assert await whole(ask(writer_for(bedrock), "Go on.")) == "It goes on and"


async def test_a_throttle_before_the_first_token_is_retried(bedrock: ScriptedBedrock) -> None:
    bedrock.scripts = [THROTTLED, Script([Fault("throttlingException")]), Refusal(503, "ServiceUnavailableException")]
    bedrock.scripts.append(Script(["Hello."]))
    assert await whole(ask(writer_for(bedrock), "Say hello.")) == "Hello."
    assert len(bedrock.requests) == 4


async def test_retries_are_bounded(bedrock: ScriptedBedrock) -> None:
    bedrock.scripts = [THROTTLED]
    text, error = await failure(ask(writer_for(bedrock), "Say hello."))
    assert (text, error.code, len(bedrock.requests)) == ("", AgentErrorCode.MODEL_THROTTLED, 4)


async def test_a_throttle_after_the_first_token_is_an_error_at_once(bedrock: ScriptedBedrock) -> None:
    bedrock.scripts = [Script(["Hel", Fault("throttlingException")]), Script(["Hello."])]
    text, error = await failure(ask(writer_for(bedrock), "Say hello."))
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
    _, error = await failure(ask(writer_for(bedrock), "Say hello."))
    assert error.code is code
    assert "secret" not in error.message


async def test_an_address_where_nothing_listens_is_a_typed_error(bedrock: ScriptedBedrock) -> None:
    writer = writer_for(bedrock)
    await bedrock.stop()
    _, error = await failure(ask(writer, "Say hello."))
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
    _, error = await failure(ask(writer_for(bedrock), "Say hello."))
    assert (error.code, bedrock.requests) == (AgentErrorCode.MODEL_ACCESS_DENIED, [])


async def test_a_connection_lost_before_the_first_token_is_retried(bedrock: ScriptedBedrock) -> None:
    bedrock.scripts = [Script([Fault()]), Script(["Hello."])]
    assert await whole(ask(writer_for(bedrock), "Say hello.")) == "Hello."


async def test_a_model_that_goes_silent_is_given_up(bedrock: ScriptedBedrock) -> None:
    bedrock.scripts = [Script(["Hel", asyncio.Event()])]
    text, error = await failure(ask(writer_for(bedrock, model_silence_s=0.2), "Say hello."))
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
    deltas = ask(writer_for(bedrock), "Say hello.")
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
        deltas = ask(writer, "Say hello.")
        await within(anext(deltas))
        await within(deltas.aclose())
    await bedrock.until(lambda server: server.active == 0 and server.hang_ups == 20)
    assert {task for task in asyncio.all_tasks() - before if "Scripted" not in repr(task)} == set()


async def test_a_caller_that_waits_while_throttled_can_still_hang_up(bedrock: ScriptedBedrock) -> None:
    bedrock.scripts = [THROTTLED]
    writer = BedrockWriter(make_settings(bedrock.url), retry_delay_s=3600)
    reading = asyncio.create_task(whole(ask(writer, "Say hello.")))
    await bedrock.until(lambda server: len(server.requests) == 1)
    reading.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await within(reading)
    assert reading.cancelled()
    assert len(bedrock.requests) == 1


async def test_a_caller_that_does_not_read_can_still_hang_up(bedrock: ScriptedBedrock) -> None:
    bedrock.scripts = [Script(["word " * 2000] * 3000)]  # more than the room ahead and the sockets' buffers hold
    deltas = ask(writer_for(bedrock), "Go on.")
    await within(anext(deltas))
    await within(deltas.aclose())
    await bedrock.until(lambda server: server.active == 0)
    assert bedrock.hang_ups == 1


# Tools


@tool
def add(first: int, second: int) -> str:
    """Add two numbers.

    Args:
        first: One.
        second: The other.
    """
    return f"{first + second}, and a secret"


@tool
def fail() -> str:
    """Fail."""
    raise ValueError("secret")


stuck = threading.Event()


@tool
def wait() -> str:
    """Wait for ever."""
    stuck.wait(PATIENCE_S)
    return "never"


HERE = __name__


async def test_a_tool_is_used_between_two_texts(bedrock: ScriptedBedrock) -> None:
    bedrock.scripts = [
        Script(["Let me see.", UseTool("add", {"first": 2, "second": 3})]),
        Script(["It is five."]),
    ]
    writer = writer_for(bedrock, tools=(f"{HERE}:add",))
    async with asyncio.timeout(PATIENCE_S):
        came = [delta async for delta in ask(writer, "Two and three?")]
    assert came == ["Let me see.", Pause.TOOL, "It is five."]
    (spec,) = bedrock.requests[0]["toolConfig"]["tools"]
    assert spec["toolSpec"]["name"] == "add"
    told = bedrock.requests[1]["messages"][-1]["content"][0]["toolResult"]
    assert told["content"] == [{"text": "5, and a secret"}]


async def test_without_tools_none_are_offered(bedrock: ScriptedBedrock) -> None:
    await whole(ask(writer_for(bedrock, tools=()), "Say hello."))
    assert "toolConfig" not in bedrock.requests[0]


async def test_a_tool_that_fails_is_the_model_s_to_deal_with(bedrock: ScriptedBedrock) -> None:
    bedrock.scripts = [Script([UseTool("fail")]), Script(["I cannot tell."])]
    assert await whole(ask(writer_for(bedrock, tools=(f"{HERE}:fail",)), "Fail.")) == "I cannot tell."
    assert "Error" in bedrock.requests[1]["messages"][-1]["content"][0]["toolResult"]["content"][0]["text"]


async def test_a_throttle_after_a_tool_is_retried_too(bedrock: ScriptedBedrock) -> None:
    bedrock.scripts = [
        Script(["Let me see.", UseTool("add", {"first": 2, "second": 3})]),
        THROTTLED,
        Script([" It is five."]),
    ]
    writer = writer_for(bedrock, tools=(f"{HERE}:add",))
    assert await whole(ask(writer, "Two and three?")) == "Let me see. It is five."


async def test_a_tool_that_does_not_end_ends_the_answer(bedrock: ScriptedBedrock) -> None:
    bedrock.scripts = [Script(["Let me see.", UseTool("wait")]), Script(["Not asked for."])]
    writer = writer_for(bedrock, tools=(f"{HERE}:wait",), tool_s=0.05)
    try:
        text, error = await failure(ask(writer, "Wait."))
    finally:
        stuck.set()
    assert (text, error.code) == ("Let me see.", AgentErrorCode.TOOL_TIMEOUT)
    assert len(bedrock.requests) == 1


async def test_a_model_that_only_uses_tools_comes_to_an_end(bedrock: ScriptedBedrock) -> None:
    bedrock.scripts = [Script([UseTool("add", {"first": 2, "second": 3})])]
    writer = writer_for(bedrock, tools=(f"{HERE}:add",))
    _, error = await failure(ask(writer, "Two and three?"))
    assert (error.code, len(bedrock.requests)) == (AgentErrorCode.MODEL_FAILED, MAX_MODEL_CALLS)
