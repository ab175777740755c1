"""An answer that is spoken while it is written."""

import asyncio
import itertools

import pytest
from agent_runtime.bidi import run_bidi
from agent_runtime.events import (
    AgentEnd,
    AgentStart,
    AudioChunk,
    AudioStreamEnd,
    AudioStreamStart,
    SentenceTimestamps,
    TextDelta,
)
from agent_runtime.request import AgentRequest
from agent_runtime.voice import MAX_WAITING_PIECES
from agent_runtime.writer import Pause
from speech_protocol import AudioFormat, ErrorCode, ErrorEvent

from packages.agent_runtime.tests.conftest import (
    ASK,
    DELTAS,
    FIRST,
    SECOND,
    THIRD,
    ScriptedText,
    ask_bidi,
    audio_of,
    collect,
    conversation_with,
    last_of,
    services,
    text_of,
    types_of,
    within,
)
from packages.agent_runtime.tests.scripted_voice import (
    CHAR_BYTES,
    CHAR_S,
    ENCODED_HEAD,
    SAMPLE_RATE_HZ,
    ScriptedVoice,
    sound_of,
)


async def test_the_answer_is_spoken_sentence_by_sentence_as_one_stream() -> None:
    text, voice = ScriptedText(DELTAS), ScriptedVoice()
    events = await collect(ask_bidi(text, voice))
    assert events[0] == AgentStart("turn-1", "bidi")
    assert text.prompts == ["Say something."]
    assert voice.texts == [FIRST, SECOND, THIRD]
    assert [event for event in events if isinstance(event, TextDelta)] == [
        TextDelta(seq, delta) for seq, delta in enumerate(DELTAS)
    ]
    chunks = [event for event in events if isinstance(event, AudioChunk)]
    assert [chunk.seq for chunk in chunks] == list(range(len(chunks)))
    assert audio_of(events) == b"".join(map(sound_of, (FIRST, SECOND, THIRD)))
    assert [event for event in events if isinstance(event, AudioStreamStart)] == [
        AudioStreamStart("pcm", SAMPLE_RATE_HZ)
    ]
    seconds = len(FIRST + SECOND + THIRD) * CHAR_BYTES / (2 * SAMPLE_RATE_HZ)
    assert [event for event in events if isinstance(event, AudioStreamEnd)] == [AudioStreamEnd(len(chunks), seconds)]
    last_of(events, AgentEnd)


async def test_the_first_sentence_is_heard_while_the_model_still_writes() -> None:
    rest = asyncio.Event()
    text, voice = ScriptedText([*DELTAS[:2], rest, *DELTAS[2:]]), ScriptedVoice()
    events = ask_bidi(text, voice)
    async with asyncio.timeout(10):
        async for event in events:
            if isinstance(event, AudioChunk):
                break
    assert voice.texts == [FIRST]
    assert text.taken == 2
    rest.set()
    await collect(events)
    assert voice.texts == [FIRST, SECOND, THIRD]


async def test_sentences_are_sent_ahead_of_the_one_being_spoken() -> None:
    speak_on = asyncio.Event()
    text, voice = ScriptedText(DELTAS), ScriptedVoice(hold={FIRST: speak_on})
    events = ask_bidi(text, voice)
    seen = []
    async with asyncio.timeout(10):
        async for event in events:
            seen.append(event)
            if text_of(seen) == "".join(DELTAS) and audio_of(seen):
                break
    assert len(audio_of(seen)) < len(sound_of(FIRST))
    assert voice.texts == [FIRST, SECOND, THIRD]
    speak_on.set()
    seen += await collect(events)
    end = last_of(seen, AgentEnd)
    first, second, third = end.sentences
    assert first.done_ms is not None
    assert second.sent_ms is not None
    assert third.sent_ms is not None
    assert third.sent_ms < first.done_ms


async def test_the_session_is_opened_while_the_model_writes_its_first_sentence() -> None:
    begin = asyncio.Event()
    text, voice = ScriptedText([begin, *DELTAS]), ScriptedVoice(before_hello=asyncio.Event())
    assert voice.before_hello is not None
    events = ask_bidi(text, voice)
    assert isinstance(await within(anext(events)), AgentStart)
    await within(voice.opened.wait())
    assert text.taken == 0
    voice.before_hello.set()
    begin.set()
    assert audio_of(await collect(events))


async def test_text_does_not_wait_for_a_slow_voice() -> None:
    text, voice = ScriptedText(DELTAS), ScriptedVoice(before_hello=asyncio.Event())
    assert voice.before_hello is not None
    events = ask_bidi(text, voice)
    seen = [await within(anext(events)) for _ in range(1 + len(DELTAS))]
    assert text_of(seen) == "".join(DELTAS)
    voice.before_hello.set()
    assert audio_of(await collect(events))


async def test_times_are_in_order_and_say_what_happened_to_each_sentence() -> None:
    events = await collect(ask_bidi(ScriptedText(DELTAS), ScriptedVoice()))
    end = last_of(events, AgentEnd)
    assert [times.text for times in end.sentences] == [FIRST, SECOND, THIRD]
    assert end.ttft_ms is not None
    assert end.ttfa_ms is not None
    for times in end.sentences:
        assert times.sent_ms is not None
        assert times.heard_ms is not None
        assert times.done_ms is not None
        assert end.ttft_ms <= times.written_ms <= times.sent_ms <= times.heard_ms <= times.done_ms <= end.total_ms
        assert times.audio_s == pytest.approx(len(times.text) * 0.01)
    assert end.ttfa_ms == end.sentences[0].heard_ms


async def test_voice_and_speed_reach_the_voice() -> None:
    voice = ScriptedVoice()
    await collect(ask_bidi(ScriptedText(["Yes."]), voice, AgentRequest("Hi.", voice="bm_george", speed=1.5)))
    (options,) = voice.options
    assert (options.voice, options.speed, options.format) == ("bm_george", 1.5, "pcm")


@pytest.mark.parametrize("audio_format", ["mp3", "opus", "aac"])
async def test_encoded_audio_is_passed_through_as_one_stream_of_one_encoder(audio_format: AudioFormat) -> None:
    voice = ScriptedVoice()
    events = await collect(ask_bidi(ScriptedText(DELTAS), voice, AgentRequest("Hi.", format=audio_format)))
    assert [options.format for options in voice.options] == [audio_format]
    assert audio_of(events) == ENCODED_HEAD + b"".join(map(sound_of, (FIRST, SECOND, THIRD)))
    assert AudioStreamStart(audio_format, SAMPLE_RATE_HZ) in events
    (end,) = [event for event in events if isinstance(event, AudioStreamEnd)]
    assert end.duration_s == pytest.approx(len(FIRST + SECOND + THIRD) * CHAR_S)  # as the server counts it


async def test_wav_is_the_same_audio_after_one_header() -> None:
    request = AgentRequest("Hi.", format="wav")
    voice = ScriptedVoice()
    events = await collect(ask_bidi(ScriptedText(DELTAS), voice, request))
    assert [options.format for options in voice.options] == ["pcm"]
    data = audio_of(events)
    assert (data[:4], data[8:16]) == (b"RIFF", b"WAVEfmt ")
    assert data[44:] == b"".join(map(sound_of, (FIRST, SECOND, THIRD)))
    assert AudioStreamStart("wav", SAMPLE_RATE_HZ) in events


async def test_word_times_are_on_the_clock_of_the_answer() -> None:
    events = await collect(ask_bidi(ScriptedText(DELTAS), ScriptedVoice()))
    told = [event for event in events if isinstance(event, SentenceTimestamps)]
    assert [event.sentence for event in told] == [0, 1, 2]
    starts_s = [0.0, len(FIRST) * CHAR_S, len(FIRST + SECOND) * CHAR_S]
    assert [event.words[0].start_s for event in told] == pytest.approx(starts_s)
    words = [word for event in told for word in event.words]
    assert [word.word for word in words] == "".join(DELTAS).split()
    assert all(early.end_s <= late.start_s + 1e-9 for early, late in itertools.pairwise(words))


async def test_word_times_say_where_the_words_stand_in_the_text_of_the_answer() -> None:
    events = await collect(ask_bidi(ScriptedText(["\n\n", *DELTAS]), ScriptedVoice()))
    text = text_of(events)
    words = [word for event in events if isinstance(event, SentenceTimestamps) for word in event.words]
    assert [text[word.start_char : word.end_char] for word in words] == text.split()


async def test_words_before_a_code_block_have_their_places_in_the_text_too() -> None:
    deltas = ["It is so:\n```\nx = 1\n```\nThat is all. Bye."]
    events = await collect(ask_bidi(ScriptedText(deltas), ScriptedVoice()))
    words = [word for event in events if isinstance(event, SentenceTimestamps) for word in event.words]
    assert [word.word for word in words] == ["It", "is", "so:", "That", "is", "all.", "Bye."]
    assert [deltas[0][word.start_char : word.end_char] for word in words] == [word.word for word in words]


async def test_word_times_of_a_sentence_come_before_its_audio() -> None:
    kinds = types_of(await collect(ask_bidi(ScriptedText(DELTAS), ScriptedVoice())))
    told = [kind for kind in kinds if kind in ("timestamps", "audio_chunk")]
    assert told == ["timestamps", "audio_chunk"] * 3


async def test_a_voice_that_knows_no_word_times_speaks_as_well() -> None:
    events = await collect(ask_bidi(ScriptedText(DELTAS), ScriptedVoice(with_words=False)))
    assert audio_of(events) == b"".join(map(sound_of, (FIRST, SECOND, THIRD)))
    assert "timestamps" not in types_of(events)
    last_of(events, AgentEnd)


async def test_before_a_tool_is_used_all_that_was_written_is_spoken() -> None:
    used = asyncio.Event()
    text, voice = ScriptedText(["Let me see.", Pause.TOOL, used, "It is five."]), ScriptedVoice()
    events = ask_bidi(text, voice)
    seen = []
    async with asyncio.timeout(10):
        async for event in events:
            seen.append(event)
            if audio_of(seen) == sound_of("Let me see."):
                break
    used.set()
    seen += await collect(events)
    assert text_of(seen) == "Let me see.\n\nIt is five."
    assert voice.texts == ["Let me see.", "It is five."]


async def test_the_first_clause_of_a_long_first_sentence_may_go_ahead() -> None:
    deltas = list("When the kettle is on, it takes a minute or two. Then, when it boils, you pour.")
    voice = ScriptedVoice()
    run = run_bidi(ASK, conversation_with(voice), services(ScriptedText(deltas)), first_clause=True)
    await collect(run.events())
    assert voice.texts == ["When the kettle is on,", "it takes a minute or two.", "Then, when it boils, you pour."]


async def test_a_delta_of_any_length_is_passed_on_in_pieces_that_fit_a_frame() -> None:
    deltas = [
        event
        for event in await collect(ask_bidi(ScriptedText(["a" * 4_500]), ScriptedVoice()))
        if isinstance(event, TextDelta)
    ]
    assert [(event.seq, len(event.text)) for event in deltas] == [(0, 2_000), (1, 2_000), (2, 500)]


@pytest.mark.parametrize("deltas", [[], [" ", "\n"]])
async def test_an_answer_without_text_ends_clearly_and_does_not_wait_for_the_voice(deltas: list[str]) -> None:
    voice = ScriptedVoice(before_hello=asyncio.Event())
    events = await collect(ask_bidi(ScriptedText(deltas), voice))
    end = last_of(events, AgentEnd)
    assert (end.ttfa_ms, end.sentences) == (None, ())
    assert "audio_stream_start" not in types_of(events)


async def test_one_word_without_a_full_stop_is_spoken() -> None:
    voice = ScriptedVoice()
    events = await collect(ask_bidi(ScriptedText(["Yes"]), voice))
    assert voice.texts == ["Yes"]
    assert audio_of(events) == sound_of("Yes")


async def test_what_has_nothing_to_say_is_passed_over_in_silence() -> None:
    code = "🎉"
    voice = ScriptedVoice(refuse=ErrorEvent.of(ErrorCode.TEXT_EMPTY, "there is nothing to speak"))
    events = await collect(ask_bidi(ScriptedText([code]), voice))
    assert voice.texts
    assert text_of(events) == code
    assert last_of(events, AgentEnd).ttfa_ms is None
    assert types_of(events) == ["agent_start", "text_delta", "agent_end"]


async def test_a_code_block_is_written_and_not_spoken_however_it_is_cut() -> None:
    answer = "Run this.\n```python\nx = 1. Then y.\nprint(x)\n```\nThat is all."
    voice = ScriptedVoice()
    events = await collect(ask_bidi(ScriptedText(list(answer)), voice))
    assert text_of(events) == answer
    assert [text.split("\n")[0] for text in voice.texts] == ["Run this.", "That is all."]
    assert "x = 1" not in "".join(voice.texts)
    last_of(events, AgentEnd)


async def test_only_a_code_block_ends_clearly_and_silently() -> None:
    voice = ScriptedVoice()
    events = await collect(ask_bidi(ScriptedText(list("```\nx = 1\n```")), voice))
    assert "".join(voice.texts).strip() == ""
    assert last_of(events, AgentEnd).ttfa_ms is None


async def test_more_sentences_than_the_voice_takes_are_held_and_all_are_spoken() -> None:
    text, voice = ScriptedText(["No. "] * (MAX_WAITING_PIECES + 40)), ScriptedVoice()
    events = await collect(ask_bidi(text, voice))
    assert len(voice.texts) == MAX_WAITING_PIECES + 40
    assert len(last_of(events, AgentEnd).sentences) == MAX_WAITING_PIECES + 40
