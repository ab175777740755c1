import dataclasses
from pathlib import Path

import pytest
from agent_runtime.answer import VoiceAgent, make_transport
from agent_runtime.errors import AgentErrorCode, SettingsError
from agent_runtime.events import AgentErrorEvent, AgentStart
from agent_runtime.request import AgentRequest, Mode
from speech_client import SageMakerTransport, WebSocketTransport

from packages.agent_runtime.tests.conftest import collect, make_settings, text_of
from packages.agent_runtime.tests.scripted_bedrock import Script, ScriptedBedrock


def test_a_websocket_address_is_a_speech_container_of_one_s_own() -> None:
    assert isinstance(make_transport(make_settings()), WebSocketTransport)


def test_an_endpoint_s_name_is_sagemaker() -> None:
    settings = dataclasses.replace(make_settings(), speech_websocket_url=None, speech_endpoint_name="kokoro")
    assert isinstance(make_transport(settings), SageMakerTransport)


@pytest.mark.parametrize(
    "changes",
    [
        {"speech_websocket_url": None, "speech_endpoint_name": "not a name"},
        {"speech_websocket_url": None, "speech_endpoint_name": "kokoro", "region": "Mars"},
        {"speech_websocket_url": "ws://"},
    ],
)
def test_what_cannot_be_a_way_to_the_voice_is_a_bad_setting(changes: dict[str, str | None]) -> None:
    with pytest.raises(SettingsError, match="the way to the voice"):
        make_transport(dataclasses.replace(make_settings(), **changes))  # type: ignore[arg-type]  # several fields


def test_a_ca_file_without_certificates_is_a_bad_setting(tmp_path: Path) -> None:
    ca_file = tmp_path / "ca.pem"
    ca_file.write_text("no certificate")
    with pytest.raises(SettingsError, match="the way to the voice"):
        make_transport(dataclasses.replace(make_settings(), speech_ca_file=ca_file))


@pytest.mark.parametrize("mode", ["bidi", "batch"])
async def test_a_voice_that_cannot_be_reached_is_one_error_and_the_text_comes(
    mode: Mode, bedrock: ScriptedBedrock, unused_tcp_port: int
) -> None:
    bedrock.scripts = [Script(["The sky is blue."])]
    settings = make_settings(bedrock.url, speech_websocket_url=f"ws://127.0.0.1:{unused_tcp_port}")
    agent = VoiceAgent(settings)
    events = await collect(agent.answer(AgentRequest("Why?", mode=mode), agent.converse(), "turn-1").events())
    assert events[0] == AgentStart("turn-1", mode)
    assert text_of(events) == "The sky is blue."
    assert [event.code for event in events if isinstance(event, AgentErrorEvent)] == [AgentErrorCode.SPEECH_UNAVAILABLE]
    assert events[-1].type == "agent_end"
