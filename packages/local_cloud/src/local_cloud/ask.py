"""`voice-local ask`: one question through the whole path, in one mode or both, and what it took.

Both modes meet the same agent, language model and speech server; runs alternate between the modes, so that a machine
that warms up or is busy for a moment favours neither.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local_cloud.answer import Answer
from local_cloud.caller import AgentCaller
from local_cloud.comparison import Comparison, compare
from local_cloud.errors import AnswerFailed
from local_cloud.socket_caller import SocketCaller
from local_cloud.timeline import draw_timeline

Step = Callable[[str], AbstractContextManager[Callable[[str], None]]]


@dataclass(frozen=True, slots=True)
class Question:
    """What to ask, in which modes, how often, in whose voice, and over which of the agent's faces (`sse` or `ws`)."""

    prompt: str
    modes: Sequence[str] = ("bidi", "batch")
    runs: int = 1
    voice: str | None = None
    transport: str = "sse"


@dataclass(frozen=True, slots=True)
class Result:
    """All answers in the order in which they came."""

    question: Question
    answers: tuple[Answer, ...]

    @property
    def comparison(self) -> Comparison:
        """Medians and the ratio."""
        return compare(self.answers)

    def last(self, mode: str) -> Answer:
        """The latest answer of a mode that was asked."""
        return next(answer for answer in reversed(self.answers) if answer.mode == mode)

    def write(self, directory: Path) -> list[Path]:
        """answer.wav (the first mode's last answer), timeline.png and timings.json; returns their paths.

        Raises `AnswerFailed` where the answer has no audio.
        """
        shown = [self.last(mode) for mode in self.question.modes]
        if not shown[0].audio:
            raise AnswerFailed(f"the answer holds nothing to hear; its text is {shown[0].text[:80]!r}")
        paths = [directory / name for name in ("answer.wav", "timeline.png", "timings.json")]
        shown[0].write_wav(paths[0])
        draw_timeline(shown, paths[1], title=self.question.prompt)
        paths[2].write_text(json.dumps(self.as_dict(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return paths

    def as_dict(self) -> dict[str, Any]:
        """For `--json`: the medians, the ratio, and every answer without its audio."""
        return {
            "prompt": self.question.prompt,
            **self.comparison.as_dict(),
            "answers": [a.as_dict() for a in self.answers],
        }


async def ask(caller: AgentCaller, question: Question, step: Step) -> Result:
    """Ask in every mode, `runs` times. Raises `AnswerFailed`."""
    answers: list[Answer] = []
    for run in range(question.runs):
        for mode in question.modes:
            number = f", run {run + 1} of {question.runs}" if question.runs > 1 else ""
            with step(f"The agent answers ({mode}{number})") as progress:
                answers.append(await _ask_once(caller, question, mode, _Progress(progress)))
    return Result(question, tuple(answers))


async def _ask_once(caller: AgentCaller, question: Question, mode: str, progress: "_Progress") -> Answer:
    """In a session of its own: no answer knows of another."""
    if question.transport == "ws":
        async with SocketCaller.connect(caller) as socket:
            return await socket.ask(question.prompt, mode=mode, voice=question.voice, on_event=progress)
    return await caller.ask(question.prompt, mode=mode, voice=question.voice, on_event=progress)


class _Progress:
    """Counts what has come, for the line that a person watches."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._words = 0
        self._audio_bytes = 0

    def __call__(self, event: dict[str, Any]) -> None:
        if event.get("type") == "text_delta":
            self._words += len(str(event["text"]).split())
        if event.get("type") == "audio_chunk":
            self._audio_bytes += int(event.get("bytes", 0)) or len(str(event["data"])) * 3 // 4
        self._show(f"{self._words} words, {self._audio_bytes / 48_000:.1f} s of audio")
