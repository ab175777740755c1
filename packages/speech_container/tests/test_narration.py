"""From a request to utterances."""

from collections.abc import Mapping

import pytest
from speech_container.errors import Refusal
from speech_container.narration import Narrator
from speech_container.spelling import Spelling, SpellingFrontEnd
from speech_container.voices import VoiceBook
from speech_protocol import Synthesize, VoiceOptions
from speech_text import LexiconInvalid, Segment

NARRATOR = Narrator(SpellingFrontEnd(), Spelling(), VoiceBook.of_tones())


def test_a_line_has_its_tokens_its_style_and_its_place() -> None:
    text = "One. Two is longer."
    script = NARRATOR.script(Synthesize(text, VoiceOptions(voice="bf_emma", speed=1.5)))
    assert [text[line.segment.start_char : line.segment.end_char] for line in script.lines] == [
        "One.",
        "Two is longer.",
    ]
    first = script.lines[0].utterance
    assert first.token_ids == tuple(Spelling()[character] for character in "One.")
    assert first.speed == 1.5
    assert (first.style == NARRATOR.voices.style("bf_emma", 4)).all()
    assert first.seed != script.lines[1].utterance.seed


@pytest.mark.parametrize(
    ("text", "options", "code"),
    [
        ("Hi.", VoiceOptions(voice="nobody"), "voice_unknown"),
        ("Hi.", VoiceOptions(voice="nobody", language="en-us"), "voice_unknown"),
        ("Hi.", VoiceOptions(language="tlh"), "language_unsupported"),
        ("?!", VoiceOptions(), "text_empty"),
    ],
)
def test_what_cannot_be_spoken_is_refused(text: str, options: VoiceOptions, code: str) -> None:
    with pytest.raises(Refusal) as refusal:
        NARRATOR.script(Synthesize(text, options))
    assert refusal.value.code == code


def test_a_bad_lexicon_is_refused_without_quoting_it() -> None:
    class Strict(SpellingFrontEnd):
        def segments(
            self, text: str, language: str = "en-us", lexicon: Mapping[str, str] | None = None
        ) -> list[Segment]:
            raise LexiconInvalid("secret")

    narrator = Narrator(Strict(), Spelling(), VoiceBook.of_tones())
    with pytest.raises(Refusal) as refusal:
        narrator.script(Synthesize("Hi.", VoiceOptions(lexicon={"Hi": ""})))
    assert refusal.value.code == "invalid_message"
    assert "secret" not in refusal.value.message
