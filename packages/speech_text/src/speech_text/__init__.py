"""Text as a language model writes it → sentences → words a voice can read → phonemes.

Importing this package is cheap and needs no extra: an agent only cuts sentences. The grapheme-to-phoneme part (extra
`g2p`) is imported by `FrontEnd` when a language is first loaded.
"""

from speech_text.alphabet import KOKORO_SYMBOLS
from speech_text.errors import LanguageUnsupported, LexiconInvalid, NothingToSay, SpeechTextError
from speech_text.front_end import FrontEnd
from speech_text.languages import languages, voice_language
from speech_text.segments import Segment, Word
from speech_text.sentence_chunker import IncrementalSentenceChunker
from speech_text.speakable import DEFAULT_RULES, Rule, SpeakableFilter

__all__ = [
    "DEFAULT_RULES",
    "KOKORO_SYMBOLS",
    "FrontEnd",
    "IncrementalSentenceChunker",
    "LanguageUnsupported",
    "LexiconInvalid",
    "NothingToSay",
    "Rule",
    "Segment",
    "SpeakableFilter",
    "SpeechTextError",
    "Word",
    "languages",
    "voice_language",
]
