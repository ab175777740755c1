"""How blends are written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from speech_container.blend import MAX_PARTS, Blend, parse_blend
from speech_container.errors import Refusal


@pytest.mark.parametrize(
    ("voice", "shares"),
    [
        ("af_heart", {"af_heart": 1.0}),
        ("af_heart(3)", {"af_heart": 1.0}),
        ("af_heart+af_bella", {"af_bella": 0.5, "af_heart": 0.5}),
        ("af_heart(3)+af_bella(1)", {"af_bella": 0.25, "af_heart": 0.75}),
        (" af_heart ( .75 ) +\taf_bella(0.25)", {"af_bella": 0.25, "af_heart": 0.75}),
        ("af_heart+af_bella(2)+af_heart", {"af_bella": 0.5, "af_heart": 0.5}),
    ],
)
def test_weights_count_in_proportion(voice: str, shares: dict[str, float]) -> None:
    assert dict(parse_blend(voice).shares) == shares


def test_the_heaviest_leads_and_the_first_of_equals() -> None:
    assert parse_blend("af_heart+ff_siwis(2)").lead == "ff_siwis"
    assert parse_blend("ff_siwis+af_heart").lead == "ff_siwis"


def test_blends_that_sound_alike_are_equal() -> None:
    alike = {parse_blend(voice) for voice in ("a(2)+b(1)", "b+a(2)", "a(4) + b(2)", "a+a+b")}
    assert len(alike) == 1


@pytest.mark.parametrize(
    ("voice", "named"),
    [
        ("", "''"),
        ("+", "''"),
        ("af_heart+", "''"),
        ("af_heart(0)+af_bella", "af_heart(0)"),
        ("af_heart+af_bella(-1)", "af_bella(-1)"),
        ("af_heart+af_bella(nan)", "af_bella(nan)"),
        ("af_heart+af_bella(1e3)", "af_bella(1e3)"),
        ("af_heart+af_bella(٣)", "af_bella"),
        ("af_heart(1)(2)", "af_heart(1)(2)"),
        ("af heart", "af heart"),
        ("(2)", "(2)"),
    ],
)
def test_a_part_that_is_none_is_named(voice: str, named: str) -> None:
    with pytest.raises(Refusal) as refusal:
        parse_blend(voice)
    assert refusal.value.code == "voice_unknown"
    assert named in refusal.value.message


def test_there_are_at_most_eight() -> None:
    assert len(parse_blend("+".join(f"v{number}" for number in range(MAX_PARTS))).shares) == MAX_PARTS
    with pytest.raises(Refusal, match="at most 8 voices; 9 came"):
        parse_blend("+".join(["v"] * (MAX_PARTS + 1)))


@given(st.text(alphabet="ab_( ).+0123456789e-٣", max_size=60))
def test_whatever_comes_is_a_blend_or_a_refusal(voice: str) -> None:
    blend = _parsed(voice)
    if isinstance(blend, Refusal):
        assert len(blend.message) < 200
    else:
        assert sum(share for _, share in blend.shares) == pytest.approx(1, abs=1e-5)
        assert blend.lead in blend.names


def _parsed(voice: str) -> Blend | Refusal:
    try:
        return parse_blend(voice)
    except Refusal as refusal:
        return refusal
