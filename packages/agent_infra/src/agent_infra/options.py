"""What a person may choose for an agent, checked before anything is made."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Self

from infra_common.errors import OptionRefused

from agent_infra.model_access import require_model_id

_TAG: Final = re.compile(r"[\w .:/=+@-]{1,128}")
_SETTING: Final = re.compile(r"AGENT_[A-Z_]{1,60}")
_OURS: Final = frozenset({"AGENT_HOST", "AGENT_PORT"})
_DISCOVERY: Final = re.compile(r"https://.+/\.well-known/openid-configuration")
_HEADER: Final = re.compile(r"Authorization|X-Amzn-Bedrock-AgentCore-Runtime-Custom-[A-Za-z0-9-]{1,64}")
_SPEECH_MODEL: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,30}")
_DAYS: Final = (1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731)
"""What CloudWatch Logs takes, up to two years."""
MOST_HEADERS: Final = 20
IDLE_S: Final = (60, 28_800)
"""AgentCore's bounds of an idle session and of a session's life, in seconds."""


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """Everything of an agent but its image and where its voice is."""

    bedrock_model_id: str
    speech_model: str = "kokoro-82m"
    """Which of the stage's speech endpoints it speaks with."""
    use_vpc: bool = False
    jwt_discovery: str | None = None
    """OpenID discovery URL: callers bring a token of it instead of signing with AWS credentials."""
    jwt_clients: tuple[str, ...] = ()
    jwt_audiences: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    """Request headers that are passed on to the agent, beyond AgentCore's own."""
    idle_s: int = 900
    life_s: int = 28_800
    log_days: int = 30
    use_transaction_search: bool = False
    alarm_topic: str | None = None
    """ARN of an SNS topic that the alarms tell."""
    settings: dict[str, str] = field(default_factory=dict)
    """AGENT_… variables of the container."""
    tags: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require_model_id(self.bedrock_model_id)
        if not _SPEECH_MODEL.fullmatch(self.speech_model):
            raise OptionRefused(f"--speech-model {self.speech_model!r}: expected one that `speech-infra list` shows")
        self._check_callers()
        low, high = IDLE_S
        if not low <= self.idle_s <= self.life_s <= high:
            raise OptionRefused(
                f"expected {low} <= --idle-seconds <= --life-seconds <= {high}, found {self.idle_s} and {self.life_s}"
            )
        if self.log_days not in _DAYS:
            raise OptionRefused(f"--log-days {self.log_days}: expected one of {', '.join(map(str, _DAYS))}")
        for name in self.settings:
            if not _SETTING.fullmatch(name) or name in _OURS:
                raise OptionRefused(f"--setting {name}: expected a setting of agent-runtime, such as AGENT_TOOLS")
        for key, value in self.tags.items():
            if not _TAG.fullmatch(key) or key.lower().startswith("aws:") or len(value) > 256:
                raise OptionRefused(f"--tag {key}={value}: a key has 1 to 128 plain characters, not `aws:`")

    def _check_callers(self) -> None:
        if self.jwt_discovery is None:
            if self.jwt_clients or self.jwt_audiences:
                raise OptionRefused("--jwt-client and --jwt-audience need --jwt-discovery, which says whose tokens")
        elif not _DISCOVERY.fullmatch(self.jwt_discovery):
            raise OptionRefused(
                f"--jwt-discovery {self.jwt_discovery!r}: expected https://…/.well-known/openid-configuration"
            )
        elif not (self.jwt_clients or self.jwt_audiences):
            raise OptionRefused(
                "--jwt-discovery alone would let in every token of that issuer: add --jwt-client or --jwt-audience"
            )
        for header in self.headers:
            if not _HEADER.fullmatch(header):
                raise OptionRefused(
                    f"--header {header!r}: AgentCore passes on Authorization and "
                    "X-Amzn-Bedrock-AgentCore-Runtime-Custom-…"
                )
        if len(self.headers) > MOST_HEADERS:
            raise OptionRefused(f"--header: AgentCore passes on at most {MOST_HEADERS}, found {len(self.headers)}")

    @property
    def takes_tokens(self) -> bool:
        """Whether callers bring a token, and not a signature."""
        return self.jwt_discovery is not None

    def as_dict(self) -> dict[str, Any]:
        """For the release record."""
        return asdict(self)

    @classmethod
    def from_dict(cls, value: dict[str, Any]) -> Self:
        """What `as_dict` gave, once it has been through JSON."""
        lists = ("jwt_clients", "jwt_audiences", "headers")
        return cls(**(value | {name: tuple(value[name]) for name in lists if name in value}))
