"""What the roles of a pipeline may do, read from the snapshot that is reviewed."""

from typing import Final

from tests.fake_aws.harness import ROOT

SNAPSHOT: Final = ROOT / "packages" / "speech_infra" / "tests" / "snapshots" / "iam_pipeline.txt"
FREE: Final = frozenset({"sts:GetCallerIdentity"})
"""What IAM allows everybody."""


def allowed(role: str) -> set[str]:
    """The actions of the role whose logical id begins so."""
    found: set[str] = set()
    inside = False
    for line in SNAPSHOT.read_text().splitlines():
        if line.startswith("role "):
            inside = line.removeprefix("role ").startswith(role)
        elif inside and line.startswith("  allow "):
            found.add(line.split()[1])
    assert found, f"{SNAPSHOT.name} has no role {role}"
    return found | FREE
