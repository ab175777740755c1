"""What usually lies behind SageMaker's words when an endpoint does not come up."""

from __future__ import annotations

from collections.abc import Sequence

from infra_common.aws_errors import explained
from infra_common.failure import COMMON_CAUSES, Cause, Explanation, explain, last_lines
from infra_common.stack_events import StackEvent

from speech_infra.target import Target

_ENDPOINT = "AWS::SageMaker::Endpoint"


def causes(target: Target) -> tuple[Cause, ...]:
    """Ours first: they say more than the common ones."""
    quota = (
        f"aws service-quotas list-service-quotas --service-code sagemaker "
        f"--query \"Quotas[?QuotaName=='{target.model.instance_type} for endpoint usage']\""
    )
    return (
        Cause(
            ("ping health check", "health check"),
            "the container started but never said it was ready: weights that were refused, a driver that does not fit "
            "the image's CUDA, or a crash; its last log lines say which",
            target.command("logs"),
        ),
        Cause(
            (
                "insufficient capacity",
                "InsufficientInstanceCapacity",
                "Unable to provision requested ML compute capacity",
            ),
            "AWS has no such instance free in this region at the moment",
            f"{target.command('deploy')}   (later, or with --instance-type, or in another --region)",
        ),
        Cause(
            ("ResourceLimitExceeded", "service limit"), "the account's quota for the instance type is too small", quota
        ),
        Cause(
            ("Requested image", "image not found", "does not exist in the registry"),
            "the image is not in the repository (a lifecycle rule or a person removed it)",
            target.command("deploy"),
        ),
        Cause(
            ("model data", "NoSuchKey"),
            "the weights are not under their prefix in the bucket",
            target.command("weights sync"),
        ),
        Cause(
            ("ALARM", "alarms"),
            "an alarm rose while the new instances baked, so SageMaker went back to the old ones, which still serve",
            f"{target.command('logs')}   (what the new instances said), then fix and deploy again",
        ),
        *COMMON_CAUSES,
    )


def explain_failure(target: Target, events: Sequence[StackEvent]) -> Explanation:
    """One paragraph and one command; the container's last lines where the endpoint was what failed."""

    def log_of(event: StackEvent) -> Sequence[str]:
        if event.type != _ENDPOINT:
            return ()
        logs = target.client("logs")
        try:
            return last_lines(logs, target.names.log_group)
        except Exception as error:
            if explained(error) is None:
                raise
            return (f"(the log could not be read: {explained(error)})",)

    return explain(events, causes(target), log_of, target.command("deploy"))
