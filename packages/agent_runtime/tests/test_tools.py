from datetime import UTC, datetime

import pytest
from agent_runtime.errors import SettingsError
from agent_runtime.tools import BUILT_IN, load_tools
from agent_runtime.tools.clock import current_time, describe
from agent_runtime.tools.dates import days_between

NOON = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


def test_every_built_in_tool_is_one_and_says_what_it_takes() -> None:
    for name, tool in zip(BUILT_IN, load_tools(list(BUILT_IN)), strict=True):
        assert tool.tool_name == name
        assert tool.tool_spec["description"]
        fields = tool.tool_spec["inputSchema"]["json"]["properties"]
        assert all("description" in field for field in fields.values())


def test_a_tool_of_one_s_own_is_named_by_module_and_function() -> None:
    assert load_tools(["agent_runtime.tools.dates:days_between"]) == [days_between]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("sing", "one of current_time, days_between or looks like package.module:function; 'sing' came"),
        ("nowhere:sing", "cannot be imported"),
        ("agent_runtime.tools.dates:sing", "cannot be imported"),
        ("os.path:join", "is no Strands tool"),
        (":", "looks like"),
    ],
)
def test_a_tool_that_there_is_not_is_a_bad_setting(name: str, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        load_tools([name])


def test_the_time_is_told_in_the_zone_that_was_asked_for() -> None:
    assert describe(NOON, "UTC") == "Sunday, 29 November 2026, 12:00 in UTC"
    assert describe(NOON, "Asia/Kolkata") == "Sunday, 29 November 2026, 17:30 in Asia/Kolkata"


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../etc/passwd", ""])
def test_a_zone_that_there_is_not_is_said_to_the_model(zone: str) -> None:
    with pytest.raises(ValueError, match="there is no time zone"):
        describe(NOON, zone)


def test_the_tools_answer_in_words() -> None:
    assert current_time("Europe/Paris").endswith(" in Europe/Paris")
    assert days_between("2026-11-29", "2026-12-24") == "25 days"
    assert days_between("2028-03-01", "2028-02-28") == "-2 days"
