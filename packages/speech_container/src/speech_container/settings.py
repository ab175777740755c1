"""What can be set, in one frozen value: 19 settings, with the unit in the name where there is one.

Every field is read from `SPEECH_` + its name in capitals. `SAGEMAKER_BIND_TO_PORT`, which the platform sets, wins over
`SPEECH_PORT`; `METRICS` is another name for `SPEECH_METRICS`. A value that cannot be used stops the server with one
sentence that names the variable.
"""

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, get_args

from speech_protocol import DEFAULT_FRAME_BYTES, DEFAULT_MAX_TEXT_CHARS, Latency

from .errors import SettingsInvalid

EngineName = Literal["auto", "openvino", "onnx", "torch", "torch-graphs", "tone"]
LogLevel = Literal["text", "debug", "info", "warning", "error"]
MetricsForm = Literal["prometheus", "emf"]
ENGINE_NAMES: Final[tuple[EngineName, ...]] = get_args(EngineName)
LOG_LEVELS: Final[tuple[LogLevel, ...]] = get_args(LogLevel)
METRICS_FORMS: Final[tuple[MetricsForm, ...]] = get_args(MetricsForm)
LATENCIES: Final[tuple[Latency, ...]] = get_args(Latency)


_ALIASES: Final = {"metrics": "METRICS"}


def _setting(default: Any, low: float | None = None, high: float | None = None) -> Any:
    return dataclasses.field(default=default, metadata={"low": low, "high": high})


@dataclass(frozen=True, slots=True)
class Settings:
    """How one server runs. Defaults suit a laptop; the image sets the host."""

    batch_window_ms: ClassVar[float] = 5.0
    """Milliseconds that a segment waits for others to share a step with, where the engine takes several at once. No
    setting: more costs every lone request that much, and less loses the company of requests that come together
    (docs/fairness.md); in between nothing changes that can be heard."""

    engine: EngineName = "auto"
    """openvino (Kokoro on the CPU, in bfloat16 where the processor multiplies it), onnx (Kokoro on any CPU), torch (on
    kokoro's own modules), torch-graphs (the same as CUDA graphs, on a CUDA device), tone (beeps, for tests), or auto:
    openvino where that is the faster one, else onnx."""
    weights: Path | None = None
    """A prepared weights directory. None: /opt/ml/model where that holds one, else the packaged weights."""
    host: str = "127.0.0.1"
    """The address to listen on."""
    port: int = _setting(8080, 0, 65535)
    """The port to listen on; 0 takes a free one."""
    latency: Latency = "exact"
    """What is given to requests that do not say: exact (each sentence whole) or low (its first 0.4 s at once)."""
    threads: int = _setting(0, 0, 256)
    """Threads of the engine; 0 means one for each core that this process may use."""
    max_text_chars: int = _setting(DEFAULT_MAX_TEXT_CHARS, 1, 1_000_000)
    """The longest text of one request, in characters."""
    max_message_bytes: int = _setting(2 * 1024 * 1024, 1024, 64 * 1024 * 1024)
    """The largest WebSocket message or HTTP body. A larger message closes the socket (1009); a larger body gets 413."""
    max_waiting_segments: int = _setting(256, 1, 100_000)
    """Segments (about a sentence each) that may wait for the engine; past it: busy. Bounds each listener's queue, and
    what brings all listeners together to their look-ahead."""
    max_waiting_requests: int = _setting(32, 1, 10_000)
    """Requests that one session may have unanswered, and that may wait for their phonemes; past it: busy."""
    max_requests_per_minute: int = _setting(600, 1, 1_000_000)
    """Requests that one session may send a minute, in a burst or spread; past it: rate_limited."""
    max_sessions: int = _setting(2000, 1, 100_000)
    """WebSocket sessions and HTTP requests at one time; past it: busy, and the socket is closed (1013)."""
    context_idle_s: float = _setting(60.0, 0.01, 3600)
    """How long a context may get no text before it is ended. What came of it is spoken."""
    look_ahead_s: float = _setting(10.0, 0.1, 3600)
    """Seconds of audio that are made for a listener ahead of what it has had time to hear."""
    max_wait_s: float = _setting(10.0, 0.1, 3600)
    """How long a new listener may have to wait for the engine, as estimated; past it: busy."""
    frame_bytes: int = _setting(DEFAULT_FRAME_BYTES, 64, 1024 * 1024)
    """The largest audio frame or chunk. AgentCore's WebSocket takes 32 KiB."""
    send_timeout_s: float = _setting(30.0, 0.1, 3600)
    """How long a peer may take to make room for one frame, to finish a request's head or body, or to read the end of a
    connection that is over, before it is dropped."""
    log_level: LogLevel = "info"
    """The least severe log line that is written: debug, info, warning or error; text is debug with what was said."""
    metrics: MetricsForm = "prometheus"
    """prometheus: GET /metrics; emf: besides, log lines in CloudWatch's embedded metric format."""

    def __post_init__(self) -> None:
        _require_choice("engine", self.engine, ENGINE_NAMES)
        _require_choice("latency", self.latency, LATENCIES)
        _require_choice("log_level", self.log_level, LOG_LEVELS)
        _require_choice("metrics", self.metrics, METRICS_FORMS)
        for field in dataclasses.fields(self):
            low, high = field.metadata.get("low"), field.metadata.get("high")
            value = getattr(self, field.name)
            if low is not None and not low <= value <= high:
                raise SettingsInvalid(f"{_variable(field.name)} is from {low} to {high}; {value} came")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None, **given: Any) -> "Settings":
        """The settings of `environment` (default: the process's own); those `given`, unless None, win."""
        environment = os.environ if environment is None else environment
        values: dict[str, Any] = {}
        for field in dataclasses.fields(cls):
            raw = environment.get(_variable(field.name)) or environment.get(_ALIASES.get(field.name, ""))
            if raw:
                values[field.name] = _convert(_variable(field.name), raw, field.default)
        if bind_to := environment.get("SAGEMAKER_BIND_TO_PORT"):
            values["port"] = _convert("SAGEMAKER_BIND_TO_PORT", bind_to, 0)
        return cls(**values | {name: value for name, value in given.items() if value is not None})

    @property
    def engine_threads(self) -> int:
        """The threads that the engine gets."""
        return self.threads or len(os.sched_getaffinity(0))


def _variable(name: str) -> str:
    return f"SPEECH_{name.upper()}"


def _require_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise SettingsInvalid(f"{_variable(name)} is one of {', '.join(choices)}; {value!r} came")


def _convert(variable: str, raw: str, default: Any) -> Any:
    """`raw` as what the field's default is; a field without one holds a path."""
    if default is None:
        return Path(raw)
    if isinstance(default, str):
        return raw
    try:
        return int(raw) if isinstance(default, int) else float(raw)
    except ValueError:
        kind = "a whole number" if isinstance(default, int) else "a number"
        raise SettingsInvalid(f"{variable} is {kind}; {raw!r} came") from None
