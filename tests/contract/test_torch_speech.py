"""AWS's check with kokoro's own modules: the whole server with `--engine torch`, over a plain WebSocket."""

import pytest
from local_cloud.stack import LocalStack
from speech_client import SpeechSession

from tests.aws_check import check_lengths_and_words, speak_in_one_session

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.torch,
    pytest.mark.weights,
    pytest.mark.slow,
    pytest.mark.timeout(300),
]


async def test_three_sentences_in_one_session_have_their_lengths_and_are_understood(torch_stack: LocalStack) -> None:
    url = torch_stack.speech.url.replace("http", "ws", 1)
    async with SpeechSession.connect(f"{url}/invocations-bidirectional-stream") as session:
        spoken = await speak_in_one_session(session)
    check_lengths_and_words(spoken)
