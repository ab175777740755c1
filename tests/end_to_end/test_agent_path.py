"""boto3 → AgentCore → the agent → Bedrock and SageMaker → the container, and back, with beeps for a voice."""

import asyncio

import pytest
from local_cloud.stack import LocalStack

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.weights, pytest.mark.slow]


async def test_both_modes_give_the_same_text_and_bidi_is_heard_sooner(tone_stack: LocalStack) -> None:
    caller = tone_stack.caller()
    bidi = await caller.ask("What is this?", mode="bidi")
    batch = await caller.ask("What is this?", mode="batch")
    assert bidi.text == batch.text
    assert bidi.duration_s > 1
    assert [sentence.text for sentence in bidi.sentences] == [
        "Hello there.",
        "This is a streamed answer, not a prepared recording.",
        "It has three sentences.",
    ]
    for sentence in bidi.sentences:
        assert sentence.sent_ms is not None
        assert sentence.heard_ms is not None
        assert sentence.done_ms is not None
        assert sentence.written_ms <= sentence.sent_ms <= sentence.heard_ms <= sentence.done_ms
    assert bidi.first_audio_ms is not None
    assert batch.first_audio_ms is not None
    assert bidi.sentences[0].heard_ms is not None
    assert bidi.sentences[0].heard_ms < bidi.sentences[-1].written_ms, "it speaks while the model still writes"


async def test_many_callers_at_once_each_get_their_own_answer(tone_stack: LocalStack) -> None:
    caller = tone_stack.caller()
    answers = await asyncio.gather(*(caller.ask("What is this?", mode="bidi") for _ in range(8)))
    assert len({answer.audio for answer in answers}) == 1
    assert {len(answer.sentences) for answer in answers} == {3}


async def test_a_caller_that_hangs_up_ends_the_models_work(tone_stack: LocalStack) -> None:
    assert tone_stack.bedrock is not None
    kept = tone_stack.bidirectional.active  # speech sessions of the conversations above
    heard = asyncio.Event()
    loop = asyncio.get_running_loop()

    def on_event(event: dict[str, object]) -> None:
        if event["type"] == "audio_chunk":
            loop.call_soon_threadsafe(heard.set)

    asking = asyncio.create_task(tone_stack.caller().ask("What is this?", mode="bidi", on_event=on_event))
    await heard.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    async with asyncio.timeout(30):
        while tone_stack.bedrock.active or tone_stack.bidirectional.active != kept:  # noqa: ASYNC110 - they tell nobody
            await asyncio.sleep(0.01)
