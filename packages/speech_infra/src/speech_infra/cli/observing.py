"""Verbs that look and change nothing: list, doctor, status, logs."""

from __future__ import annotations

import typer
from infra_common.choices import FollowOption, ImageChoices, SinceOption

from speech_infra.cli.choices import EndpointChoices, image_recipe
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
    endpoint: EndpointChoices,
    image: ImageChoices,
) -> None:
    """Check everything that a deployment with the same options needs; each failure comes with what fixes it."""
    from infra_common.checks import examine
    from infra_common.container_engine import ContainerEngine

    from speech_infra.doctor import checks

    target = here.target(model)
    options = endpoint.of(target.model)
    recipe = image_recipe(target, image)
    examine(checks(target, options, recipe, ContainerEngine()), here.console)


@app.command(epilog="Example: speech-infra status kokoro-82m --json")
@situated
def status(model: ModelArgument = DEFAULT_MODEL, *, here: Situation) -> None:
    """Show what is live against what is wanted, alarms, the last smoke test, and dollars an hour."""
    from infra_common.status import show_status

    from speech_infra.status import gather

    target = here.target(model)
    show_status(gather(target), target.names.endpoint, here.console)


@app.command(epilog="Example: speech-infra logs kokoro-82m --since 60 --follow")
@situated
def logs(
    model: ModelArgument = DEFAULT_MODEL,
    *,
    here: Situation,
    since: SinceOption = 15,
    follow: FollowOption = False,
) -> None:
    """Print the container's log lines, with --json one document a line."""
    from infra_common.log_lines import show_lines

    target = here.target(model)
    show_lines(target.client("logs"), target.names.log_group, since, here.console, follow=follow)
