"""A voice's name says its language and kind."""

from __future__ import annotations

import pytest
from kokoro_weights.language import VoiceTraits, voice_traits


@pytest.mark.parametrize(
    ("name", "traits"),
    [
        ("af_heart", VoiceTraits("en-US", "American English", "female")),
        ("bm_george", VoiceTraits("en-GB", "British English", "male")),
        ("zm_yunxi", VoiceTraits("zh", "Mandarin Chinese", "male")),
        ("ax_robot", VoiceTraits("en-US", "American English", "other")),
    ],
)
def test_a_name_of_the_convention_is_read(name: str, traits: VoiceTraits) -> None:
    assert voice_traits(name) == traits


@pytest.mark.parametrize("name", ["heart", "qf_heart", "a_heart", "af_", "", "_", "abc_x"])
def test_another_name_says_nothing(name: str) -> None:
    assert voice_traits(name) == VoiceTraits("und", "unknown", "other")
