"""Any bytes as a play for a `Stage`: records of one letter and what goes with it, so that a fuzzer's cuts make sense.

Records end at byte 0x1e, which no JSON and no UTF-8 text needs. A record that begins with `~` is followed by the next
one at once, before anything that it brings about has happened. A letter that means nothing is passed over.

    t text    a text message            b bytes   a binary message      f bytes   a binary message, in fragments
    n         a new session             1 2 3     it is this one's turn
    d         its client leaves         p digit   it reads so many more frames        u     it reads whatever comes
    i body    POST /invocations         o body    POST /v1/audio/speech
    x         the latest HTTP client hangs up     k         it reads nothing          l     it reads on
    g         the front end is done with a text   s         the engine begins         e     the engine is done
    E         the engine fails          r         front end and engine do all there is
    w digit   time passes: 1 ms, 10 ms, ... 10 s
    D         the server drains         A         and gives up what still runs
    8         (as the first record) the engine takes eight segments at once
"""

import contextlib
from collections.abc import Iterator
from typing import Final

from speech_protocol import Audio, Control, FragmentJoiner, Malformed, classify

from tests.fuzz.peers import HttpPeer
from tests.fuzz.stage import Stage
from tests.load.ledger import TooAmbiguous, Violation

END: Final = b"\x1e"
MAX_RECORDS: Final = 60
_MAX_SESSIONS: Final = 3
_MAX_CALLERS: Final = 4
_FRAGMENT_BYTES: Final = 7


def records(data: bytes) -> Iterator[tuple[bytes, bytes, bool]]:
    """A letter, what goes with it, and whether the next one comes at once."""
    for record in data.split(END)[:MAX_RECORDS]:
        comes_at_once = record.startswith(b"~")
        record = record.removeprefix(b"~")
        if record:
            yield record[:1], record[1:], comes_at_once


def play(data: bytes) -> None:
    """The whole play, to the end where everybody has left, or until nobody can tell what it is about.

    Raises `Violation`.
    """
    with Stage(max_batch=8 if data.startswith(b"8") else 1) as stage, contextlib.suppress(TooAmbiguous):
        Player(stage).play(data)
        stage.finish()


class Player:
    """Does what the records say."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._peer = stage.connect()
        self._caller: HttpPeer | None = None

    def play(self, data: bytes) -> None:
        """One record after the other."""
        for letter, payload, comes_at_once in records(data):
            self._do(letter.decode("latin-1"), payload)
            if not comes_at_once:
                self._stage.settle()

    def _do(self, letter: str, payload: bytes) -> None:
        stage = self._stage
        match letter:
            case "t":
                self._peer.say(payload.decode("utf-8", "replace"))
            case "b":
                self._peer.say(payload)
            case "f":
                self._say_in_fragments(payload)
            case "n":
                self._connect()
            case "1" | "2" | "3":
                self._peer = stage.peers[min(int(letter), len(stage.peers)) - 1]
            case "d":
                self._peer.leave()
            case "p":
                self._peer.read(_digit(payload))
            case "u":
                self._peer.read_on()
            case "i":
                self._post("/invocations", payload)
            case "o":
                self._post("/v1/audio/speech", payload)
            case "x" | "k" | "l" if self._caller is not None:
                {"x": self._caller.leave, "k": self._caller.stop_reading, "l": self._caller.read_on}[letter]()
            case "g":
                stage.prepare()
            case "s":
                stage.begin_step()
            case "e" | "E":
                stage.finish_step(fails=letter == "E")
            case "r":
                stage.work()
            case "w":
                stage.wait(10.0 ** (min(_digit(payload), 4) - 3))
            case "D":
                stage.drain()
            case "A":
                stage.abandon()

    def _connect(self) -> None:
        if len(self._stage.peers) < _MAX_SESSIONS:
            self._peer = self._stage.connect()

    def _post(self, path: str, body: bytes) -> None:
        if len(self._stage.callers) < _MAX_CALLERS:
            self._caller = self._stage.post(path, body)

    def _say_in_fragments(self, payload: bytes) -> None:
        joiner = FragmentJoiner()
        parts = [payload[start : start + _FRAGMENT_BYTES] for start in range(0, len(payload), _FRAGMENT_BYTES)]
        frame: Audio | Control | Malformed | None = None
        for number, part in enumerate(parts):
            if frame is not None:
                raise Violation("a message was whole before its last fragment came")
            frame = joiner.feed(part, final=number == len(parts) - 1)
        if parts and frame != classify(payload):
            raise Violation(f"joined from fragments, a message is {frame}, and else {classify(payload)}")
        self._peer.say(payload)


def _digit(payload: bytes) -> int:
    return int(payload[:1]) if payload[:1].isdigit() else 0
