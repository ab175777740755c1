from pathlib import Path

import pytest
from agent_runtime.errors import SettingsError
from agent_runtime.settings import Settings

LEAST = {"AWS_REGION": "eu-west-1", "BEDROCK_MODEL_ID": "amazon.nova-lite-v1:0", "SPEECH_ENDPOINT_NAME": "kokoro"}


def test_three_variables_are_enough() -> None:
    settings = Settings.from_environment(LEAST)
    assert (settings.region, settings.bedrock_model_id) == ("eu-west-1", "amazon.nova-lite-v1:0")
    assert (settings.speech_endpoint_name, settings.speech_websocket_url) == ("kokoro", None)
    assert (settings.host, settings.port) == ("127.0.0.1", 8080)


def test_everything_can_be_set(tmp_path: Path) -> None:
    ca_file = tmp_path / "ca.pem"
    ca_file.write_text("x")
    settings = Settings.from_environment(
        {
            "AWS_REGION": "eu-west-1",
            "BEDROCK_MODEL_ID": "m",
            "SPEECH_WEBSOCKET_URL": "wss://voice:8443",
            "SPEECH_CA_FILE": str(ca_file),
            "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": "http://127.0.0.1:1",
            "AGENT_HOST": "0.0.0.0",
            "AGENT_PORT": "0",
            "AGENT_LANGUAGE": "fr",
            "AGENT_FIRST_CLAUSE": "True",
            "AGENT_SYSTEM_PROMPT": "You are a pirate.",
            "AGENT_TOOLS": "days_between, mine.tools:dig",
            "AGENT_TOOL_S": "3",
            "AGENT_MEMORY_EXCHANGES": "0",
            "AGENT_MAX_PROMPT_CHARS": "5",
            "AGENT_MAX_ANSWER_TOKENS": "6",
            "AGENT_MAX_TURNS": "7",
            "AGENT_MODEL_CONNECT_S": "0.5",
            "AGENT_MODEL_SILENCE_S": "8",
            "AGENT_LOG_LEVEL": "debug",
        }
    )
    assert settings == Settings(
        region="eu-west-1",
        bedrock_model_id="m",
        speech_websocket_url="wss://voice:8443",
        speech_ca_file=ca_file,
        bedrock_endpoint_url="http://127.0.0.1:1",
        host="0.0.0.0",
        port=0,
        language="fr",
        first_clause=True,
        system_prompt="You are a pirate.",
        tools=("days_between", "mine.tools:dig"),
        tool_s=3.0,
        memory_exchanges=0,
        max_prompt_chars=5,
        max_answer_tokens=6,
        max_turns=7,
        model_connect_s=0.5,
        model_silence_s=8.0,
        log_level="DEBUG",
    )


def test_an_agent_may_have_no_tools() -> None:
    assert Settings.from_environment(LEAST | {"AGENT_TOOLS": "None"}).tools == ()


def test_an_empty_variable_is_as_good_as_none() -> None:
    assert Settings.from_environment(LEAST | {"AGENT_PORT": "", "SPEECH_ENDPOINT_URI": " "}) == (
        Settings.from_environment(LEAST)
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"AWS_REGION": ""}, "AWS_REGION is not set"),
        ({"BEDROCK_MODEL_ID": ""}, "BEDROCK_MODEL_ID is not set"),
        ({"SPEECH_ENDPOINT_NAME": ""}, "neither is set"),
        ({"SPEECH_WEBSOCKET_URL": "ws://x"}, "both are set"),
        ({"SPEECH_ENDPOINT_NAME": "", "SPEECH_WEBSOCKET_URL": "http://x"}, "begins with ws:// or wss://"),
        ({"SPEECH_ENDPOINT_URI": "http://x"}, "SPEECH_ENDPOINT_URI begins with https://"),
        ({"SPEECH_CA_FILE": "/nowhere/ca.pem"}, "SPEECH_CA_FILE is a file"),
        ({"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": "x"}, "begins with http"),
        ({"AGENT_PORT": "eighty"}, "AGENT_PORT is a whole number; 'eighty' came"),
        ({"AGENT_PORT": "65536"}, "AGENT_PORT is from 0 to 65535"),
        ({"AGENT_MAX_TURNS": "0"}, "AGENT_MAX_TURNS is from 1"),
        ({"AGENT_MODEL_SILENCE_S": "nan"}, "AGENT_MODEL_SILENCE_S is a number of seconds above 0"),
        ({"AGENT_FIRST_CLAUSE": "yes"}, "AGENT_FIRST_CLAUSE is true or false; 'yes' came"),
        ({"AGENT_LOG_LEVEL": "loud"}, "AGENT_LOG_LEVEL is one of"),
    ],
)
def test_a_wrong_setting_is_named(changes: dict[str, str], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        Settings.from_environment(LEAST | changes)
