"""The house rules as CDK's own validation: synthesis fails, with CDK's report, wherever the app is made."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import aws_cdk as cdk
import jsii

from infra_common.rules import Rule, breaches


@jsii.implements(cdk.IPolicyValidationPlugin)
class HouseRules:
    """A validation plugin, for a command's rules."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = rules

    @property
    def name(self) -> str:
        """As the report shows it."""
        return "voice-stack-rules"

    @property
    def rule_ids(self) -> list[str]:
        """What is looked at."""
        return [rule.name for rule in self._rules]

    @property
    def version(self) -> str:
        """Of the rules."""
        return "1.0.0"

    def validate(self, context: cdk.IPolicyValidationContext) -> cdk.PolicyValidationPluginReport:
        """Every template of the app."""
        violations = [
            cdk.PolicyViolation(
                rule_name=breach.rule,
                description=breach.what,
                fix=breach.fix,
                severity="error",
                violating_resources=[
                    cdk.PolicyViolatingResource(
                        resource_logical_id=breach.resource, locations=[breach.location], template_path=path
                    )
                ],
            )
            for path in context.template_paths
            for breach in breaches(json.loads(Path(path).read_text()), self._rules)
        ]
        return cdk.PolicyValidationPluginReport(success=not violations, violations=violations)
