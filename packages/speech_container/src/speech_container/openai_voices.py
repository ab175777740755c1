"""OpenAI's voices, and the voices of Kokoro's that stand for them over HTTP."""

from dataclasses import replace
from typing import Final

from speech_protocol import Invocation

OPENAI_VOICES: Final = {
    "alloy": "af_alloy",
    "ash": "am_michael",
    "ballad": "bm_george",
    "cedar": "am_puck",
    "coral": "af_bella",
    "echo": "am_echo",
    "fable": "bm_fable",
    "marin": "af_heart",
    "nova": "af_nova",
    "onyx": "am_onyx",
    "sage": "af_sarah",
    "shimmer": "af_sky",
    "verse": "am_fenrir",
}


def in_kokoros_voice(invocation: Invocation) -> Invocation:
    """The same request, with the voice that stands for one of OpenAI's."""
    request = invocation.synthesize
    voice = OPENAI_VOICES.get(request.options.voice)
    if voice is None:
        return invocation
    return replace(invocation, synthesize=replace(request, options=replace(request.options, voice=voice)))
