"""The symbols that Kokoro-82M v1.0 knows: key `vocab` of its `config.json`, without the ids.

The model's own configuration decides; this copy lets a lexicon be checked, and this package be tested, without weights.
"""

#: 114 symbols: punctuation and pauses, IPA as misaki writes it, tone arrows.
KOKORO_SYMBOLS = frozenset(
    ';:,.!?—…"()“” \u0303ʣʥʦʨᵝ\uab67AIOQSTWYᵊabcdefhijklmnopqrstuvwxyz'
    "ɑɐɒæβɔɕçɖðʤəɚɛɜɟɡɥɨɪʝɯɰŋɳɲɴøɸθœɹɾɻʁɽʂʃʈʧʊʋʌɣɤχʎʒʔˈˌːʰʲ↓→↗↘ᵻ"
)
