"""OpenAI's voices."""

from typing import get_args

from openai.types.audio.speech_create_params import Voice
from speech_container.openai_voices import OPENAI_VOICES, in_kokoros_voice
from speech_container.voices import TONE_VOICES
from speech_protocol import parse_invocation


def test_every_one_of_them_stands_for_one_of_kokoros() -> None:
    (theirs,) = [get_args(kind) for kind in get_args(Voice) if get_args(kind)]
    assert set(theirs) <= set(OPENAI_VOICES)
    assert set(OPENAI_VOICES.values()) <= set(TONE_VOICES)
    assert not set(OPENAI_VOICES) & set(TONE_VOICES)


def test_nothing_but_the_voice_is_changed() -> None:
    theirs = parse_invocation(b'{"text": "Hi.", "voice": "nova", "speed": 1.5, "stream": false}')
    ours = parse_invocation(b'{"text": "Hi.", "voice": "af_nova", "speed": 1.5, "stream": false}')
    assert in_kokoros_voice(theirs) == ours
    assert in_kokoros_voice(ours) is ours
