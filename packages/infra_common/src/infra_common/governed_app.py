"""A CDK app whose every resource says whose it is, and whose every template keeps the house rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import aws_cdk as cdk

from infra_common.rule_check import HouseRules
from infra_common.rules import Rule


def governed_app(
    account: str, region: str, tags: Mapping[str, str], rules: Sequence[Rule], output: Path
) -> tuple[cdk.App, dict[str, cdk.Environment]]:
    """The app, and what its stacks are made with: account and region, so that synthesis asks nobody."""
    app = cdk.App(outdir=str(output), analytics_reporting=False)
    for key, value in tags.items():
        cdk.Tags.of(app).add(key, value)
    cdk.Validations.of(app).add_plugins(HouseRules(rules))
    return app, {"env": cdk.Environment(account=account, region=region)}
