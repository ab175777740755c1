"""AWS's check of its deployed endpoint, through the real SDK client and the gateway, with the real voice."""

import pytest
from local_cloud.say import transport
from local_cloud.stack import LocalStack
from speech_client import SpeechSession, SynthesisComplete

from tests.aws_check import SENTENCES, check_lengths_and_words, speak_in_one_session

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.weights, pytest.mark.slow]


async def test_three_sentences_in_one_session_have_their_lengths_and_are_understood(kokoro_stack: LocalStack) -> None:
    async with SpeechSession.connect(transport(kokoro_stack)) as session:
        spoken = await speak_in_one_session(session)
    check_lengths_and_words(spoken)


async def test_the_first_audio_of_a_long_text_comes_before_its_last_sentence_is_made(kokoro_stack: LocalStack) -> None:
    text = " ".join([*SENTENCES, "Then it goes on for a while, and says one thing after the other."])
    async with SpeechSession.connect(transport(kokoro_stack)) as session:
        complete = [event async for event in session.speak(text) if isinstance(event, SynthesisComplete)]
    assert complete[0].first_audio_s < complete[0].elapsed_s / 2
