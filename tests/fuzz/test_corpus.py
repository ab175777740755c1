"""Every play and every piece of input that fuzzing has kept, again; and the stage can tell a server that is broken."""

from pathlib import Path

import pytest

from tests.fuzz.fuzz import CORPUS
from tests.fuzz.parsers import read
from tests.fuzz.script import play
from tests.fuzz.stage import Stage
from tests.load.ledger import Violation

PLAYS = sorted((CORPUS / "session").iterdir())
INPUTS = sorted((CORPUS / "parsers").iterdir())
HELLO = '{"text": "Hello there.", "request_id": "a"}'


@pytest.mark.parametrize("file", PLAYS, ids=lambda file: str(file.name)[:20])
def test_a_play_ends_with_everything_answered_and_nothing_left(file: Path) -> None:
    play(file.read_bytes())


@pytest.mark.parametrize("file", INPUTS, ids=lambda file: str(file.name)[:20])
def test_parsers_take_it_or_refuse_it(file: Path) -> None:
    read(file.read_bytes())


def test_the_stage_sees_an_answer_that_never_comes() -> None:
    with Stage() as stage:
        peer = stage.connect()
        peer.ledger.sent(HELLO)  # and it is lost on the way
        with pytest.raises(Violation, match="never came"):
            stage.finish()


def test_the_stage_sees_an_answer_that_nobody_asked_for() -> None:
    with Stage() as stage:
        peer = stage.connect()
        peer.say(HELLO)
        peer.ledger._readings = [type(peer.ledger._readings[0])()]  # as if it had never been said
        with pytest.raises(Violation, match="is not what is owed"):
            stage.finish()


def test_the_stage_sees_a_place_that_is_not_given_back() -> None:
    with Stage() as stage:
        stage.connect()
        with stage.service.admitted(), pytest.raises(Violation, match="'running': 1"):
            stage.finish()


def test_the_stage_sees_a_request_that_is_counted_twice() -> None:
    with Stage() as stage:
        stage.connect().say(HELLO)
        stage.service.telemetry.observer("websocket").unheard("a", "dropped")
        with pytest.raises(Violation, match="the log tells of 2"):
            stage.finish()


def test_the_stage_sees_what_is_logged_as_a_failure() -> None:
    with Stage() as stage:
        stage.connect()
        stage.loop.call_soon(lambda: 1 / 0)
        with pytest.raises(Violation, match="division by zero"):
            stage.finish()
