"""The pieces of an answer through one context and another, as lists of calls. No session, no clock."""

import random
from collections.abc import Sequence

import pytest
from agent_runtime.recital import Recital
from hypothesis import given
from hypothesis import strategies as st
from speech_protocol import WordTime

ONE, TWO, THREE = "The sky is blue.", "The sea is green.", "Nobody knows why."


def word(start_char: int, start_s: float = 0.0, text: str = "word") -> WordTime:
    return WordTime(text, start_s, start_s + 0.1, start_char, start_char + len(text))


def written(recital: Recital, *pieces: str) -> Recital:
    """With these pieces written into a first context."""
    recital.begin(0.0)
    for place, piece in enumerate(pieces):
        recital.add(place, piece)
    write_all(recital)
    return recital


def write_all(recital: Recital) -> list[str]:
    texts = []
    while (text := recital.unwritten()) is not None:
        texts.append(text)
        recital.written()
    return texts


def test_pieces_are_written_in_order_with_a_space_between() -> None:
    recital = Recital(skips=True)
    recital.begin(0.0)
    recital.add(0, ONE)
    recital.add(1, TWO)
    assert (recital.unwritten(), recital.written()) == (f"{ONE} ", 0)
    assert (recital.unwritten(), recital.written()) == (f"{TWO} ", 1)
    assert recital.unwritten() is None


def test_the_words_say_which_piece_is_next() -> None:
    recital = written(Recital(skips=True), ONE, TWO, THREE)
    assert recital.reach([word(0)]) == []
    assert (recital.place, recital.audio(b"ab")) == (0, b"ab")
    assert recital.reach([word(len(ONE) + 1)]) == [0]
    assert recital.place == 1
    assert recital.reach([word(len(ONE) + len(TWO) + 2)]) == [1]
    assert recital.place == 2
    assert recital.complete() == [2]
    assert recital.is_silent


def test_a_piece_without_a_word_is_passed_over() -> None:
    recital = written(Recital(skips=True), ONE, "\U0001f389", THREE)
    recital.reach([word(0)])
    assert recital.reach([word(len(ONE) + 3)]) == [0, 1]
    assert recital.place == 2


def test_further_words_of_a_piece_do_not_end_it() -> None:
    recital = written(Recital(skips=True), ONE + " " + TWO, THREE)
    assert recital.reach([word(0)]) == []
    assert recital.reach([word(len(ONE) + 1)]) == []
    assert recital.place == 0


def test_words_come_out_on_the_answer_s_clock_with_their_places_in_the_piece() -> None:
    recital = Recital(skips=True)
    recital.add(0, ONE)
    recital.add(1, TWO)
    recital.begin(1.5)
    write_all(recital)
    recital.reach([word(len(ONE) + 1 + 4)])
    (told,) = recital.words([word(len(ONE) + 1 + 4, 0.25, "sea")])
    assert told == WordTime("sea", 1.75, 1.85, 4, 7)


def test_a_lost_piece_is_said_again_and_what_the_listener_has_is_dropped() -> None:
    recital = written(Recital(skips=True), ONE, TWO)
    recital.reach([word(0)])
    assert recital.audio(b"abcd") == b"abcd"
    recital.add(2, THREE)
    assert recital.in_hand_bytes == 4
    recital.begin(0.0)
    assert write_all(recital) == [f"{ONE} ", f"{TWO} ", f"{THREE} "]
    recital.reach([word(0)])
    assert [recital.audio(data) for data in (b"ab", b"cdef", b"gh")] == [b"", b"ef", b"gh"]
    recital.reach([word(len(ONE) + 1)])
    assert recital.audio(b"xy") == b"xy"


def test_words_that_were_told_are_not_told_again() -> None:
    recital = written(Recital(skips=True), ONE)
    first, second = word(0), word(4, 0.2)
    recital.reach([first])
    assert len(recital.words([first])) == 1
    recital.begin(0.0)
    write_all(recital)
    recital.reach([first, second])
    assert [told.start_char for told in recital.words([first, second])] == [4]


def test_what_is_over_is_not_said_again() -> None:
    recital = written(Recital(skips=True), ONE, TWO)
    recital.reach([word(0)])
    recital.audio(b"abcd")
    recital.reach([word(len(ONE) + 1)])
    recital.begin(2.0)
    assert write_all(recital) == [f"{TWO} "]
    assert recital.in_hand_bytes == 0


def test_an_encoded_piece_is_heard_again_from_its_start() -> None:
    recital = written(Recital(skips=False), ONE)
    recital.reach([word(0)])
    recital.words([word(0)])
    recital.audio(b"head abcd")
    recital.begin(3.0)
    write_all(recital)
    recital.reach([word(0)])
    assert len(recital.words([word(0)])) == 1
    assert recital.audio(b"head abcd") == b"head abcd"


@pytest.mark.parametrize(
    ("skips", "has_words", "has_audio", "can_resume"),
    [
        (True, True, True, True),
        (True, False, True, True),
        (False, True, True, True),
        (False, False, False, True),
        (False, False, True, False),  # nobody knows which piece is in hand, and nothing can be dropped
    ],
)
def test_whether_the_rest_can_be_said_elsewhere(
    skips: bool, has_words: bool, has_audio: bool, can_resume: bool
) -> None:
    recital = written(Recital(skips=skips), ONE)
    if has_words:
        recital.reach([word(0)])
    if has_audio:
        recital.audio(b"ab")
    assert recital.can_resume is can_resume


def test_a_context_takes_what_fits_and_at_least_one_piece() -> None:
    recital = Recital(skips=True)
    recital.begin(0.0)
    assert recital.fits("x" * 1000, 10)
    recital.add(0, "12345678")
    write_all(recital)
    assert recital.fits("1", 10)
    assert not recital.fits("12", 10)
    recital.begin(0.0)
    assert recital.fits("12", 10)


class Server:
    """Says a context as a speech server does, and may die at any frame."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def speak(self, pieces: Sequence[str], with_words: bool, dies_after: int) -> tuple[list[WordTime | bytes], bool]:
        """What comes of the pieces, and whether that was all."""
        frames: list[WordTime | bytes] = []
        start_char = 0
        for piece in pieces:
            if with_words:
                frames.append(word(start_char))
            audio = sound(piece)
            cut = self._chance.randrange(1, len(audio))
            frames += [audio[:cut], audio[cut:]]
            start_char += len(piece) + 1
        return frames[:dies_after], dies_after >= len(frames)


def sound(piece: str) -> bytes:
    return random.Random(piece).randbytes(20 + len(piece))


@given(
    st.lists(st.text("ab. ", min_size=1), min_size=1, max_size=8, unique=True),
    st.lists(st.integers(0, 24), max_size=6),
    st.booleans(),
    st.integers(),
)
def test_however_often_the_server_dies_every_sample_is_heard_once(
    pieces: list[str], deaths: list[int], with_words: bool, seed: int
) -> None:
    server = Server(random.Random(seed))
    recital = Recital(skips=True)
    for place, piece in enumerate(pieces):
        recital.add(place, piece)
    heard = b""
    for dies_after in [*deaths, 10_000]:
        recital.begin(0.0)
        said = [text[:-1] for text in write_all(recital)]
        frames, is_whole = server.speak(said, with_words, dies_after)
        for frame in frames:
            if isinstance(frame, bytes):
                heard += recital.audio(frame)
            else:
                recital.reach([frame])
        if is_whole:
            recital.complete()
            break
    assert heard == b"".join(map(sound, pieces))
    assert recital.is_silent
