"""`invoke`: a text through the deployed endpoint, into a WAV file."""

from __future__ import annotations

import time
import wave
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from speech_client import Audio, SageMakerTransport, SpeechSession, SynthesisStart, VoiceOptions

_SAMPLE_BYTES = 2


@dataclass(frozen=True, slots=True)
class Spoken:
    """16-bit little-endian mono."""

    pcm: bytes
    sample_rate_hz: int
    first_audio_s: float

    @property
    def duration_s(self) -> float:
        """Of the audio."""
        return len(self.pcm) / _SAMPLE_BYTES / self.sample_rate_hz

    def write(self, path: Path) -> None:
        """A WAV file with true sizes."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with wave.open(str(path), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(_SAMPLE_BYTES)
            file.setframerate(self.sample_rate_hz)
            file.writeframes(self.pcm)


async def speak(
    transport: SageMakerTransport, text: str, options: VoiceOptions, on_audio: Callable[[float], None]
) -> Spoken:
    """`on_audio` is told the seconds that have come. Raises speech_client.SpeechError."""
    pcm = bytearray()
    rate_hz = options.sample_rate
    first_audio_s = 0.0
    async with SpeechSession.connect(transport) as session:
        started = time.monotonic()
        async for event in session.speak(text, options):
            match event:
                case SynthesisStart():
                    rate_hz = event.sample_rate
                case Audio():
                    first_audio_s = first_audio_s or time.monotonic() - started
                    pcm += event.data
                    on_audio(len(pcm) / _SAMPLE_BYTES / rate_hz)
                case _:
                    pass
    return Spoken(bytes(pcm), rate_hz, first_audio_s)
