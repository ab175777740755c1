"""The normaliser of each language: a table of rules, applied in order to one sentence.

Imported by the front end when a language is first used, since the tables need babel and num2words.
"""

from collections.abc import Callable
from functools import partial

from speech_text.cleaning import spread_mixed_runs
from speech_text.normal_english import english_rules
from speech_text.normal_world import world_rules
from speech_text.speakable import Rule
from speech_text.traced import Traced

Normalise = Callable[[Traced], Traced]


def normaliser(language: str) -> Normalise:
    """The function that rewrites a sentence of this language for its pronouncer."""
    if language.startswith("en"):
        rules = english_rules(language)
    elif language in ("ja", "zh"):
        return spread_mixed_runs
    else:
        rules = world_rules(language)
    return partial(_apply, rules)


def _apply(rules: tuple[Rule, ...], traced: Traced) -> Traced:
    for rule in rules:
        traced = traced.sub(rule.pattern, rule.replacement)
    return spread_mixed_runs(traced)
