"""A session without a server: its clock, its limits, and what is said to it."""

import json
from typing import Any

from speech_container.context import Sentence
from speech_container.errors import Refusal
from speech_container.session import Session
from speech_container.turn import Speak, Turn
from speech_protocol import Capabilities, ErrorCode, VoiceOptions
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


def text(session: Session, delta: str = "", context_id: str = "c", **fields: Any) -> list[Any]:
    return say(session, type="text", context_id=context_id, delta=delta, **fields)


def spoken(effects: list[Any]) -> list[str]:
    return [sentence.text for effect in effects if isinstance(effect, Speak) for sentence in effect.sentences]
