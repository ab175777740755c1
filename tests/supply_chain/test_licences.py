"""What is shipped is named with its licence, and a licence that nobody allowed stops `make audit`."""

import pytest

from tools.licences import DOCUMENT, Refused, left_out, require_allowed, table


@pytest.mark.parametrize("expression", ["MIT", "Apache-2.0 OR GPL-2.0-only", "BSD-3-Clause AND MIT", "(MIT) AND Zlib"])
def test_what_is_on_the_list_may_be_shipped(expression: str) -> None:
    require_allowed("package", expression)


@pytest.mark.parametrize("expression", ["AGPL-3.0-only", "MIT AND SSPL-1.0", "GPL-2.0-only OR AGPL-3.0-only", ""])
def test_what_is_not_on_the_list_is_refused_by_name(expression: str) -> None:
    with pytest.raises(Refused, match="package"):
        require_allowed("package", expression)


def test_third_party_names_what_the_cpu_image_ships_today() -> None:
    assert f"<!-- cpu -->\n{table('cpu')}\n<!-- /cpu -->" in DOCUMENT.read_text(encoding="utf-8")


@pytest.mark.torch
def test_third_party_names_what_the_gpu_image_ships_today() -> None:
    assert f"<!-- gpu -->\n{table('gpu')}\n<!-- /gpu -->" in DOCUMENT.read_text(encoding="utf-8")


def test_what_the_dockerfile_leaves_out_of_an_image_is_not_shipped() -> None:
    stages = (
        "FROM build AS build-a\nRUN sync\nFROM build AS build-b\nRUN sync --no-install-package one \\\n x\nFROM c\n"
    )
    assert (left_out("a", stages), left_out("b", stages)) == (set(), {"one"})
