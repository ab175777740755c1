"""From a request to what the engine is to say: a `Script` of utterances, each with the part of the text that it speaks.

Making phonemes takes 3 to 10 ms of Python a sentence, so `Narrator.script` is called in a thread of its own, never on
the event loop. It is not safe to call from two threads at once: the pronunciation dictionaries share state.
"""

import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from speech_protocol import ErrorCode, Synthesize, VoiceOptions
from speech_text import IncrementalSentenceChunker, LanguageUnsupported, LexiconInvalid, NothingToSay, Segment

from .engine import Utterance
from .errors import Refusal
from .voices import VoiceBook


class FrontEnd(Protocol):
    """What `speech_text.FrontEnd` does: text to segments of phonemes."""

    @property
    def languages(self) -> Collection[str]:
        """The languages that `segments` speaks."""

    def load(self, language: str) -> None:
        """Load what `language` needs, so that the first request does not wait for it."""

    def segments(self, text: str, language: str = "en-us", lexicon: Mapping[str, str] | None = None) -> list[Segment]:
        """Segments in order, each within the model's window. Raises `LanguageUnsupported` and `NothingToSay`."""


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """One utterance and where the text that it speaks begins and ends."""

    utterance: Utterance
    segment: Segment


@dataclass(frozen=True, slots=True, eq=False)
class Script:
    """A request, ready for the engine. At least one line."""

    text: str
    options: VoiceOptions
    lines: tuple[Line, ...]


class Narrator:
    """A front end, a vocabulary and voices, put together."""

    def __init__(self, front_end: FrontEnd, vocabulary: Mapping[str, int], voices: VoiceBook) -> None:
        self._front_end = front_end
        self._vocabulary = vocabulary
        self.voices = voices

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages that requests may name."""
        return tuple(sorted(self._front_end.languages))

    def script(self, request: Synthesize) -> Script:
        """Blocking: the request's phonemes as utterances. Raises `Refusal`."""
        options = request.options
        language = self._language(options)
        try:
            segments = self._front_end.segments(request.text, language, dict(options.lexicon) or None)
        except LanguageUnsupported:
            raise self._unsupported(language) from None
        except LexiconInvalid:
            raise Refusal(
                ErrorCode.INVALID_MESSAGE, 'a pronunciation in "lexicon" is empty or has symbols that no voice knows'
            ) from None
        except NothingToSay:
            raise nothing_to_say() from None
        lines = tuple(self._line(segment, options) for segment in segments if segment.phonemes)
        if not lines:
            raise nothing_to_say()
        return Script(request.text, options, lines)

    def chunker(self, options: VoiceOptions) -> IncrementalSentenceChunker:
        """What cuts text that is to be spoken so into sentences. Raises `Refusal` for the voice or the language."""
        language = self._language(options)
        try:
            return IncrementalSentenceChunker(language)
        except LanguageUnsupported:
            raise self._unsupported(language) from None

    def _language(self, options: VoiceOptions) -> str:
        voice_language = self.voices.language(options.voice)
        return options.language or voice_language

    def _unsupported(self, language: str) -> Refusal:
        shown = ascii(language) if len(language) <= 20 else "that one"
        known = ", ".join(self.languages)
        return Refusal(
            ErrorCode.LANGUAGE_UNSUPPORTED, f"this server speaks {known}; the language {shown} was asked for"
        )

    def _line(self, segment: Segment, options: VoiceOptions) -> Line:
        tokens = tuple(self._vocabulary[phoneme] for phoneme in segment.phonemes)
        style = self.voices.style(options.voice, len(tokens))
        seed = zlib.crc32(segment.phonemes.encode())
        shares = self.voices.shares(options.voice)
        return Line(Utterance(tokens, style, options.speed, seed, options.latency or "exact", shares), segment)


def nothing_to_say() -> Refusal:
    """Of a text without a word in it."""
    return Refusal(ErrorCode.TEXT_EMPTY, "there is nothing in this text that can be pronounced")
