"""Asking the deployed agent: boto3's `invoke_agent_runtime` on the endpoint `live`, as any caller does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from infra_common.errors import OptionRefused

from agent_infra.errors import AskingFailed
from agent_infra.names import ENDPOINT
from agent_infra.runtime import runtime_id_of

if TYPE_CHECKING:
    from local_cloud.answer import Answer
    from local_cloud.caller import AgentCaller

    from agent_infra.target import Target

FORMATS: Final = {
    ".wav": "pcm",
    ".mp3": "mp3",
    ".opus": "opus",
    ".ogg": "opus",
    ".aac": "aac",
    ".mp4": "aac",
    ".m4a": "aac",
}
"""What the agent is asked for, by the suffix of the file; samples are put into a WAV file here, with true sizes."""


def deployed_caller(target: Target) -> AgentCaller:
    """Raises NotDeployed, and AskingFailed for an agent that takes tokens and no signatures."""
    from local_cloud.caller import AgentCaller

    arn = target.require_runtime()
    release = target.release()
    if release is not None and release.options.takes_tokens:
        raise AskingFailed(
            f"{target.names.deployment} takes tokens of {release.options.jwt_discovery}, and this command signs with "
            "AWS credentials",
            fix=f"curl -N -H 'Authorization: Bearer TOKEN' -d '{{\"prompt\": \"Hello\"}}' "
            f"'https://bedrock-agentcore.{target.session.region}.amazonaws.com/runtimes/"
            f"{arn.replace(':', '%3A').replace('/', '%2F')}/invocations?qualifier={ENDPOINT}'",
        )
    return AgentCaller(arn, target.session.region, qualifier=ENDPOINT, profile=target.session.profile)


def format_of(path: Path) -> str:
    """The audio format that a file is to have. Raises OptionRefused."""
    try:
        return FORMATS[path.suffix.lower()]
    except KeyError:
        raise OptionRefused(f"--output {path}: expected a name that ends in {', '.join(FORMATS)}") from None


def write_answer(answer: Answer, path: Path) -> None:
    """The audio as a file. Raises AskingFailed where there is none."""
    if not answer.audio:
        raise AskingFailed(f"the answer holds nothing to hear; its text is {answer.text[:80]!r}")
    if answer.format == "pcm":
        answer.write_wav(path)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(answer.audio)


def stop_session(target: Target, session_id: str) -> dict[str, Any]:
    """End a session at once: what runs in it, and what it costs. Raises what botocore raises, NotDeployed."""
    arn = target.require_runtime()
    target.client("bedrock-agentcore").stop_runtime_session(
        agentRuntimeArn=arn, runtimeSessionId=session_id, qualifier=ENDPOINT
    )
    return {"session": session_id, "runtime": runtime_id_of(arn)}
