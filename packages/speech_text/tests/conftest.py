"""Shared by the package's tests: a front end (which loads its languages once) and repeatable property tests."""

import pytest
from hypothesis import settings
from speech_text import KOKORO_SYMBOLS, FrontEnd

settings.register_profile("speech_text", deadline=None, derandomize=True)
settings.load_profile("speech_text")


@pytest.fixture(scope="session")
def front_end() -> FrontEnd:
    return FrontEnd(KOKORO_SYMBOLS)
