"""Addresses are read aloud in the language of the text."""

import pytest
from speech_text.reading import speakable


@pytest.mark.parametrize(
    ("language", "written", "read"),
    [
        ("en-us", "Open https://example.org/a now.", "Open example dot org slash a now."),
        ("en-us", "Mail jo.b@example.org.", "Mail jo dot b at example dot org."),
        ("en-us", "See www.my-site.com/?q=1#top, ok", "See my dash site dot com, ok"),
        ("en-us", "Visit docs.example.org/v1/x today", "Visit docs dot example dot org slash v1 slash x today"),
        ("en-us", "It is done.Next one starts.", "It is done. Next one starts."),
        ("es", "Escribe a a@b.es ya", "Escribe a a arroba b punto es ya"),
        ("fr", "Voir https://x.fr/a", "Voir x point fr barre oblique a"),
        ("it", "Su www.x.it", "Su x punto it"),
        ("pt-br", "Em x.com.br", "Em x ponto com ponto br"),
        ("hi", "देखो x.in", "देखो x डॉट in"),
    ],
)
def test_an_address_is_read(language: str, written: str, read: str) -> None:
    assert speakable(written, language) == read
