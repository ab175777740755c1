"""Addresses as people read them aloud: `https://example.org/a` → "example dot org slash a"."""

import re

from speech_text.speakable import ADDRESS, Rule

#: Signs inside addresses, by language: dot, slash, at, dash, underscore.
_SIGNS: dict[str, tuple[str, str, str, str, str]] = {
    "en": ("dot", "slash", "at", "dash", "underscore"),
    "es": ("punto", "barra", "arroba", "guion", "guion bajo"),
    "fr": ("point", "barre oblique", "arobase", "tiret", "tiret bas"),
    "it": ("punto", "barra", "chiocciola", "trattino", "trattino basso"),
    "pt": ("ponto", "barra", "arroba", "hífen", "sublinhado"),
    "hi": ("डॉट", "स्लैश", "ऐट", "डैश", "अंडरस्कोर"),
}
#: What an address may leave unsaid: its scheme, and what follows the path (queries are never read aloud by people).
_UNSAID = re.compile(r"^(?:https?://)?(?:www\.)?|/?[?#].*$|/$")
_DOMAIN = (
    r"(?<![\w@./-])(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)+"
    r"(?:com|org|net|edu|gov|mil|int|io|ai|dev|app|info|biz|co|me|tv|uk|us|eu|de|fr|es|it|pt|br|in|jp|cn|ch|at|nl|be|ca|au)"
    r"(?:/[^\s<>()\[\]\"'`*|.,;:!?]+(?:[./][^\s<>()\[\]\"'`*|.,;:!?]+)*)?(?![\w@])"
)
_SIGN = re.compile(r"[./@_-]")


def web_rules(language: str) -> tuple[Rule, ...]:
    """Rules for URLs, bare domains and e-mail addresses in one language (by primary subtag)."""
    signs = dict(zip("./@-_", _SIGNS.get(language, _SIGNS["en"]), strict=True))

    def read(found: re.Match[str]) -> str:
        address = _UNSAID.sub("", found[0])
        said = _SIGN.sub(lambda sign: f" {signs[sign[0]]} ", address)
        said = re.sub(r"[^\w\s\u0900-\u097f]+", " ", said)
        return " ".join(said.split()) or " "

    return (
        Rule("address", ADDRESS, read),
        Rule("domain", re.compile(_DOMAIN), read),
    )
