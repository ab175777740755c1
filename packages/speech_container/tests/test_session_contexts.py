"""The session's contexts: text comes as it is written, and sentences go as they end."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from speech_container.context import Sentence
from speech_container.turn import Speak, Stop, Turn
from speech_protocol import ErrorEvent, VoiceOptions

from packages.speech_container.tests.bare_session import Clock, begin, make, say, spoken, text


def test_a_context_takes_its_place_with_its_first_message_and_speaks_as_sentences_end() -> None:
    session = make()
    (opened,) = text(session, "Hello ", voice="bf_emma", timestamps=True)
    turn = opened.turn
    assert (session.head, opened.sentences, opened.is_all) == (turn, (), False)
    assert (turn.request_id, turn.synthesize.options) == ("c", VoiceOptions(voice="bf_emma", timestamps=True))
    behind = begin(session, "behind")
    assert text(session, "there. ") == []
    assert text(session, "How are ", voice="nobody", speed=2) == [Speak(turn, (Sentence("Hello there.", 0),), False)]
    assert text(session, "you", flush=True) == [Speak(turn, (Sentence("How are you", 13),), True)]
    assert turn.text == "Hello there. How are you"
    session.answered()
    assert session.head is behind


def test_contexts_take_turns_in_the_order_of_their_first_messages() -> None:
    session = make()
    first, second = (text(session, context_id=name)[0].turn for name in "ab")
    assert spoken(text(session, "I am second.", "b", flush=True)) == ["I am second."]
    assert spoken(text(session, "I am first.", "a", flush=True)) == ["I am first."]
    assert session.head is first
    session.answered()
    assert session.head is second


def test_a_flushed_name_is_free_again() -> None:
    session = make()
    (one,) = text(session, "One.", flush=True)
    (two,) = text(session, "Two.", flush=True)
    assert one.turn is not two.turn
    assert session.waiting == 2


def test_past_the_bound_a_context_is_busy_and_its_text_is_not_spoken() -> None:
    session = make()
    for name in "ab":
        text(session, context_id=name)
    (busy,) = text(session, "Hello there. And", "c")
    assert (busy.event.code, busy.event.request_id, busy.event.retryable) == ("busy", "c", True)
    assert text(session, " more. And more.", "c") == []
    assert text(session, "", "c", flush=True) == []
    assert session.waiting == 2
    text(session, "Done.", "a", flush=True)
    assert spoken(text(session, "Now.", "c", flush=True)) == ["Now."]


@pytest.mark.parametrize(
    ("fields", "code"), [({"voice": "nobody"}, "voice_unknown"), ({"speed": 9}, "speed_out_of_range")]
)
def test_a_context_that_cannot_begin_is_one_error_under_its_name(fields: dict[str, Any], code: str) -> None:
    session = make()
    assert text(session, "Hello. ", **fields) == []
    assert text(session, "How are you?") == []
    assert isinstance(session.head, ErrorEvent)
    assert (session.head.request_id, session.head.code) == ("c", code)
    assert session.waiting == 1


def test_more_text_than_a_context_may_have_ends_it_after_what_came_before() -> None:
    session = make()
    turn = text(session, "Hello there. And then")[0].turn
    (rest,) = text(session, "x" * 90)
    assert rest == Speak(turn, (Sentence("And then", 13),), is_all=True)
    assert (turn.fault.code, turn.fault.request_id) == ("text_too_long", "c")
    assert turn.text == "Hello there. And then"
    assert text(session, "more. And more.") == []


def test_a_bad_message_ends_its_context_and_no_other() -> None:
    session = make()
    bad, good = (text(session, "Hi there", name)[0].turn for name in ("bad", "good"))
    assert spoken(say(session, type="text", context_id="bad", delta=5)) == ["Hi there"]
    assert bad.fault.code == "invalid_message"
    assert good.fault is None
    assert spoken(text(session, "!", "good", flush=True)) == ["Hi there!"]


@pytest.mark.parametrize(
    "last",
    [{"delta": "x" * 60}, {"delta": 5}, {"delta": "x" * 101}],
    ids=["too long together", "malformed", "too long"],
)
def test_a_name_is_free_after_a_flush_that_came_with_a_fault(last: dict[str, Any]) -> None:
    session = make()
    first = text(session, "Hello there. " + "x" * 40)[0].turn
    assert isinstance(say(session, type="text", context_id="c", flush=True, **last)[0], Speak)
    (again,) = text(session, "Again.", flush=True)
    assert again.turn is not first
    assert spoken([again]) == ["Again."]


def test_a_malformed_flush_of_a_context_that_has_ended_frees_its_name() -> None:
    session = make()
    text(session, "Well")
    say(session, type="cancel")
    session.answered()
    assert say(session, type="text", context_id="c", delta=5, flush=True) == []
    assert isinstance(session.head, ErrorEvent)
    assert spoken(text(session, "Again.", flush=True)) == ["Again."]


def test_an_idle_context_is_ended_and_says_so() -> None:
    clock = Clock()
    session = make(clock=clock)
    assert make().idle_at_s is None
    slow = text(session, "Well", "slow")[0].turn
    clock.now_s += 20
    kept = text(session, "I talk", "kept")[0].turn
    clock.now_s += 9
    assert session.expire() == []
    text(session, " on", "kept")
    assert session.idle_at_s == 130.0
    clock.now_s += 1
    assert session.expire() == [Speak(slow, (Sentence("Well"),), is_all=True)]
    assert (slow.fault.code, slow.fault.request_id) == ("request_stale", "slow")
    assert kept.fault is None
    assert session.idle_at_s == 159.0
    assert text(session, "too late", "slow") == [], "the answer itself says that it is over"


def test_an_empty_message_keeps_a_context_alive() -> None:
    clock = Clock()
    session = make(clock=clock)
    text(session, "Well")
    clock.now_s += 29
    assert text(session) == []
    assert session.idle_at_s == 159.0


def test_a_server_without_time_ends_what_waits_for_text() -> None:
    session = make()
    turn = text(session, "Well")[0].turn
    assert spoken(list(session.abandon())) == ["Well"]
    assert turn.fault.code == "shutting_down"
    assert session.abandon() == []


@pytest.mark.parametrize("fields", [{"context_id": "c"}, {"request_id": "c"}, {}], ids=["context", "request", "all"])
def test_a_cancelled_context_takes_no_more_text_and_says_so_once(fields: dict[str, str]) -> None:
    session = make()
    turn = text(session, "Hello there. And")[0].turn
    assert say(session, type="cancel", **fields) == [Stop(turn)]
    assert text(session, "  ") == []
    (late,) = text(session, " so on. ")
    assert (late.event.code, late.event.request_id) == ("cancelled", "c")
    assert text(session, "And on.") == []
    assert text(session, "", flush=True) == []
    assert turn.text == "Hello there. And"
    session.answered()
    assert spoken(text(session, "A new one.", flush=True)) == ["A new one."]


def test_a_context_that_failed_takes_no_more_text() -> None:
    session = make()
    text(session, "Hello there. And")
    session.answered()
    assert text(session, " so on. And on.") == []
    assert session.head is None


def test_close_ends_the_context_in_hand_and_cancels_those_behind() -> None:
    session = make()
    first, second = (text(session, "Hi there", name)[0].turn for name in "ab")
    assert say(session, type="close") == [Speak(first, (Sentence("Hi there"),), is_all=True), Stop(second)]


MESSAGES = st.one_of(
    st.fixed_dictionaries(
        {"type": st.just("text"), "context_id": st.sampled_from("abc"), "delta": st.text("Hi. !", max_size=9)},
        optional={"flush": st.booleans(), "voice": st.sampled_from(["af_heart", "nobody"])},
    ),
    st.fixed_dictionaries({"text": st.just("Hello."), "request_id": st.sampled_from("abcd")}),
    st.fixed_dictionaries(
        {"type": st.just("cancel")},
        optional={"context_id": st.sampled_from("abc"), "request_id": st.sampled_from("abcd"), "played_s": st.just(1)},
    ),
)


@given(st.lists(MESSAGES | st.sampled_from(["answered", "expire", "later"]), max_size=40))
def test_every_context_is_spoken_verbatim_and_ends_once(steps: list[Any]) -> None:
    clock = Clock()
    session = make(clock=clock)
    pieces: dict[Turn, list[Sentence]] = {}
    whole: set[Turn] = set()
    stopped: set[Turn] = set()
    for step in steps:
        effects: list[Any] = []
        if step == "answered":
            if isinstance(session.head, ErrorEvent) or session.head in whole | stopped:
                session.answered()
        elif step == "expire":
            effects = list(session.expire())
        elif step == "later":
            clock.now_s += 20
        else:
            effects = say(session, **step)
        for effect in effects:
            if isinstance(effect, Speak):
                assert effect.turn not in whole | stopped
                pieces.setdefault(effect.turn, []).extend(effect.sentences)
                whole |= {effect.turn} if effect.is_all else set()
            elif isinstance(effect, Stop):
                assert effect.turn not in stopped
                stopped.add(effect.turn)
        assert session.waiting <= 4
    for turn, sentences in pieces.items():
        assert all(turn.text[s.start_char :].startswith(s.text) for s in sentences)
        if turn in whole:
            assert "".join("".join(s.text for s in sentences).split()) == "".join(turn.text.split())
