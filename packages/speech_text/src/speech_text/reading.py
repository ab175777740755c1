"""From a text as sent to sentences as they will be read: everything before pronunciation.

    text ─ sentences ─ markup out ─ clean ─ given pronunciations aside ─ normalise ─ pronunciations back

Pure functions over `Traced` text; no step needs a grapheme-to-phoneme engine.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from speech_text.cleaning import break_long_runs, clean
from speech_text.errors import LanguageUnsupported
from speech_text.languages import spoken_language
from speech_text.marks import mark, render, unmark
from speech_text.sentence_chunker import IncrementalSentenceChunker
from speech_text.speakable import DEFAULT_RULES, Rule, SpeakableFilter
from speech_text.spoken import Override
from speech_text.traced import Traced


@dataclass(frozen=True)
class Reading:
    """One sentence to be read: its words, and those among them whose pronunciation is given."""

    text: Traced
    overrides: tuple[Override, ...] = ()


def readings(
    text: str, language: str, lexicon: Mapping[str, str] | None = None, rules: Iterable[Rule] = DEFAULT_RULES
) -> list[Reading]:
    """The sentences of `text` in order, as they will be read. Needs the extra `g2p` (babel, num2words).

    Args:
        text: as sent; the answer's character ranges are into it.
        language: one of `languages()`, or a spelling of one.
        lexicon: word → phonemes; its words are left as they are.
        rules: the table of markup rules.

    Raises:
        LanguageUnsupported: no voice speaks the language, or the extra is not installed.
    """
    try:
        from speech_text.normaliser import normaliser
    except ImportError as error:
        raise LanguageUnsupported(
            "reading text aloud needs the extra 'g2p' (pip install 'speech-text[g2p]'), which is not installed"
        ) from error
    spoken = spoken_language(language)
    normalise = normaliser(spoken)
    speakable_filter = SpeakableFilter(rules)
    result: list[Reading] = []
    for sentence in _sentences(Traced.of(text), language):
        for part in speakable_filter.filter(sentence):
            marked = mark(clean(part), lexicon or {}, spoken)
            normal, overrides = unmark(marked, break_long_runs(normalise(marked.text)))
            if normal.text.strip():
                result.append(Reading(normal, tuple(overrides)))
    return result


def speakable(
    text: str,
    language: str = "en-us",
    lexicon: Mapping[str, str] | None = None,
    *,
    rules: Iterable[Rule] = DEFAULT_RULES,
) -> str:
    """The text as it will be read, for people and for other Kokoro servers: given pronunciations in inline syntax."""
    parts = (
        render(
            " ".join(reading.text.text.split()) if not reading.overrides else reading.text.text, list(reading.overrides)
        )
        for reading in readings(text, language, lexicon, rules)
    )
    return " ".join(" ".join(part.split()) for part in parts)


def _sentences(traced: Traced, language: str) -> list[Traced]:
    chunker = IncrementalSentenceChunker(language)
    parts: list[Traced] = []
    at = 0
    for sentence in (*chunker.feed(traced.text), *chunker.flush()):
        start = traced.text.index(sentence, at)
        at = start + len(sentence)
        parts.append(traced.part(start, at))
    return parts
