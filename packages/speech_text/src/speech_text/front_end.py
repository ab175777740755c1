"""From a text as sent to segments of phonemes: the pipeline that composes this package's steps.

    text ─ readings (sentences, markup out, normalised) ─ pronounce ─ sounds ─ segments

Each step is a pure function in a module of its own; this one holds what must be kept between calls: the loaded
languages, and a lock for each, since misaki, spaCy's pipeline and espeak are not made for two threads at once.
"""

import re
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec

from speech_text import lexicon as lexicons
from speech_text.errors import NothingToSay
from speech_text.languages import spoken_language
from speech_text.reading import readings
from speech_text.segments import Segment, pack, sounds
from speech_text.speakable import DEFAULT_RULES, Rule
from speech_text.spoken import Pronouncer, Spoken
from speech_text.traced import Traced

#: The model's position table has 512 rows, of which the start and end marks take two (kokoro's `KModel`).
MAX_PHONEMES = 510
#: Read once when a language is loaded, so that the rules are compiled and CLDR's names are in memory.
_WARM_UP = "$1, 2 km."


def _english(*, british: bool) -> Pronouncer:
    from speech_text.english import EnglishPronouncer

    return EnglishPronouncer(british=british)


def _world(language: str) -> Pronouncer:
    from speech_text.world import WorldPronouncer

    return WorldPronouncer(language)


def _japanese() -> Pronouncer:
    from speech_text.japanese import JapanesePronouncer

    return JapanesePronouncer()


def _mandarin() -> Pronouncer:
    from speech_text.mandarin import MandarinPronouncer

    return MandarinPronouncer()


_PRONOUNCERS: Mapping[str, Callable[[], Pronouncer]] = {
    "en-us": partial(_english, british=False),
    "en-gb": partial(_english, british=True),
    **{language: partial(_world, language) for language in ("es", "fr", "hi", "it", "pt-br")},
    "ja": _japanese,
    "zh": _mandarin,
}
#: Modules that a language cannot do without, from the extras `g2p`, `ja` and `zh`.
_NEEDS = {
    "en-us": ("misaki", "spacy", "en_core_web_sm"),
    "en-gb": ("misaki", "spacy", "en_core_web_sm"),
    "ja": ("misaki", "fugashi", "unidic_lite", "mojimoji"),
    "zh": ("misaki", "jieba", "pypinyin", "cn2an"),
}


@dataclass
class _Language:
    """One language's engine, made on first use, and the lock that is held while it works."""

    make: Callable[[], Pronouncer]
    lock: threading.Lock = field(default_factory=threading.Lock)
    pronounce: Pronouncer | None = None


class FrontEnd:
    """Turns text into segments that a Kokoro voice can speak.

    Safe to call from any number of threads: work in one language is done one call at a time, different languages side
    by side. No lock is held while anything but the computation runs, except that a language loads its files once.

    Args:
        vocabulary: the symbols that the model knows (Kokoro's `config.json`, key `vocab`); a mapping's keys are used.
        max_phonemes: longest segment, in phonemes.
        rules: how markup is taken out; see `speech_text.speakable`.
    """

    def __init__(
        self,
        vocabulary: Mapping[str, int] | Collection[str],
        *,
        max_phonemes: int = MAX_PHONEMES,
        rules: Iterable[Rule] = DEFAULT_RULES,
    ) -> None:
        if not 1 <= max_phonemes <= MAX_PHONEMES:
            raise ValueError(f"max_phonemes must be from 1 to {MAX_PHONEMES}, got {max_phonemes}")
        self._vocabulary = frozenset(vocabulary)
        self._max_phonemes = max_phonemes
        self._rules = tuple(rules)
        self._languages = {tag: _Language(make) for tag, make in _PRONOUNCERS.items()}

    @property
    def languages(self) -> tuple[str, ...]:
        """The tags that `segments` can pronounce in this installation, loaded or not; a server tells its clients."""
        return tuple(tag for tag in self._languages if all(map(find_spec, _NEEDS.get(tag, ("misaki", "phonemizer")))))

    def load(self, language: str) -> None:
        """Load a language now rather than on its first use (about five seconds for English).

        Raises:
            LanguageUnsupported: no voice speaks it, or the extra that it needs is not installed.
        """
        found = self._language(language)
        with found.lock:
            pronounce = self._engine(found)
            for reading in readings(_WARM_UP, language):
                pronounce(reading.text.text, reading.overrides)

    def segments(self, text: str, language: str = "en-us", lexicon: Mapping[str, str] | None = None) -> list[Segment]:
        """The text as segments, in order; together their words are all the words of the text.

        Args:
            text: as the caller sent it. Character ranges in the answer are into exactly this string.
            language: a tag of `languages()` or a spelling of one (`en`, `pt`).
            lexicon: word → phonemes in Kokoro's alphabet; see `speech_text.lexicon`.

        Raises:
            LanguageUnsupported: no voice speaks the language, or the extra that it needs is not installed.
            NothingToSay: the text has nothing in it that can be spoken.
            LexiconInvalid: an entry of the lexicon cannot be used.
        """
        lexicon = lexicon or {}
        lexicons.check(lexicon, self._vocabulary)
        found = self._language(language)
        result: list[Segment] = []
        for reading in readings(text, language, lexicon, self._rules):
            with found.lock:
                tokens = self._engine(found)(reading.text.text, reading.overrides)
            result.extend(pack(sounds(tokens, reading.text, self._vocabulary), text, self._max_phonemes))
        audible = _audible(result)
        if not audible:
            raise NothingToSay(_nothing(text, result))
        return audible

    def phonemes(self, phonemes: str) -> list[Segment]:
        """Raw phonemes as segments: what is between spaces is a word, and ranges are into `phonemes`.

        Raises:
            NothingToSay: no symbol of it makes a sound.
        """
        tokens = [Spoken(found.start(), found.end(), found[0], True) for found in re.finditer(r"\S+", phonemes)]
        heard = sounds(tokens, Traced.of(phonemes), self._vocabulary)
        audible = _audible(pack(heard, phonemes, self._max_phonemes))
        if not audible:
            raise NothingToSay(f"none of the {len(phonemes)} symbols is a sound that the voice knows")
        return audible

    def _language(self, language: str) -> _Language:
        return self._languages[spoken_language(language)]

    @staticmethod
    def _engine(found: _Language) -> Pronouncer:
        if found.pronounce is None:
            found.pronounce = found.make()
        return found.pronounce


def _audible(segments: list[Segment]) -> list[Segment]:
    """The segments that have words; what the silent ones report as unsupported is reported by their neighbours."""
    result: list[Segment] = []
    orphans: tuple[str, ...] = ()
    for segment in segments:
        if segment.words:
            result.append(replace(segment, unsupported=(*orphans, *segment.unsupported)))
            orphans = ()
        elif result:
            result[-1] = replace(result[-1], unsupported=(*result[-1].unsupported, *segment.unsupported))
        else:
            orphans += segment.unsupported
    return result


def _nothing(text: str, segments: list[Segment]) -> str:
    strange = [word for segment in segments for word in segment.unsupported]
    if strange:
        return f"none of the text can be spoken in this language; unknown: {' '.join(strange)[:35]!r}"
    return f"the text has no words that can be spoken (it has {len(text)} characters)"
