"""Verbs that look and change nothing: list, doctor, status, logs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from speech_infra.cli.choices import (
    DigestOption,
    DockerfileOption,
    InstancesOption,
    InstanceTypeOption,
    KmsOption,
    MaxInstancesOption,
    StrategyOption,
    TagOption,
    TopicOption,
    VpcOption,
    endpoint_options,
    image_recipe,
)
from speech_infra.cli.situation import DEFAULT_MODEL, ModelArgument, Situation, situated

app = typer.Typer()


@app.command("list", epilog="Example: speech-infra list --json")
@situated
def list_models(*, here: Situation) -> None:
    """List the models that can be deployed. Asks nobody."""
    from speech_infra.catalogue import MODELS
    from speech_infra.fallback_prices import DATE, USD_AN_HOUR

    models = list(MODELS.values())
    here.console.result(
        [
            {
                "name": each.name,
                "summary": each.summary,
                "instance_type": each.instance_type,
                "engine": each.engine,
                "usd_an_hour": USD_AN_HOUR.get(each.instance_type),
                "price_date": DATE,
            }
            for each in models
        ]
    )
    rows = [(each.name, each.instance_type, f"${USD_AN_HOUR[each.instance_type]:.2f}", each.summary) for each in models]
    here.console.table(f"Models (prices: us-east-1, {DATE})", ("model", "instance", "an hour", "what it is"), rows)


@app.command(epilog="Exit code 1 where a check failed. Example: speech-infra doctor kokoro-82m --region us-east-1")
@situated
def doctor(
    model: ModelArgument = DEFAULT_MODEL,
    *,
    here: Situation,
    instance_type: InstanceTypeOption = None,
    instances: InstancesOption = None,
    max_instances: MaxInstancesOption = None,
    strategy: StrategyOption = None,
    vpc: VpcOption = False,
    kms_key: KmsOption = None,
    alarm_topic: TopicOption = None,
    tags: TagOption = None,
    dockerfile: DockerfileOption = None,
    image_digest: DigestOption = None,
) -> None:
    """Check everything that a deployment with the same options needs; each failure comes with what fixes it."""
    from infra_common.aws_errors import explained
    from infra_common.checks import run_checks, show
    from infra_common.container_engine import ContainerEngine

    from speech_infra.doctor import checks

    target = here.target(model)
    options = endpoint_options(
        target.model,
        tags,
        instance_type=instance_type,
        instances=instances,
        max_instances=max_instances,
        strategy=strategy,
        use_vpc=vpc,
        kms_key=kms_key,
        alarm_topic=alarm_topic,
    )
    recipe = image_recipe(target, dockerfile, image_digest)
    planned = checks(target, options, recipe, ContainerEngine())
    found = run_checks(planned, explained, lambda each: show(each, here.console))
    has_failed = any(each.finding.status == "failed" for each in found)
    here.console.result({"checks": [each.as_dict() for each in found], "passed": not has_failed})
    if has_failed:
        raise typer.Exit(1)


@app.command(epilog="Example: speech-infra status kokoro-82m --json")
@situated
def status(model: ModelArgument = DEFAULT_MODEL, *, here: Situation) -> None:
    """Show what is live against what is wanted, alarms, the last smoke test, and dollars an hour."""
    from speech_infra.status import gather

    target = here.target(model)
    found = gather(target)
    here.console.result(found.as_dict())
    here.console.table("", ("", target.names.endpoint), list(found.lines()))


@app.command(epilog="Example: speech-infra logs kokoro-82m --since 60 --follow")
@situated
def logs(
    model: ModelArgument = DEFAULT_MODEL,
    *,
    here: Situation,
    since: Annotated[int, typer.Option(help="Minutes back.", min=0, max=43_200, metavar="MINUTES")] = 15,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until Ctrl-C.")] = False,
) -> None:
    """Print the container's log lines, with --json one document a line."""
    import json

    from infra_common.log_lines import lines_since

    target = here.target(model)
    start = datetime.now(UTC) - timedelta(minutes=since)
    count = 0
    for line in lines_since(target.client("logs"), target.names.log_group, start, follow=follow):
        count += 1
        if here.console.as_json:
            typer.echo(json.dumps({"at": line.at.isoformat(), "stream": line.stream, "text": line.text}))
        else:
            typer.echo(f"{line.at:%H:%M:%S} {line.stream.rpartition('/')[2]} {line.text}")
    if not count:
        here.console.note(f"no lines in {target.names.log_group} for {since} minutes")
