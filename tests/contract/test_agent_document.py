"""docs/agent.md does what it says: every message, event, table and program in it, against a real agent."""

import asyncio
import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest
from agent_runtime.errors import AgentErrorCode
from agent_runtime.events import AgentEvent
from agent_runtime.request import AgentRequest, parse_message, parse_request
from local_cloud.stack import RUNTIME_ARN, LocalStack
from speech_protocol import SseDecoder

pytestmark = [pytest.mark.slow, pytest.mark.weights]
in_one_loop = pytest.mark.asyncio(loop_scope="module")

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "agent.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    """The contents of the fenced blocks of one kind."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", DOCUMENT, re.DOTALL | re.MULTILINE)


def lines(kind: str) -> list[str]:
    return [line for block in blocks(kind) for line in block.splitlines()]


def first_column(heading: str) -> list[str]:
    """What the first table below a heading names."""
    section = DOCUMENT.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)


def test_every_kind_of_block_is_there_and_is_tested() -> None:
    kinds = set(re.findall(r"^```(.+)$", DOCUMENT, re.MULTILINE))
    assert kinds == {"json request", "json event", "json message", "sh", "python", "python boto3", "js"}


@pytest.mark.parametrize("line", lines("json request"))
def test_every_question_is_one(line: str) -> None:
    assert isinstance(parse_request(json.loads(line)), AgentRequest)


@pytest.mark.parametrize("line", lines("json message"))
def test_every_message_is_one(line: str) -> None:
    assert parse_message(line) is not None


def test_every_kind_of_event_is_shown_with_all_its_fields() -> None:
    shown = {event["type"]: list(event) for event in map(json.loads, lines("json event"))}
    kinds = {kind.type: kind for kind in get_args(AgentEvent)}
    assert set(shown) == set(kinds) == set(first_column("The answer"))
    for name, kind in kinds.items():
        carried = [field.name for field in dataclasses.fields(kind) if field.compare]
        assert shown[name] == ["type", *carried], name


def test_the_fields_of_a_question_are_those_of_the_table() -> None:
    assert first_column("The question") == [field.name for field in dataclasses.fields(AgentRequest)]


def test_every_code_is_in_the_table_of_errors() -> None:
    assert sorted(first_column("Errors")) == sorted(code.value for code in AgentErrorCode)


@in_one_loop
async def test_the_events_of_an_answer_have_the_fields_of_the_page(tone_stack: LocalStack) -> None:
    shown = {event["type"]: event for event in map(json.loads, lines("json event"))}
    command = ["curl", "-sN", f"{agent_url(tone_stack)}/invocations", "-d", '{"prompt": "What is this?"}']
    events = SseDecoder().feed(await run(command, ROOT))
    assert {event["type"] for event in events} == set(shown) - {"agent_cancelled", "error"}
    for event in events:
        assert list(event) == list(shown[event["type"]])
        for name in ("words", "sentences"):
            assert [list(entry) for entry in event.get(name, [])[:1]] == [
                list(entry) for entry in shown[event["type"]].get(name, [])[:1]
            ]


@in_one_loop
async def test_every_line_for_the_shell_runs(tone_stack: LocalStack, tmp_path: Path) -> None:
    for line in lines("sh"):
        assert await run(["sh", "-c", at(line, tone_stack)], tmp_path), line


@in_one_loop
@pytest.mark.parametrize("program", [*blocks("python"), *blocks("python boto3")])
async def test_every_program_in_python_runs(program: str, tone_stack: LocalStack, tmp_path: Path) -> None:
    assert tone_stack.agentcore is not None
    environment = {
        "AGENT_RUNTIME_ARN": RUNTIME_ARN,
        "AWS_ENDPOINT_URL_BEDROCK_AGENTCORE": tone_stack.agentcore.url,
        "AWS_ACCESS_KEY_ID": tone_stack.credentials.access_key_id,
        "AWS_SECRET_ACCESS_KEY": tone_stack.credentials.secret_access_key,
    }
    await run([sys.executable, "-c", at(program, tone_stack)], tmp_path, **environment)
    assert (tmp_path / "answer.mp3").stat().st_size > 10_000


@pytest.mark.skipif(shutil.which("node") is None, reason="JavaScript needs Node")
@pytest.mark.parametrize("program", blocks("js"))
def test_every_program_for_a_browser_parses(program: str, tmp_path: Path) -> None:
    file = tmp_path / "program.mjs"
    file.write_text(program, encoding="utf-8")
    subprocess.run(["node", "--check", str(file)], check=True)


def agent_url(stack: LocalStack) -> str:
    assert stack.agent is not None
    return stack.agent.url


def at(program: str, stack: LocalStack) -> str:
    """A program of the page, for the agent of this test."""
    address = agent_url(stack).removeprefix("http://")
    return program.replace("127.0.0.1:8081", address).replace("localhost:8081", address)


async def run(command: list[str], directory: Path, **environment: str) -> bytes:
    """What a program that succeeds prints."""
    clean: dict[str, Any] = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    done = await asyncio.to_thread(
        subprocess.run, command, cwd=directory, env=clean | environment, stdout=subprocess.PIPE, check=True, timeout=60
    )
    return done.stdout
