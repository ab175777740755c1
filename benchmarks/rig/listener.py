"""A listener who plays what it is sent in real time, and asks for its next text when it has heard the last one.

So the load follows from the listening, as it does with people: a server that answers late is asked later. What was
heard is worked out from when the frames came.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from speech_client import Audio, Deadlines, SpeechRequestError, SpeechSession, SynthesisComplete, VoiceOptions
from speech_container.engine import SAMPLE_RATE_HZ
from speech_container.pcm import SAMPLE_BYTES
from speech_container.playback import underruns
from speech_protocol import ErrorCode

OPTIONS: Final = VoiceOptions(format="pcm", sample_rate=SAMPLE_RATE_HZ)
TEXTS: Final = tuple(Path(__file__).with_name("answers.txt").read_text("utf-8").splitlines())
"""What an agent answers: four sentences, of 267 characters together."""
PATIENCE: Final = Deadlines(first_audio_s=300, silence_s=120)
"""Behind a lock that three others hold, on a machine that is busy with something else."""


@dataclass(frozen=True, slots=True)
class Heard:
    """One text as it was heard, in seconds. `asked_s` counts from the beginning of the run."""

    listener: int
    asked_s: float
    first_audio_s: float
    silence_s: float
    """Between the first audio and the last: the next sentence was not there in time."""
    audio_s: float
    queue_s: float
    """As the server counted it: from when the text was ready for the engine until the engine began with it."""
    refused: int = 0
    """How often the server was `busy`. The listener asked again when it was told to; `first_audio_s` counts it all."""

    @property
    def took_s(self) -> float:
        """From asking to the end of what was heard."""
        return self.first_audio_s + self.silence_s + self.audio_s


async def listen(listener: int, url: str, texts: Sequence[str], *, began_s: float, starts_s: float) -> list[Heard]:
    """Hear `texts` one after the other, the first `starts_s` after `began_s` (on the event loop's clock).

    Raises `speech_client.SpeechError`.
    """
    heard: list[Heard] = []
    async with SpeechSession.connect(url, deadlines=PATIENCE) as session:
        next_s = began_s + starts_s
        for text in texts:
            await _until(next_s)
            heard.append(await hear(session, text, listener, began_s))
            next_s = began_s + heard[-1].asked_s + heard[-1].took_s
        await _until(next_s)  # a listener who is still playing keeps its session open
    return heard


async def hear(session: SpeechSession, text: str, listener: int, began_s: float) -> Heard:
    """One text, asked for now, and again for as long as the server is busy."""
    clock = asyncio.get_running_loop().time
    asked_s = clock()
    refused = 0
    while True:
        try:
            arrivals, queue_s = await _arrivals(session, text)
        except SpeechRequestError as error:
            if error.code != ErrorCode.BUSY or error.retry_after_s is None:
                raise
            refused += 1
            await asyncio.sleep(error.retry_after_s)
        else:
            break
    _, silence_s = underruns(arrivals)
    audio_s = sum(seconds for _, seconds in arrivals)
    return Heard(listener, asked_s - began_s, arrivals[0][0] - asked_s, silence_s, audio_s, queue_s, refused)


async def _arrivals(session: SpeechSession, text: str) -> tuple[list[tuple[float, float]], float]:
    """When which length of audio came, and how long the text was in the server's queue."""
    clock = asyncio.get_running_loop().time
    arrivals: list[tuple[float, float]] = []
    queue_s = 0.0
    async for event in session.speak(text, OPTIONS):
        match event:
            case Audio(data):
                arrivals.append((clock(), len(data) / SAMPLE_BYTES / SAMPLE_RATE_HZ))
            case SynthesisComplete():
                queue_s = event.queue_s
            case _:
                pass
    return arrivals, queue_s


async def _until(at_s: float) -> None:
    await asyncio.sleep(max(0.0, at_s - asyncio.get_running_loop().time()))
