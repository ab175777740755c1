"""A release is read back as it was stored, and what cannot be read says which version could."""

import json

import pytest
from infra_common.errors import OptionRefused, OutcomeError
from infra_common.release_record import NO_DIGEST, parsed, rendered, require_digest


def test_a_record_comes_back_and_equal_ones_are_equal_texts() -> None:
    text = rendered({"image": NO_DIGEST, "count": 2})
    assert text == rendered({"count": 2, "image": NO_DIGEST})
    assert parsed(text, lambda value: (value["image"], value["count"])) == (NO_DIGEST, 2)


@pytest.mark.parametrize("text", ["", "{", "[]", "1", "{}", '{"format": 1}'])
def test_what_is_none_of_ours_is_refused(text: str) -> None:
    with pytest.raises(OutcomeError, match="not one this version can read"):
        parsed(text, lambda value: value["image"])


def test_a_later_format_is_named_whatever_else_it_holds() -> None:
    text = json.dumps({"format": 2, "picture": NO_DIGEST})
    with pytest.raises(OutcomeError, match="has format 2, this version reads 1"):
        parsed(text, lambda value: value["image"])


@pytest.mark.parametrize(
    "image", ["", "latest", "sha256:12", f"repository@{NO_DIGEST}", f"{NO_DIGEST}0", NO_DIGEST.upper()]
)
def test_an_image_is_named_by_its_digest_alone(image: str) -> None:
    with pytest.raises(OptionRefused, match="named by digest"):
        require_digest(image)
