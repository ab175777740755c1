"""Markup is taken out rule by rule, and never what a voice needs."""

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from speech_text import IncrementalSentenceChunker
from speech_text.speakable import DEFAULT_RULES, Rule, SpeakableFilter
from speech_text.traced import Traced

MARKUP = re.compile(r"[*_`~#|<>\[\]]|\]\(|&\w+;|https?:")


def filtered(text: str, rules: tuple[Rule, ...] = DEFAULT_RULES) -> list[str]:
    """The text through the chunker, one character at a time, and the filter."""
    chunker = IncrementalSentenceChunker()
    pieces = [piece for character in text for piece in chunker.feed(character)] + chunker.flush()
    speakable_filter = SpeakableFilter(rules)
    return [" ".join(part.text.split()) for piece in pieces for part in speakable_filter.filter(Traced.of(piece))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("**Bold. Still bold.** And *it* or __this__.", ["Bold.", "Still bold.", "And it or this."]),
        ("## Plan ##\n1. Mix\n2. Bake", ["Plan.", "1. Mix", "2. Bake"]),
        ("* one\n+ two\n• three!\n- [x] four", ["one.", "two.", "three!", "four."]),
        ("> Quoted\n>> deeper", ["Quoted", "deeper"]),
        ("Before\n\n---\n\nAfter", ["Before", "After"]),
        ("See ![a cat](cat.png) and [it](http://x.org/a_(b)).", ["See a cat and it."]),
        ("As shown[1][^2]. More [here][ref].", ["As shown.", "More here."]),
        ("Use `git rebase --onto a` or ``x``.", ["Use git rebase onto a or x."]),
        ("A `snake_case` and my_file_name.", ["A snake case and my file name."]),
        ("~~Old price~~ New price.", ["New price."]),
        ("I <b>like</b> R&amp;D &lt;now&gt;.<br/>Yes<!-- no -->.", ["I like R&D now . Yes ."]),
        ("x < 5 and a<b and 5 * 3 > 2", ["x < 5 and a<b and 5 × 3 > 2"]),
        ("|Name|Age|\n|:--|--:|\n|Ann|5|", ["Name, Age.", "Ann, 5."]),
        ("Run:\n```python\nprint('x. y')\n\n# no\n```\nDone.", ["Run:", "Done."]),
        ("Run:\n```\nx\n```", ["Run:"]),
        ("~~~\n```\nstill code\n~~~\nOut.", ["Out."]),
        ("Great! 🎉 So 👩‍👩‍👧 nice :)", ["Great!", "So nice"]),
        ("Mail a_b@x.org or https://x.org/a_b_c?_q=~1.", ["Mail a_b@x.org or https://x.org/a_b_c?_q=~1."]),
        ("[Kokoro](/kˈOkəɹO/) is **not** [so](+1).", ["[Kokoro](/kˈOkəɹO/) is not [so](+1)."]),
        (r"\*not bold\* and \_x", ["*not bold* and _x"]),
    ],
)
def test_markup_is_taken_out(text: str, expected: list[str]) -> None:
    assert filtered(text) == expected


def test_a_code_block_of_many_pieces_is_left_out_whole() -> None:
    code = "\n".join(f"value_{n} = call({n}).  # Sentence. Another one." for n in range(40))
    assert filtered(f"Look:\n```\n{code}\n```\nThat is all.") == ["Look:", "That is all."]


def test_pieces_for_another_filter_are_verbatim_but_for_code_that_reaches_over_their_edges() -> None:
    speakable = SpeakableFilter()
    pieces = ["**Run** `this`.", "Now:\n```sh", "rm -r x.", "```\nDone. ", "All in one:\n```\ny\n```\nGood."]
    assert [speakable.outside_code(piece) for piece in pieces] == ["**Run** `this`.", "Now:", "", "Done.", pieces[-1]]


def test_the_table_can_be_extended() -> None:
    extra = Rule("product", re.compile("K8s"), "Kubernetes")
    assert filtered("**K8s** runs.", (*DEFAULT_RULES, extra)) == ["Kubernetes runs."]


def test_what_is_kept_knows_where_it_came_from() -> None:
    sent = "- **Two** [cups](http://x.org) of `milk`"
    (part,) = SpeakableFilter().filter(Traced.of(sent))
    for word in ("Two", "cups", "of", "milk"):
        start = part.text.index(word)
        low, high = part.range(start, start + len(word))
        assert sent[low:high] == word


def mixes(count: int) -> list[tuple[str, list[str]]]:
    """Markdown put together at random from plain words, and the words."""
    dice = random.Random(7)
    words = ["river", "stone", "light", "window", "market", "garden", "silver", "morning", "paper", "travel"]
    wraps = ["{}", "**{}**", "*{}*", "_{}_", "`{}`", "***{}***", "[{}](https://x.org/a_b?c=d)", "<b>{}</b>", "__{}__"]
    heads = ["", "# ", "### ", "- ", "* ", "> ", "1. ", "- [ ] ", "| "]
    result = []
    for _ in range(count):
        lines, said = [], []
        for _ in range(dice.randrange(1, 6)):
            chosen = [dice.choice(words) for _ in range(dice.randrange(1, 7))]
            line = " ".join(dice.choice(wraps).format(word) for word in chosen)
            head = dice.choice(heads)
            lines.append(head + line + (" |" if head == "| " else dice.choice(["", ".", "!"])))
            said += chosen
        if dice.random() < 0.3:
            lines.insert(dice.randrange(len(lines) + 1), "```sh\nrm -rf *; echo `x` > y_z\n```")
        if dice.random() < 0.3:
            lines.insert(dice.randrange(len(lines) + 1), "---")
        result.append(("\n".join(lines), said))
    return result


def test_no_symbol_of_the_markup_is_left_in_a_thousand_mixes() -> None:
    for text, said in mixes(1_000):
        parts = filtered(text)
        assert not MARKUP.search(" ".join(parts)), text
        assert re.findall("[a-z]{2,}", " ".join(parts)) == said, text


@given(st.text(alphabet="ab *_`~#|<>[]()!-+.\n\\&;:/🎉\ue0001", max_size=60))
def test_any_text_passes_without_an_exception_and_in_order(text: str) -> None:
    for part in SpeakableFilter().filter(Traced.of(text)):
        assert list(part.starts) == sorted(part.starts)
        assert len(part.text) == len(part.starts) == len(part.ends)
