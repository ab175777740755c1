"""`status`: what is live against what is wanted, whether it is well, and what it costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from infra_common.parameters import parameter_texts
from infra_common.stack_state import StackState
from infra_common.status import alarm_states

from agent_infra.release import Release
from agent_infra.runtime import RuntimeState, runtime_state
from agent_infra.target import Target

VCPU_HOUR_USD: Final = 0.0895
GB_HOUR_USD: Final = 0.00945
"""AgentCore's prices of what a session uses (us-east-1, November 2026); a runtime that nobody talks to costs nothing.
"""


@dataclass(frozen=True, slots=True)
class Status:
    """Everything, as it was found; None for what is not there."""

    names: dict[str, str]
    stack: StackState | None
    release: Release | None
    releases: int
    runtime: RuntimeState | None
    alarms: dict[str, str]

    @property
    def differences(self) -> list[str]:
        """Where what is live is not what the release says."""
        release, runtime = self.release, self.runtime
        if release is None:
            return []
        if runtime is None:
            return ["the release is to answer, but there is no runtime"]
        found = []
        if runtime.image_digest != release.image_digest:
            found.append(f"image: wanted {release.image_digest}, live {runtime.image_digest or 'none'}")
        if runtime.status != "READY":
            found.append(f"runtime: wanted READY, live {runtime.status}")
        if runtime.endpoint_status != "READY":
            found.append(f"endpoint: wanted READY, live {runtime.endpoint_status}")
        return found

    def as_dict(self) -> dict[str, Any]:
        """For --json."""
        release, runtime, stack = self.release, self.runtime, self.stack
        return {
            **self.names,
            "stack": None if stack is None else {"name": stack.name, "status": stack.status, "reason": stack.reason},
            "release": None
            if release is None
            else {
                "image": release.image_digest,
                "voice": release.voice.endpoint_name,
                "options": release.options.as_dict(),
                "versions": self.releases,
            },
            "runtime": None
            if runtime is None
            else {
                "arn": runtime.arn,
                "id": runtime.runtime_id,
                "status": runtime.status,
                "failure": runtime.failure or None,
                "endpoint": runtime.endpoint_arn,
                "endpoint_status": runtime.endpoint_status,
                "version": runtime.live_version,
                "image": runtime.image_digest,
            },
            "differences": self.differences,
            "alarms": self.alarms,
            "usd_a_vcpu_hour": VCPU_HOUR_USD,
            "usd_a_gb_hour": GB_HOUR_USD,
        }

    def lines(self) -> Iterator[tuple[str, str]]:
        """What and how it is, for a table."""
        yield "stage", f"{self.names['stage']} in {self.names['region']}, account {self.names['account']}"
        yield "stack", "not there" if self.stack is None else f"{self.stack.name}: {self.stack.status}"
        yield "runtime", "none" if self.runtime is None else self.runtime.described()
        if self.runtime is not None:
            yield "ARN", self.runtime.arn
            if self.runtime.failure:
                yield "last failure", self.runtime.failure
        if self.release is not None:
            options = self.release.options
            yield "release", f"{self.releases} so far"
            yield "image", self.release.image_digest
            yield "model", options.bedrock_model_id
            yield "voice", self.release.voice.endpoint_name
            yield "callers", f"tokens of {options.jwt_discovery}" if options.takes_tokens else "AWS signatures"
            yield "network", "a VPC of its own" if options.use_vpc else "public"
        yield "wanted = live", "; ".join(self.differences) or ("yes" if self.release else "nothing is wanted")
        if self.alarms:
            raised = [name for name, state in self.alarms.items() if state == "ALARM"]
            yield "alarms", f"raised: {', '.join(raised)}" if raised else f"{len(self.alarms)} quiet"
        used = f"${VCPU_HOUR_USD} a vCPU-hour and ${GB_HOUR_USD} a GB-hour"
        yield "cost", f"nothing while nobody talks to it; then {used}, and the model's tokens"


def gather(target: Target) -> Status:
    """Ask AWS; nothing is changed. Raises what botocore raises."""
    names = target.names
    stack = target.stack(names.runtime_stack)
    arn = stack.outputs.get("RuntimeArn") if stack else None
    return Status(
        names={"agent": names.agent, "stage": names.stage, "region": names.region, "account": names.account},
        stack=stack,
        release=target.release(),
        releases=len(parameter_texts(target.client("ssm"), names.release_parameter)),
        runtime=runtime_state(target.client("bedrock-agentcore-control"), arn) if arn else None,
        alarms=alarm_states(target.client("cloudwatch"), names.runtime_stack),
    )
