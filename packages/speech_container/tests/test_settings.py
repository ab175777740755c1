"""Settings from the environment."""

import dataclasses
from pathlib import Path

import pytest
from speech_container.errors import SettingsInvalid
from speech_container.settings import Settings


def test_an_empty_environment_gives_the_defaults() -> None:
    assert Settings.from_environment({}) == Settings()


def test_there_are_fewer_than_twenty() -> None:
    assert len(dataclasses.fields(Settings)) < 20


def test_every_setting_is_read_from_its_variable() -> None:
    environment = {
        "SPEECH_ENGINE": "tone",
        "SPEECH_WEIGHTS": "/models/kokoro",
        "SPEECH_PORT": "9000",
        "SPEECH_LOOK_AHEAD_S": "2.5",
    }
    assert Settings.from_environment(environment) == Settings(
        engine="tone", weights=Path("/models/kokoro"), port=9000, look_ahead_s=2.5
    )


def test_options_win_over_the_environment_where_they_are_given() -> None:
    settings = Settings.from_environment({"SPEECH_PORT": "9000", "SPEECH_HOST": "::1"}, port=0, host=None)
    assert (settings.port, settings.host) == (0, "::1")


def test_metrics_may_be_named_without_our_prefix() -> None:
    assert Settings.from_environment({"METRICS": "emf"}).metrics == "emf"
    assert Settings.from_environment({"METRICS": "emf", "SPEECH_METRICS": "prometheus"}).metrics == "prometheus"


def test_the_platforms_port_wins_over_ours() -> None:
    assert Settings.from_environment({"SPEECH_PORT": "9000", "SAGEMAKER_BIND_TO_PORT": "8123"}).port == 8123


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("SPEECH_PORT", "http"),
        ("SPEECH_PORT", "65536"),
        ("SPEECH_ENGINE", "cuda"),
        ("SPEECH_LOG_LEVEL", "loud"),
        ("SPEECH_LATENCY", "none"),
        ("SPEECH_SEND_TIMEOUT_S", "soon"),
        ("SPEECH_SEND_TIMEOUT_S", "nan"),
        ("SPEECH_METRICS", "statsd"),
        ("METRICS", "statsd"),
        ("SPEECH_LOOK_AHEAD_S", "0"),
        ("SAGEMAKER_BIND_TO_PORT", "x"),
    ],
)
def test_a_bad_value_is_one_sentence_that_names_the_variable(variable: str, value: str) -> None:
    with pytest.raises(SettingsInvalid, match=variable):
        Settings.from_environment({variable: value})


def test_threads_default_to_the_cores_at_hand() -> None:
    assert Settings().engine_threads >= 1
    assert Settings(threads=3).engine_threads == 3


def test_the_readme_tells_of_every_setting_and_its_default() -> None:
    readme = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
    for field in dataclasses.fields(Settings):
        (row,) = [line for line in readme.splitlines() if line.startswith(f"| `SPEECH_{field.name.upper()}` |")]
        default = row.split("|")[2].strip().strip("`")
        if default:
            assert Settings.from_environment({f"SPEECH_{field.name.upper()}": default}) == Settings(), field.name
        else:
            assert field.default is None
