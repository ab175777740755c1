"""What counts as the same transcript, and what does not."""

import pytest

from tests.infrastructure.transcript import block, shape, with_block

DOCUMENT = "# A\n\n<!-- deploy -->\n```text\n$ deploy\none\n```\n<!-- /deploy -->\n\nend\n"


def test_a_block_is_found_by_its_name_and_replaced_alone() -> None:
    assert block(DOCUMENT, "deploy") == "$ deploy\none"
    changed = with_block(DOCUMENT, "deploy", "\n$ deploy\ntwo   \n")
    assert changed == DOCUMENT.replace("one", "two")


def test_a_block_that_is_not_there_is_an_error() -> None:
    with pytest.raises(LookupError, match="status"):
        with_block(DOCUMENT, "status", "x")


def test_figures_digests_and_widths_do_not_count() -> None:
    one = "✓ stack voice  3.1 s\nimage   sha256:0123456789abcdef  \ncost    $0.428 an hour"
    two = "✓ stack voice  12.0 s\nimage sha256:fedcba9876543210\ncost       $1.4 an hour"
    assert shape(one) == shape(two)


def test_how_far_a_step_was_does_not_count_but_its_result_does() -> None:
    assert shape("stack voice ...\n  Bucket: create complete\n✓ stack voice") == ["stack voice ...", "✓ stack voice"]
    assert shape("  ✓ session opens") == ["✓ session opens"]


def test_another_word_counts() -> None:
    assert shape("alarms 4 quiet") != shape("alarms 4 raised")
