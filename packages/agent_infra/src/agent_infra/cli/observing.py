"""Verbs that look and change nothing: doctor, status, logs."""

from __future__ import annotations

import typer
from infra_common.choices import FollowOption, ImageChoices, SinceOption

from agent_infra.cli.choices import BuilderOption, LiveModelIdOption, SpeechModelOption, builder_of, image_recipe
from agent_infra.cli.situation import DEFAULT_AGENT, AgentOption, Situation, situated

app = typer.Typer()


@app.command(epilog="Example: agent-infra doctor --bedrock-model-id us.amazon.nova-lite-v1:0 --region us-east-1")
@situated
def doctor(
    *,
    here: Situation,
    agent: AgentOption = DEFAULT_AGENT,
    bedrock_model_id: LiveModelIdOption = None,
    speech_model: SpeechModelOption = "kokoro-82m",
    image: ImageChoices,
    builder: BuilderOption = "docker",
) -> None:
    """Check whether an agent can be deployed: each failure comes with the command that fixes it. Nothing is changed."""
    from infra_common.checks import examine
    from infra_common.container_engine import ContainerEngine
    from infra_common.errors import OptionRefused

    from agent_infra.doctor import checks
    from agent_infra.options import AgentOptions

    target = here.target(agent)
    recipe = image_recipe(target, image)
    live = None if bedrock_model_id else target.release()
    if bedrock_model_id is None and live is None:
        raise OptionRefused("--bedrock-model-id: expected the model that is to answer; no agent is live that has one")
    options = live.options if live else AgentOptions(str(bedrock_model_id), speech_model=speech_model)
    examine(checks(target, options, recipe, ContainerEngine(), builder_of(builder)), here.console)


@app.command(epilog="Example: agent-infra status --json")
@situated
def status(*, here: Situation, agent: AgentOption = DEFAULT_AGENT) -> None:
    """Show which version is live against what is wanted, its model and voice, alarms, and what it costs."""
    from infra_common.status import show_status

    from agent_infra.status import gather

    target = here.target(agent)
    show_status(gather(target), target.names.deployment, here.console)


@app.command(epilog="Example: agent-infra logs --since 60 --follow")
@situated
def logs(
    *,
    here: Situation,
    agent: AgentOption = DEFAULT_AGENT,
    since: SinceOption = 15,
    follow: FollowOption = False,
) -> None:
    """Print the agent's log lines, with --json one document a line."""
    from infra_common.log_lines import show_lines

    from agent_infra.names import ENDPOINT
    from agent_infra.runtime import runtime_id_of

    target = here.target(agent)
    group = f"/aws/bedrock-agentcore/runtimes/{runtime_id_of(target.require_runtime())}-{ENDPOINT}"
    show_lines(target.client("logs"), group, since, here.console, follow=follow)
