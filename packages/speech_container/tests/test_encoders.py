"""All formats at all rates. Numbers in brackets are the behaviour cases."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from speech_container.encoders import CONTENT_TYPES, encoder_for, offered_formats, offered_rates_hz, require_supported
from speech_container.errors import Refusal
from speech_protocol import AUDIO_FORMATS, SAMPLE_RATES_HZ, AudioFormat

PIECE_SAMPLES = 7680  # 320 ms
PLAYABLE: list[AudioFormat] = ["wav", "mp3", "opus", "aac"]
FRAME_SAMPLES = {"pcm": 1, "wav": 1, "mp3": 1152, "opus": 960, "aac": 1024}
STREAM_DELAY_SAMPLES = {"mp3": 1105}

every_rate = pytest.mark.parametrize("rate_hz", SAMPLE_RATES_HZ)
every_player_format = pytest.mark.parametrize("audio_format", PLAYABLE)


def _encode(
    audio_format: AudioFormat, rate_hz: int, samples: NDArray[np.float32], piece_samples: int = PIECE_SAMPLES
) -> tuple[bytes, bytes]:
    """As a stream and as a file."""
    encoder = encoder_for(audio_format, rate_hz)
    pieces = [encoder.feed(samples[at : at + piece_samples]) for at in range(0, len(samples), piece_samples)]
    stream = b"".join(pieces) + encoder.flush()
    return stream, encoder.as_file(stream)


def test_everything_in_the_contract_is_offered() -> None:
    assert offered_formats() == AUDIO_FORMATS
    assert offered_rates_hz() == SAMPLE_RATES_HZ
    assert set(CONTENT_TYPES) == set(AUDIO_FORMATS)


@every_rate
@every_player_format
def test_a_tone_in_pieces_has_no_click_and_keeps_its_ends(  # [16]
    tone: Any, decode: Any, audio_format: AudioFormat, rate_hz: int
) -> None:
    samples = tone(440)
    for encoded, delay in zip(
        _encode(audio_format, rate_hz, samples), (STREAM_DELAY_SAMPLES.get(audio_format, 0), 0), strict=True
    ):
        heard = decode(encoded)
        expected = len(samples) * heard.rate_hz / 24_000
        one_sample = heard.rate_hz / rate_hz
        assert -one_sample < len(heard.samples) - delay - expected < FRAME_SAMPLES[audio_format]
        own_step = 2 * 0.5 * np.sin(np.pi * 440 / heard.rate_hz)
        assert np.abs(np.diff(heard.samples)).max() < 1.5 * own_step
        spoken = heard.samples[delay : delay + int(expected)]
        loud = heard.rate_hz // 50  # 20 ms, after and before the fades of as many
        for end in (spoken[loud : 2 * loud], spoken[-2 * loud : -loud]):
            assert np.abs(end).max() > 0.4


@every_rate
@every_player_format
def test_files_play_and_their_duration_is_right(  # [17]
    tone: Any, decode: Any, audio_format: AudioFormat, rate_hz: int
) -> None:
    samples = tone(440)
    _, file = _encode(audio_format, rate_hz, samples)
    heard = decode(file)
    pre_skip_s = 0.0065 if audio_format == "opus" else 0.0  # FFmpeg counts it into the tag, and skips it
    assert heard.duration_s == pytest.approx(len(samples) / 24_000 + pre_skip_s, abs=1e-3)
    assert len(heard.samples) / heard.rate_hz == pytest.approx(len(samples) / 24_000, abs=1e-3)
    assert heard.level(440) == pytest.approx(0.5, rel=0.06)


@every_player_format
def test_samples_beyond_full_scale_are_clipped_in_every_format(  # [19]
    tone: Any, decode: Any, audio_format: AudioFormat
) -> None:
    loud = 4 * tone(440)
    stream, file = _encode(audio_format, 24_000, loud)
    heard = decode(file)
    clipped = decode(_encode(audio_format, 24_000, np.clip(loud, -1, 1))[1])
    assert np.array_equal(heard.samples, clipped.samples)
    assert stream
    wanted = np.repeat(np.clip(loud, -1, 1), heard.rate_hz // 24_000)
    is_loud = np.abs(wanted) > 0.9
    assert np.all(np.sign(heard.samples[is_loud]) == np.sign(wanted[is_loud]))


def test_a_resampler_that_overshoots_is_clipped_too(tone: Any) -> None:  # [19]
    square = np.sign(tone(440))
    stream, _ = _encode("pcm", 16_000, square)
    heard = np.frombuffer(stream, "<i2")
    assert heard.max() == 32767
    assert np.abs(np.diff(heard.astype(int))).max() < 65_000  # wrapping would be a step of nearly the whole range


@every_player_format
def test_8_khz_is_band_limited_and_not_decimated(tone: Any, decode: Any, audio_format: AudioFormat) -> None:  # [20]
    heard = decode(_encode(audio_format, 8000, tone(1000, 6000))[1])
    assert heard.level(1000) == pytest.approx(0.25, rel=0.1)
    assert heard.level(2000) < 0.0025  # where 6 kHz would fold to
    if heard.rate_hz > 12_000:
        assert heard.level(6000) < 0.0025


@every_rate
@pytest.mark.parametrize("audio_format", AUDIO_FORMATS)
def test_pieces_make_the_same_audio_as_the_whole(
    tone: Any, decode: Any, audio_format: AudioFormat, rate_hz: int
) -> None:
    samples = tone(440, samples=20_011)
    whole = _encode(audio_format, rate_hz, samples, len(samples))
    for piece_samples in (7, 333, 7680):
        pieces = _encode(audio_format, rate_hz, samples, piece_samples)
        if audio_format in {"pcm", "wav", "mp3"}:
            assert pieces == whole
        else:
            assert np.array_equal(decode(pieces[1]).samples, decode(whole[1]).samples)


ODD_SAMPLES = st.lists(
    st.one_of(
        st.floats(width=32),
        st.sampled_from([np.nan, np.inf, -np.inf, 3e38, -3e38, 1e-40, 0.0]),
    ),
    max_size=40,
)
PIECES = st.lists(
    st.one_of(ODD_SAMPLES.map(np.array), st.integers(0, 200_000).map(np.ones), st.just(np.zeros(1))), max_size=6
)


@pytest.mark.parametrize("audio_format", AUDIO_FORMATS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pieces=PIECES, rate_hz=st.sampled_from(SAMPLE_RATES_HZ))
def test_no_samples_can_break_an_encoder(
    decode: Any, audio_format: AudioFormat, pieces: list[NDArray[Any]], rate_hz: int
) -> None:
    encoder = encoder_for(audio_format, rate_hz)
    stream = b"".join([encoder.feed(piece) for piece in pieces]) + encoder.flush()
    file = encoder.as_file(stream)
    fed = sum(map(len, pieces))
    if audio_format == "pcm":
        assert len(stream) / 2 == pytest.approx(fed * rate_hz / 24_000, abs=1)
    elif fed > 2400:
        heard = decode(file)
        assert np.all(np.isfinite(heard.samples))
        assert len(heard.samples) / heard.rate_hz == pytest.approx(fed / 24_000, abs=1e-3)


@pytest.mark.parametrize("audio_format", AUDIO_FORMATS)
def test_a_stream_ends_once(tone: Any, audio_format: AudioFormat) -> None:
    encoder = encoder_for(audio_format, 16_000)
    encoder.feed(tone(440))
    assert encoder.flush()
    assert encoder.flush() == b""
    with pytest.raises(ValueError, match="an encoder of its own"):
        encoder.feed(tone(440))


@pytest.mark.parametrize(
    ("missing", "formats", "rates"),
    [("av", ("pcm", "wav"), SAMPLE_RATES_HZ), ("soxr", AUDIO_FORMATS, (24_000,))],
)
def test_what_is_not_installed_is_not_offered(missing: str, formats: tuple[str, ...], rates: tuple[int, ...]) -> None:
    code = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "from speech_container.encoders import encoder_for, offered_formats, offered_rates_hz\n"
        "encoder_for('wav', 24000).feed([0.5])\n"
        "print(offered_formats(), offered_rates_hz())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == f"{formats} {rates}"


@pytest.mark.parametrize(
    ("audio_format", "rate_hz", "code"),
    [("flac", 24_000, "format_unsupported"), ("pcm", 44_100, "sample_rate_unsupported")],
)
def test_what_cannot_be_made_is_refused(audio_format: Any, rate_hz: int, code: str) -> None:
    with pytest.raises(Refusal) as refusal:
        require_supported(audio_format, rate_hz)
    assert refusal.value.code == code
