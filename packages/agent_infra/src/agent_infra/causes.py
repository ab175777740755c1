"""What usually lies behind AgentCore's words when a runtime does not come up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from infra_common.aws_errors import explained
from infra_common.failure import COMMON_CAUSES, Cause, Explanation, explain, last_lines
from infra_common.stack_events import StackEvent

from agent_infra.cleanup import log_groups_of
from agent_infra.target import Target

_AGENTCORE: Final = "AWS::BedrockAgentCore::"


def causes(target: Target) -> tuple[Cause, ...]:
    """Ours first: they say more than the common ones."""
    again = target.command("deploy", "--bedrock-model-id ID")
    return (
        Cause(
            ("rchitecture", "arm64", "exec format error"),
            "the image is not for linux/arm64, which is all that AgentCore runs",
            f"{again} --builder codebuild",
        ),
        Cause(
            ("ECR URI", "image not found", "does not exist in the registry", "Requested image"),
            "the image is not in the repository, or the role may not pull it yet",
            again,
        ),
        Cause(
            ("vailability Zone", "supported AZ"),
            "AgentCore has no place in one of the VPC's availability zones",
            f"{again}   (without --vpc, or in another --region)",
        ),
        Cause(
            ("ServiceQuotaExceeded", "limit exceeded", "Maximum number of"),
            "the account has as many runtimes, versions or endpoints as AgentCore allows",
            "aws bedrock-agentcore-control list-agent-runtimes   (then remove one, or ask for more in Service Quotas)",
        ),
        Cause(
            ("AssumeRole", "role validation", "trust"),
            "AgentCore may not take the role: its trust was changed, or has not spread yet",
            again,
        ),
        *COMMON_CAUSES,
    )


def explain_failure(target: Target, events: Sequence[StackEvent]) -> Explanation:
    """One paragraph and one command; the agent's last lines where the runtime was what failed."""

    def log_of(event: StackEvent) -> Sequence[str]:
        if not event.type.startswith(_AGENTCORE):
            return ()
        logs = target.client("logs")
        try:
            return [line for group in log_groups_of(target) for line in last_lines(logs, group)]
        except Exception as error:
            if explained(error) is None:
                raise
            return (f"(the log could not be read: {explained(error)})",)

    return explain(events, causes(target), log_of, target.command("deploy", "--bedrock-model-id ID"))
