"""Each way in which weights are refused has a word of its own, and the README lists them."""

from pathlib import Path

import pytest
from kokoro_weights import WeightsError, errors
from speech_container.errors import EngineUnavailable, PortUnavailable
from speech_container.start_failure import CODES, UNEXPECTED, code_of, sentence_of


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.NotPrepared(), "weights_not_prepared"),
        (errors.ManifestInvalid(), "weights_manifest_invalid"),
        (errors.PathUnsafe(), "weights_path_unsafe"),
        (errors.FileMissing(), "weights_file_missing"),
        (errors.SizeMismatch(), "weights_size_mismatch"),
        (errors.HashMismatch(), "weights_hash_mismatch"),
        (errors.StorageError(), "weights_refused"),
        (EngineUnavailable(), "engine_unavailable"),
        (OSError(), "load_failed"),
    ],
)
def test_a_failure_is_known_by_its_word(error: Exception, code: str) -> None:
    assert code_of(error) == code


def test_no_word_is_hidden_behind_one_that_fits_more() -> None:
    assert [code_of(kind()) for kind, _ in CODES] == [code for _, code in CODES]
    assert len({code for _, code in CODES}) == len(CODES)


def test_what_is_ours_is_told_in_one_line_and_what_is_not_is_not() -> None:
    assert sentence_of(WeightsError("one\n  two")) == "one two"
    assert sentence_of(PortUnavailable("taken")) == "taken"
    assert "/home/somebody" not in sentence_of(OSError("/home/somebody"))


def test_the_readme_lists_every_word() -> None:
    readme = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
    assert [code for code in (*(code for _, code in CODES), UNEXPECTED) if f"`{code}`" not in readme] == []
