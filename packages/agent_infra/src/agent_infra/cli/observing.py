"""Verbs that look and change nothing: doctor, status, logs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from agent_infra.cli.choices import (
    BuilderOption,
    DigestOption,
    DockerfileOption,
    LiveModelIdOption,
    SpeechModelOption,
    builder_of,
    image_recipe,
)
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
    dockerfile: DockerfileOption = None,
    image_digest: DigestOption = None,
    builder: BuilderOption = "docker",
) -> None:
    """Check whether an agent can be deployed: each failure comes with the command that fixes it. Nothing is changed."""
    from infra_common.aws_errors import explained
    from infra_common.checks import run_checks, show
    from infra_common.container_engine import ContainerEngine

    from agent_infra.doctor import checks
    from agent_infra.errors import OptionRefused
    from agent_infra.options import AgentOptions

    target = here.target(agent)
    recipe = image_recipe(target, dockerfile, image_digest)
    live = None if bedrock_model_id else target.release()
    if bedrock_model_id is None and live is None:
        raise OptionRefused("--bedrock-model-id: expected the model that is to answer; no agent is live that has one")
    options = live.options if live else AgentOptions(str(bedrock_model_id), speech_model=speech_model)
    planned = checks(target, options, recipe, ContainerEngine(), builder_of(builder))
    found = run_checks(planned, explained, lambda each: show(each, here.console))
    has_failed = any(each.finding.status == "failed" for each in found)
    here.console.result({"checks": [each.as_dict() for each in found], "passed": not has_failed})
    if has_failed:
        raise typer.Exit(1)


@app.command(epilog="Example: agent-infra status --json")
@situated
def status(*, here: Situation, agent: AgentOption = DEFAULT_AGENT) -> None:
    """Show which version is live against what is wanted, its model and voice, alarms, and what it costs."""
    from agent_infra.status import gather

    target = here.target(agent)
    found = gather(target)
    here.console.result(found.as_dict())
    here.console.table("", ("", target.names.deployment), list(found.lines()))


@app.command(epilog="Example: agent-infra logs --since 60 --follow")
@situated
def logs(
    *,
    here: Situation,
    agent: AgentOption = DEFAULT_AGENT,
    since: Annotated[int, typer.Option(help="Minutes back.", min=0, max=43_200, metavar="MINUTES")] = 15,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until Ctrl-C.")] = False,
) -> None:
    """Print the agent's log lines, with --json one document a line."""
    import json

    from infra_common.log_lines import lines_since

    from agent_infra.names import ENDPOINT
    from agent_infra.runtime import runtime_id_of

    target = here.target(agent)
    group = f"/aws/bedrock-agentcore/runtimes/{runtime_id_of(target.require_runtime())}-{ENDPOINT}"
    start = datetime.now(UTC) - timedelta(minutes=since)
    count = 0
    for line in lines_since(target.client("logs"), group, start, follow=follow):
        count += 1
        if here.console.as_json:
            typer.echo(json.dumps({"at": line.at.isoformat(), "stream": line.stream, "text": line.text}))
        else:
            typer.echo(f"{line.at:%H:%M:%S} {line.stream.rpartition('/')[2]} {line.text}")
    if not count:
        here.console.note(f"no lines in {group} for {since} minutes")
