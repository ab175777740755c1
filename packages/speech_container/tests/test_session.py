"""The session as a state: messages in, effects out."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from speech_container.alignment import Alignment, Transcript
from speech_container.context import Sentence
from speech_container.errors import Refusal
from speech_container.session import Session
from speech_container.turn import Hush, Send, Speak, Stop, Turn
from speech_protocol import Capabilities, ErrorCode, ErrorEvent, Pong, SynthesisCancelled, VoiceOptions
from speech_text import IncrementalSentenceChunker

CAPABILITIES = Capabilities("1.0", "tone", ("af_heart",), ("en-us",), ("pcm",), (24000,), False, ("exact",), {})


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def cut(options: VoiceOptions) -> IncrementalSentenceChunker:
    if options.voice == "nobody":
        raise Refusal(ErrorCode.VOICE_UNKNOWN, "nobody is not a voice")
    return IncrementalSentenceChunker("en")


def make(max_waiting: int = 4, refusal: Refusal | None = None, clock: Clock | None = None) -> Session:
    def require_open() -> None:
        if refusal is not None:
            raise refusal

    return Session(
        max_waiting=max_waiting,
        max_text_chars=100,
        max_contexts=2,
        context_idle_s=30.0,
        require_open=require_open,
        chunker=cut,
        capabilities=lambda: CAPABILITIES,
        new_id=lambda: "new",
        clock=clock or Clock(),
    )


def say(session: Session, **fields: Any) -> list[Any]:
    return list(session.receive(json.dumps(fields)))


def begin(session: Session, request_id: str) -> Turn:
    (effect,) = say(session, text="Hello.", request_id=request_id)
    assert effect == Speak(effect.turn, (Sentence("Hello."),), is_all=True)
    turn: Turn = effect.turn
    return turn


def test_a_request_begins_and_waits_for_its_answer() -> None:
    session = make()
    turn = begin(session, "r")
    assert turn.request_id == "r"
    assert session.head is turn
    session.answered()
    assert session.head is None


def test_a_request_without_an_id_gets_one() -> None:
    (effect,) = say(make(), text="Hello.")
    assert effect.turn.request_id == "new"


def test_answers_are_owed_in_the_order_of_the_messages() -> None:
    session = make()
    first = begin(session, "1")
    assert say(session, text="Hi.", speed=99, request_id="2") == []
    third = begin(session, "3")
    owed = []
    while session.head is not None:
        owed.append(session.head)
        session.answered()
    assert owed[0] is first
    assert isinstance(owed[1], ErrorEvent)
    assert owed[1].request_id == "2"
    assert owed[2] is third


def test_ping_and_hello_are_answered_at_once() -> None:
    session = make()
    begin(session, "r")
    assert say(session, type="ping", id="p") == [Send(Pong("p"))]
    assert say(session, type="hello") == [Send(CAPABILITIES)]


def test_past_the_bound_a_request_is_busy_and_a_faulty_message_an_error_at_once() -> None:
    session = make(max_waiting=1)
    begin(session, "1")
    (busy,) = say(session, text="Hi.", request_id="2")
    assert (busy.event.code, busy.event.request_id, busy.event.retryable) == ("busy", "2", True)
    (faulty,) = session.receive("{")
    assert isinstance(faulty, Send)
    assert isinstance(faulty.event, ErrorEvent)
    assert faulty.event == ErrorEvent.of(ErrorCode.INVALID_JSON, faulty.event.message)
    assert session.waiting == 1


def test_while_no_requests_are_taken_each_gets_the_reason() -> None:
    session = make(refusal=Refusal(ErrorCode.SHUTTING_DOWN, "the server is shutting down"))
    assert say(session, text="Hi.", request_id="r") == []
    assert session.head == ErrorEvent.of(ErrorCode.SHUTTING_DOWN, "the server is shutting down", "r")


@pytest.mark.parametrize("fields", [{"request_id": "1"}, {}], ids=["one", "all"])
def test_cancel_stops_what_it_names(fields: dict[str, str]) -> None:
    session = make()
    first, second = begin(session, "1"), begin(session, "2")
    stopped = say(session, type="cancel", **fields)
    assert stopped == [Stop(first)] if fields else [Stop(first), Stop(second)]
    assert first.cancelled
    assert second.cancelled is not bool(fields)


@pytest.mark.parametrize("fields", [{"request_id": "other"}, {"context_id": "1"}], ids=["request", "context"])
def test_cancelling_what_is_not_there_does_nothing(fields: dict[str, str]) -> None:
    session = make()
    turn = begin(session, "1")
    assert say(session, type="cancel", **fields) == []
    assert not turn.cancelled


def test_a_turn_is_stopped_once() -> None:
    session = make()
    begin(session, "1")
    assert len(say(session, type="cancel")) == 1
    assert say(session, type="cancel") == [Hush()]


def test_a_barge_in_after_the_last_answer_makes_the_next_request_urgent() -> None:
    session = make()
    assert say(session, type="cancel") == [Hush()]
    assert say(session, type="cancel", request_id="nobody") == []


def test_close_cancels_all_but_the_head_and_ends_listening() -> None:
    session = make()
    first, second = begin(session, "1"), begin(session, "2")
    assert say(session, type="close") == [Stop(second)]
    assert session.closing
    assert not first.cancelled
    assert say(session, text="Hi.") == []
    assert say(session, type="ping") == []
    assert session.waiting == 2


# Contexts


def text(session: Session, delta: str = "", context_id: str = "c", **fields: Any) -> list[Any]:
    return say(session, type="text", context_id=context_id, delta=delta, **fields)


def spoken(effects: list[Any]) -> list[str]:
    return [sentence.text for effect in effects if isinstance(effect, Speak) for sentence in effect.sentences]


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


# What was heard


def heard(session: Session, request_id: str, *, chars: int = 5, context: bool = False) -> None:
    """Answer the head as one whose first `chars` characters take the first second."""
    alignment = Alignment()
    alignment.mark(1.0, chars)
    session.answered(Transcript(request_id, "Hello. Again.", alignment, 2.0))


def test_a_cancel_tells_how_much_of_the_answer_in_hand_was_played() -> None:
    session = make()
    first, second = begin(session, "1"), begin(session, "2")
    say(session, type="cancel", played_s=1.5)
    assert (first.played_s, second.played_s) == (1.5, None)


@pytest.mark.parametrize("fields", [{"request_id": "1"}, {}], ids=["one", "latest"])
def test_a_barge_in_after_the_end_tells_what_was_heard_once(fields: dict[str, str]) -> None:
    session = make()
    begin(session, "1")
    heard(session, "1")
    cancel = {"type": "cancel", "played_s": 1.5, **fields}
    assert say(session, **cancel) == [Send(SynthesisCancelled("1", "Hello", ". Again.", 2.0)), Hush()]
    assert all(effect == Hush() for effect in say(session, **cancel))


def test_a_late_cancel_without_played_s_tells_nothing_and_stops_the_sound_once() -> None:
    session = make()
    begin(session, "1")
    heard(session, "1")
    assert say(session, type="cancel", request_id="1") == [Hush()]
    assert say(session, type="cancel", request_id="1") == []


def test_a_late_cancel_of_what_never_was_stops_nothing() -> None:
    session = make()
    begin(session, "1")
    heard(session, "1")
    assert say(session, type="cancel", request_id="2") == []
    assert say(session, type="cancel", context_id="1", played_s=1.5) == [], "a request is no context"


def test_a_barge_in_for_all_is_about_the_answer_in_hand_where_there_is_one() -> None:
    session = make()
    begin(session, "1")
    heard(session, "1")
    turn = begin(session, "2")
    assert say(session, type="cancel", played_s=1.5) == [Stop(turn)]
    assert say(session, type="cancel", played_s=1.5, request_id="1") != []


@pytest.mark.parametrize("fields", [{"request_id": "2"}, {}], ids=["one", "all"])
def test_a_second_barge_in_is_not_about_an_earlier_answer(fields: dict[str, str]) -> None:
    session = make()
    begin(session, "2")
    heard(session, "2")
    turn = begin(session, "2")
    cancel = {"type": "cancel", "played_s": 1.5, **fields}
    assert say(session, **cancel) == [Stop(turn)]
    assert not [effect for effect in say(session, **cancel) if isinstance(effect, Send)]


def test_what_was_heard_is_remembered_for_a_bounded_while() -> None:
    session = make()
    for number in range(40):
        begin(session, str(number))
        heard(session, str(number))
    told = [bool(say(session, type="cancel", played_s=0, request_id=str(number))) for number in range(40)]
    assert told == [False] * 33 + [True] * 7, "100 characters of text: what a session may say in one request"


@given(st.lists(st.binary(max_size=40) | st.text(max_size=40), max_size=20))
def test_any_bytes_cost_at_most_an_error_each(messages: list[bytes | str]) -> None:
    session = make(max_waiting=3)
    for message in messages:
        effects = session.receive(message)
        assert len(effects) <= 1
        assert session.waiting <= 3
    assert say(session, type="ping") == [Send(Pong(None))]


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
