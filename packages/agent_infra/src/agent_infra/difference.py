"""`diff`: the templates that `deploy` would use now, compared by the CDK command with what is deployed."""

from __future__ import annotations

from pathlib import Path

from infra_common.difference import show_difference as show
from infra_common.errors import NotDeployed
from infra_common.release_record import NO_DIGEST

from agent_infra.deployment import make_assembly, removal_command
from agent_infra.images import agent_recipe
from agent_infra.options import AgentOptions
from agent_infra.plan import Plan
from agent_infra.release import Release
from agent_infra.target import Target
from agent_infra.voice import published_voice


def show_difference(target: Target, dockerfile: Path | None, model_id: str | None) -> None:
    """With the options of what is live, and another model where one is named. Raises NotDeployed, ToolFailed."""
    live = target.release()
    if live is None and model_id is None:
        raise NotDeployed(
            f"{target.names.deployment} is not deployed, so nothing says which model it should have",
            fix=target.command("diff", "--bedrock-model-id ID"),
        )
    tag = agent_recipe(target.root, dockerfile).content_tag()
    found = target.images.find(tag)
    if found is None:
        target.console.warn(f"image {tag} is not in the repository: deploy would build it; the difference shows zeros")
    options = live.options if live else AgentOptions(str(model_id))
    if model_id is not None:
        options = AgentOptions.from_dict(options.as_dict() | {"bedrock_model_id": model_id})
    region = target.session.region
    plan = Plan(
        Release(
            found.digest if found else NO_DIGEST,
            published_voice(target.client("ssm"), target.stage, options.speech_model, region),
            options,
        ),
        target.profiles.look_up(options.bedrock_model_id, region, lambda: target.client("bedrock")),
        removal_command(target),
        enables_tracing=target.stack(target.names.tracing_stack) is not None,
    )
    show(target, make_assembly(target, target.names, plan))
