"""AWS's check of its deployed endpoint, through the real SDK client and the gateway, with the real voice."""

from itertools import pairwise

import numpy as np
import pytest
from local_cloud.say import transport
from local_cloud.stack import LocalStack
from speech_client import (
    Audio,
    SpeechSession,
    SynthesisCancelled,
    SynthesisComplete,
    Timestamps,
    VoiceOptions,
)
from speech_protocol import WordTime

from tests.aws_check import SENTENCES, check_lengths_and_words, speak_in_one_session
from tests.hearing import samples

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.weights, pytest.mark.slow]


async def test_three_sentences_in_one_session_have_their_lengths_and_are_understood(kokoro_stack: LocalStack) -> None:
    async with SpeechSession.connect(transport(kokoro_stack)) as session:
        spoken = await speak_in_one_session(session)
    check_lengths_and_words(spoken)


async def test_words_of_a_streamed_text_are_timed_to_its_end(kokoro_stack: LocalStack) -> None:
    text = "Pay €45 by 6:15pm. Then say hello to everybody at home."
    words_timed: list[WordTime] = []
    pcm = bytearray()
    async with SpeechSession.connect(transport(kokoro_stack)) as session:
        context = await session.open_context(VoiceOptions(timestamps=True))
        for start in range(0, len(text), 5):
            await context.write(text[start : start + 5])
        await context.finish()
        session.finish()
        async for item in session.events():
            assert item.request_id == context.id
            match item.event:
                case Timestamps(words=found):
                    words_timed += found
                case Audio(data=data):
                    pcm += data
                case _:
                    pass
        await session.cancel(context.id, played_s=words_timed[4].end_s)
        told = await anext(session.events())
    duration_s = len(pcm) / 48_000
    assert [word.word for word in words_timed] == [word.strip(".") for word in text.split()]
    assert all(text[word.start_char : word.end_char] == word.word for word in words_timed)
    assert all(one.start_s < one.end_s <= other.start_s for one, other in pairwise(words_timed))
    assert duration_s - 0.75 < words_timed[-1].end_s < duration_s
    last_word = samples(bytes(pcm))[round(words_timed[-1].start_s * 24_000) : round(words_timed[-1].end_s * 24_000)]
    assert np.abs(last_word).max() > 0.05, "something is said there"
    assert isinstance(told.event, SynthesisCancelled)
    assert told.event.text_spoken == "Pay €45 by 6:15pm. Then say"[: words_timed[4].end_char]


async def test_the_first_audio_of_a_long_text_comes_before_its_last_sentence_is_made(kokoro_stack: LocalStack) -> None:
    text = " ".join([*SENTENCES, "Then it goes on for a while, and says one thing after the other."])
    async with SpeechSession.connect(transport(kokoro_stack)) as session:
        complete = [event async for event in session.speak(text) if isinstance(event, SynthesisComplete)]
    assert complete[0].first_audio_s < complete[0].elapsed_s / 2
