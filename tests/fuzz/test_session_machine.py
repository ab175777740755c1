"""Whole sessions on a `Stage`, driven by hypothesis; what each is owed is for the ledgers to say.

`make test` tries a few plays; `make fuzz` many (`--hypothesis-profile fuzz`).
"""

import contextlib
import json
from collections.abc import Iterator
from typing import Any

from hypothesis import reject, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from tests.fuzz.peers import HttpPeer, SocketPeer
from tests.fuzz.stage import Stage
from tests.load.ledger import TooAmbiguous

NAMES = st.sampled_from(["a", "b", "c", "d"])
TEXTS = st.sampled_from(["Hello there.", "One. Two. Three.", "a", "?!", " ", "", "word " * 20, "x" * 121, "\0 \u202e"])
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "voice": st.sampled_from(["bm_george", "nobody", "af_heart(2)+af_bella(1)", ""]),
        "speed": st.sampled_from([0.5, 2, 9]),
        "format": st.sampled_from(["wav", "mp3", "flac"]),
        "sample_rate": st.sampled_from([8000, 44100]),
        "language": st.sampled_from(["en-us", "tlh"]),
        "timestamps": st.booleans(),
        "request_timestamp": st.just(1),
    },
)
MALFORMED = st.one_of(
    st.binary(max_size=30),
    st.text(max_size=30),
    st.sampled_from(['{"type": "zzz"}', "[]", '{"text": "a"', '{"type": "cancel", "played_s": -1}']),
    st.builds(
        lambda name, flush: json.dumps({"type": "text", "context_id": name, "delta": 5, "flush": flush}),
        NAMES,
        st.booleans(),
    ),
)


@contextlib.contextmanager
def understood() -> Iterator[None]:
    """A play in which nobody can tell any more what an answer is about proves nothing: another one is tried."""
    try:
        yield
    except TooAmbiguous:
        reject()


class Sessions(RuleBasedStateMachine):
    """Up to three sessions and a few HTTP requests, their engine, their network and their time."""

    def __init__(self) -> None:
        super().__init__()
        self.stage = Stage()
        self.stage.__enter__()
        self.stage.connect()
        self.settles = True
        self.nameless = 0

    def teardown(self) -> None:
        try:
            with contextlib.suppress(TooAmbiguous):
                self.stage.finish()
        finally:
            self.stage.__exit__()

    def peer(self, number: int) -> SocketPeer:
        return self.stage.peers[number % len(self.stage.peers)]

    def say(self, number: int, message: dict[str, Any] | bytes | str, *, as_bytes: bool = False) -> None:
        data = json.dumps(message) if isinstance(message, dict) else message
        with understood():
            self.peer(number).say(data.encode() if as_bytes and isinstance(data, str) else data)
        self.follow()

    def follow(self) -> None:
        if self.settles:
            with understood():
                self.stage.settle()

    @rule(settles=st.booleans())
    def hurry(self, settles: bool) -> None:
        """What is done next, is done before anything has come of it."""
        self.settles = settles
        self.follow()

    @precondition(lambda self: len(self.stage.peers) < 3)
    @rule()
    def connect(self) -> None:
        self.stage.connect()
        self.follow()

    @rule(number=st.integers(0, 2), text=TEXTS, name=NAMES, options=OPTIONS, as_bytes=st.booleans())
    def synthesize(self, number: int, text: str, name: str, options: dict[str, Any], as_bytes: bool) -> None:
        message = {"type": "synthesize", "text": text, "request_id": name, **options}
        self.say(number, message, as_bytes=as_bytes)

    @precondition(lambda self: self.nameless < 4)  # of more of them nobody could tell which an answer is about
    @rule(number=st.integers(0, 2), text=TEXTS)
    def synthesize_without_a_name(self, number: int, text: str) -> None:
        self.nameless += 1
        self.say(number, {"text": text})

    @rule(number=st.integers(0, 2), name=NAMES, delta=TEXTS, flush=st.booleans(), options=st.just({}) | OPTIONS)
    def write(self, number: int, name: str, delta: str, flush: bool, options: dict[str, Any]) -> None:
        self.say(number, {"type": "text", "context_id": name, "delta": delta, "flush": flush, **options})

    @rule(
        number=st.integers(0, 2),
        named=st.fixed_dictionaries({}, optional={"request_id": NAMES, "context_id": NAMES, "played_s": st.just(0.2)}),
    )
    def cancel(self, number: int, named: dict[str, Any]) -> None:
        self.say(number, {"type": "cancel", **named})

    @rule(number=st.integers(0, 2), message=MALFORMED)
    def babble(self, number: int, message: bytes | str) -> None:
        self.say(number, message)

    @rule(number=st.integers(0, 2), kind=st.sampled_from(["ping", "hello"]))
    def ask(self, number: int, kind: str) -> None:
        self.say(number, {"type": kind})

    @rule(number=st.integers(0, 2), way=st.sampled_from(["close", "leave"]))
    def end(self, number: int, way: str) -> None:
        if way == "close":
            self.say(number, {"type": "close"})
        else:
            self.peer(number).leave()
            self.follow()

    @rule(number=st.integers(0, 2), frames=st.integers(0, 3))
    def read_little(self, number: int, frames: int) -> None:
        self.peer(number).read(frames)
        self.follow()

    @rule(number=st.integers(0, 2))
    def read_on(self, number: int) -> None:
        self.peer(number).read_on()
        self.follow()

    @precondition(lambda self: len(self.stage.callers) < 3)
    @rule(
        path=st.sampled_from(["/invocations", "/v1/audio/speech"]),
        text=TEXTS,
        options=OPTIONS,
        more=st.fixed_dictionaries(
            {},
            optional={
                "stream": st.booleans(),
                "transport": st.sampled_from(["sse", "binary"]),
                "stream_format": st.sampled_from(["sse", "audio"]),
            },
        ),
    )
    def post(self, path: str, text: str, options: dict[str, Any], more: dict[str, Any]) -> None:
        body = {"text": text, "input": text, "voice": "alloy", **options, **more}
        self.stage.post(path, json.dumps(body).encode())
        self.follow()

    @precondition(lambda self: self.stage.callers)
    @rule(does=st.sampled_from([HttpPeer.leave, HttpPeer.stop_reading, HttpPeer.read_on]))
    def behave(self, does: Any) -> None:
        does(self.stage.callers[-1])
        self.follow()

    @rule()
    def prepare(self) -> None:
        self.stage.prepare()
        self.follow()

    @rule()
    def begin(self) -> None:
        self.stage.begin_step()
        self.follow()

    @rule(fails=st.sampled_from([False, False, False, True]))
    def finish(self, fails: bool) -> None:
        self.stage.finish_step(fails=fails)
        self.follow()

    @rule()
    def work(self) -> None:
        self.stage.work()

    @rule(seconds=st.sampled_from([0.01, 0.3, 6.0]))
    def wait(self, seconds: float) -> None:
        self.stage.wait(seconds)
        self.follow()


TestSessions = Sessions.TestCase
_IS_LONG = settings.get_current_profile_name() == "fuzz"
TestSessions.settings = settings(max_examples=settings().max_examples if _IS_LONG else 40, stateful_step_count=40)
