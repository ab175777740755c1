"""What the process is told from outside, once, at its start: the environment, read into one frozen value.

Nothing here can be set by a request. AWS credentials are not settings: boto3 and the speech client find them
themselves.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .errors import SettingsError
from .memory import DEFAULT_EXCHANGES
from .request import DEFAULT_MAX_PROMPT_CHARS

DEFAULT_PORT = 8080  # what AgentCore Runtime calls
DEFAULT_MAX_TURNS = 64
SPOKEN_PROMPT: Final = (
    "Your answer is read aloud while you write it. Speak to the listener in short, plain sentences, the first one "
    "shortest. Write no markdown, lists, tables, emoji or code; say numbers, units and abbreviations the way a person "
    "would say them. Answer at once, and stop when the question is answered."
)


@dataclass(frozen=True)  # no slots: the defaults are read off the class
class Settings:
    """Names in the environment stand behind each field; exactly one of the two ways to the voice is set.

    `host`, `port`: AGENT_HOST (127.0.0.1; 0.0.0.0 in the image), AGENT_PORT (8080; 0 picks a free one).
    `speech_websocket_url`: SPEECH_WEBSOCKET_URL, a speech container of one's own, `ws://` or `wss://`.
    `speech_endpoint_name`: SPEECH_ENDPOINT_NAME, a SageMaker endpoint in `region`.
    `speech_endpoint_uri`: SPEECH_ENDPOINT_URI, where SageMaker's runtime is, if not at AWS.
    `speech_ca_file`: SPEECH_CA_FILE, PEM of the authority that the speech server's certificate is checked against.
    `region`: AWS_REGION.
    `bedrock_model_id`: BEDROCK_MODEL_ID, a model or an inference profile.
    `bedrock_endpoint_url`: AWS_ENDPOINT_URL_BEDROCK_RUNTIME, where Bedrock's runtime is, if not at AWS.
    `language`: AGENT_LANGUAGE (en), what sentences are cut by.
    `first_clause`: AGENT_FIRST_CLAUSE (false), whether the first clause of a long first sentence is spoken on its own:
    it is heard sooner, and its end sounds a little less natural.
    `system_prompt`: AGENT_SYSTEM_PROMPT, what the model is told to be; by default, somebody who speaks.
    `tools`: AGENT_TOOLS (current_time), names as `tools.load_tools` takes them with commas between, or none.
    `tool_s`: AGENT_TOOL_S (10), the longest that tools may take in one go.
    `memory_exchanges`: AGENT_MEMORY_EXCHANGES (20), questions and answers that a session remembers.
    `max_prompt_chars`: AGENT_MAX_PROMPT_CHARS (10000).
    `max_answer_tokens`: AGENT_MAX_ANSWER_TOKENS (1024, five minutes of speech).
    `max_turns`: AGENT_MAX_TURNS (64), turns at once; more are told `busy`.
    `model_connect_s`: AGENT_MODEL_CONNECT_S (3). `model_silence_s`: AGENT_MODEL_SILENCE_S (30), the longest wait for
    the model's next piece.
    `log_level`: AGENT_LOG_LEVEL (INFO).
    """

    region: str
    bedrock_model_id: str
    speech_endpoint_name: str | None = None
    speech_websocket_url: str | None = None
    speech_endpoint_uri: str | None = None
    speech_ca_file: Path | None = None
    bedrock_endpoint_url: str | None = None
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    language: str = "en"
    first_clause: bool = False
    system_prompt: str = SPOKEN_PROMPT
    tools: tuple[str, ...] = ("current_time",)
    tool_s: float = 10.0
    memory_exchanges: int = DEFAULT_EXCHANGES
    max_prompt_chars: int = DEFAULT_MAX_PROMPT_CHARS
    max_answer_tokens: int = 1024
    max_turns: int = DEFAULT_MAX_TURNS
    model_connect_s: float = 3.0
    model_silence_s: float = 30.0
    log_level: str = "INFO"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Settings":
        """Raises `SettingsError` that names the variable. An empty variable counts as absent."""
        read = _Reader(environment)
        endpoint_name = read.text("SPEECH_ENDPOINT_NAME")
        websocket_url = read.url("SPEECH_WEBSOCKET_URL", ("ws://", "wss://"))
        if (endpoint_name is None) == (websocket_url is None):
            raise SettingsError(
                "set SPEECH_ENDPOINT_NAME to a SageMaker endpoint, or SPEECH_WEBSOCKET_URL to a speech container; "
                + ("neither is set" if endpoint_name is None else "both are set")
            )
        return cls(
            region=read.required("AWS_REGION", "the AWS region, such as us-east-1"),
            bedrock_model_id=read.required("BEDROCK_MODEL_ID", "the model or inference profile that answers"),
            speech_endpoint_name=endpoint_name,
            speech_websocket_url=websocket_url,
            speech_endpoint_uri=read.url("SPEECH_ENDPOINT_URI", ("https://",)),
            speech_ca_file=read.file("SPEECH_CA_FILE"),
            bedrock_endpoint_url=read.url("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", ("http://", "https://")),
            host=read.text("AGENT_HOST") or cls.host,
            port=read.integer("AGENT_PORT", cls.port, 0, 65_535),
            language=read.text("AGENT_LANGUAGE") or cls.language,
            first_clause=read.flag("AGENT_FIRST_CLAUSE", cls.first_clause),
            system_prompt=read.text("AGENT_SYSTEM_PROMPT") or cls.system_prompt,
            tools=read.names("AGENT_TOOLS", cls.tools),
            tool_s=read.seconds("AGENT_TOOL_S", cls.tool_s),
            memory_exchanges=read.integer("AGENT_MEMORY_EXCHANGES", cls.memory_exchanges, 0, 1_000),
            max_prompt_chars=read.integer("AGENT_MAX_PROMPT_CHARS", cls.max_prompt_chars, 1, 1_000_000),
            max_answer_tokens=read.integer("AGENT_MAX_ANSWER_TOKENS", cls.max_answer_tokens, 1, 100_000),
            max_turns=read.integer("AGENT_MAX_TURNS", cls.max_turns, 1, 1_000),
            model_connect_s=read.seconds("AGENT_MODEL_CONNECT_S", cls.model_connect_s),
            model_silence_s=read.seconds("AGENT_MODEL_SILENCE_S", cls.model_silence_s),
            log_level=read.choice("AGENT_LOG_LEVEL", cls.log_level, ("DEBUG", "INFO", "WARNING", "ERROR")),
        )


class _Reader:
    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    def text(self, name: str) -> str | None:
        return self._environment.get(name, "").strip() or None

    def required(self, name: str, meaning: str) -> str:
        value = self.text(name)
        if value is None:
            raise SettingsError(f"{name} is not set; it is {meaning}")
        return value

    def url(self, name: str, schemes: tuple[str, ...]) -> str | None:
        value = self.text(name)
        if value is not None and not value.startswith(schemes):
            raise SettingsError(f"{name} begins with {' or '.join(schemes)}; {value!r} came")
        return value

    def file(self, name: str) -> Path | None:
        value = self.text(name)
        if value is None:
            return None
        if not Path(value).is_file():
            raise SettingsError(f"{name} is a file; there is none at {value!r}")
        return Path(value)

    def integer(self, name: str, default: int, low: int, high: int) -> int:
        number = self._number(name, default, int, "a whole number")
        if not low <= number <= high:
            raise SettingsError(f"{name} is from {low} to {high}; {number} came")
        return number

    def seconds(self, name: str, default: float) -> float:
        number = self._number(name, default, float, "a number of seconds")
        if not (math.isfinite(number) and number > 0):
            raise SettingsError(f"{name} is a number of seconds above 0; {number} came")
        return number

    def flag(self, name: str, default: bool) -> bool:
        value = (self.text(name) or str(default)).lower()
        if value not in ("true", "false"):
            raise SettingsError(f"{name} is true or false; {value!r} came")
        return value == "true"

    def names(self, name: str, default: tuple[str, ...]) -> tuple[str, ...]:
        value = self.text(name)
        if value is None:
            return default
        return () if value.lower() == "none" else tuple(part.strip() for part in value.split(",") if part.strip())

    def choice(self, name: str, default: str, values: tuple[str, ...]) -> str:
        value = (self.text(name) or default).upper()
        if value not in values:
            raise SettingsError(f"{name} is one of {', '.join(values)}; {value!r} came")
        return value

    def _number[Number: (int, float)](
        self, name: str, default: Number, kind: Callable[[str], Number], meaning: str
    ) -> Number:
        value = self.text(name)
        if value is None:
            return default
        try:
            return kind(value)
        except ValueError:
            raise SettingsError(f"{name} is {meaning}; {value!r} came") from None
