"""A CDK app whose every resource says whose it is, and whose every template keeps the house rules."""

from __future__ import annotations

from pathlib import Path

import aws_cdk as cdk

from speech_infra.names import Names
from speech_infra.rule_check import HouseRules


def governed_app(names: Names, tags: dict[str, str], output: Path) -> tuple[cdk.App, dict[str, cdk.Environment]]:
    """The app, and what its stacks are made with: account and region, so that synthesis asks nobody."""
    app = cdk.App(outdir=str(output), analytics_reporting=False)
    for key, value in tags.items():
        cdk.Tags.of(app).add(key, value)
    cdk.Validations.of(app).add_plugins(HouseRules())
    return app, {"env": cdk.Environment(account=names.account, region=names.region)}
