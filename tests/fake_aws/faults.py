"""What is to go wrong, as tests ask for it: kept in one place, read where it matters, told over the control plane."""

import threading
from dataclasses import dataclass, field, fields
from typing import Any

from .errors import AwsRefusal
from .wire import Call


@dataclass(slots=True)
class Refusal:
    """An AWS error for calls of one service (and action, where one is named), so many times; -1 is always."""

    service: str
    code: str
    message: str
    action: str = ""
    status: int = 400
    times: int = 1


@dataclass(slots=True)
class Faults:
    """All of them. Safe to read and change from any thread."""

    refusals: list[Refusal] = field(default_factory=list)
    endpoint_failure: str = ""
    """Why endpoints fail to start; empty where they start."""
    endpoint_log: list[str] = field(default_factory=list)
    """The lines that a container writes before it fails, or as it starts."""
    endpoint_is_held: bool = False
    """Endpoints stay in Creating or Updating until this is false again."""
    rollback_failure: str = ""
    """Why a stack's update cannot be rolled back."""
    quotas: dict[str, float] = field(default_factory=dict)
    """Quota names of SageMaker to their values, instead of the usual ones."""
    is_priced: bool = True
    """Whether the Price List answers."""
    runtime_failure: str = ""
    """Why AgentCore runtimes fail to be made; empty where they are made."""
    build_failure: str = ""
    """Why CodeBuild's builds fail; empty where they succeed."""
    is_tracing_on: bool = False
    """Whether somebody has switched Transaction Search on."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def change(self, changes: dict[str, Any]) -> None:
        """Set what is named; `refusals` are added."""
        with self._lock:
            for name, value in changes.items():
                if name == "refusals":
                    self.refusals += [Refusal(**each) for each in value]
                elif name.startswith("_") or not hasattr(self, name):
                    raise AwsRefusal("UnknownFault", f"expected a field of Faults, found {name!r}")
                else:
                    setattr(self, name, value)

    def clear(self) -> None:
        """Nothing goes wrong any more."""
        fresh = Faults()
        with self._lock:
            for name in (each.name for each in fields(self)):
                if not name.startswith("_"):
                    setattr(self, name, getattr(fresh, name))

    def refuse(self, call: Call) -> None:
        """Raise the first refusal that is meant for `call`."""
        with self._lock:
            for refusal in self.refusals:
                if refusal.service == call.service and refusal.action in {"", call.action} and refusal.times:
                    refusal.times -= 1 if refusal.times > 0 else 0
                    raise AwsRefusal(refusal.code, refusal.message, refusal.status)
