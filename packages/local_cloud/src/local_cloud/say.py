"""`voice-local say`: a text through the real SageMaker client, the gateway and the container, into a WAV file."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from speech_client import AwsCredentials, SageMakerTransport, SpeechSession, StaticCredentials
from speech_protocol import Audio, SynthesisStart, VoiceOptions

from local_cloud.answer import write_wav
from local_cloud.stack import ENDPOINT_NAME, REGION, LocalStack


@dataclass(frozen=True, slots=True)
class Spoken:
    """Audio of one text: 16-bit little-endian mono at `sample_rate_hz`."""

    pcm: bytes
    sample_rate_hz: int

    @property
    def duration_s(self) -> float:
        """Of the audio."""
        return len(self.pcm) / 2 / self.sample_rate_hz

    def write_wav(self, path: Path) -> None:
        """A WAV file with true sizes."""
        write_wav(path, self.pcm, self.sample_rate_hz)


async def say(
    stack: LocalStack, text: str, options: VoiceOptions, on_audio: Callable[[float], None] = lambda _seconds: None
) -> Spoken:
    """Speak `text`. `on_audio` is told the seconds of audio that have come. Raises `speech_client.SpeechError`."""
    pcm = bytearray()
    rate_hz = options.sample_rate
    async with SpeechSession.connect(transport(stack)) as session:
        async for event in session.speak(text, options):
            match event:
                case SynthesisStart():
                    rate_hz = event.sample_rate
                case Audio():
                    pcm += event.data
                    on_audio(len(pcm) / 2 / rate_hz)
                case _:
                    pass
    return Spoken(bytes(pcm), rate_hz)


def transport(stack: LocalStack) -> SageMakerTransport:
    """The SageMaker client of this stack's bidirectional plane."""
    keys = stack.credentials
    return SageMakerTransport(
        ENDPOINT_NAME,
        region=REGION,
        endpoint_uri=stack.bidirectional.url,
        ca_file=stack.ca_file,
        credentials=StaticCredentials(AwsCredentials(keys.access_key_id, keys.secret_access_key)),
    )
