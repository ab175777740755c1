"""What an assembly acknowledges to cdk-nag, by rule, with the reason."""

import json
from pathlib import Path
from typing import Final

CDKS_OWN: Final = "CloudFormation-Validate::"  # what its constructs acknowledge by themselves, to its own validation


def acknowledgements(directory: Path) -> dict[str, str]:
    """Rule to reason, without CDK's own."""
    found: dict[str, str] = {}
    for path in directory.glob("*.metadata.json"):
        for entries in json.loads(path.read_text()).values():
            for entry in entries:
                if entry["type"] == "aws:cdk:acknowledged-rules":
                    found |= entry["data"]
    return {
        rule.removeprefix("Annotation::"): reason for rule, reason in found.items() if not rule.startswith(CDKS_OWN)
    }
