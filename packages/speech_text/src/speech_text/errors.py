"""What can go wrong between a text and its phonemes.

    SpeechTextError
    ├── LanguageUnsupported     the language is not one that this installation can speak or cut
    ├── NothingToSay            the text holds nothing that can be spoken
    └── LexiconInvalid          a pronunciation that was handed in cannot be used

Messages say what was expected and what came. They quote the caller's own short input at most, never a path.
"""


class SpeechTextError(Exception):
    """Root of everything this package raises on purpose."""


class LanguageUnsupported(SpeechTextError):
    """The language is unknown, or the extra that brings it is not installed."""


class NothingToSay(SpeechTextError):
    """The text has no speakable content: white space, marks or emoji only."""


class LexiconInvalid(SpeechTextError):
    """A lexicon entry is empty or is written in symbols that the voice does not know."""
