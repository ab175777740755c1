"""`make audit`: known holes in what is locked, and licences of what the images ship.

Three checks, each of which is done or said not to have been done; none is passed over in silence:

- pip-audit over the locked packages of each image, against the advisories of PyPI,
- npm audit over package-lock.json, against those of npm (the CDK command, which is on no server),
- tools/licences.py over the packages of the cpu image.

Where an advisory service does not answer, as on a machine that reaches a package index only, that check is reported as
NOT RUN and counts as a failure under `--strict`. A finding that is argued in docs/security.md is let through by its id
in that document's table; an id that is found no more has to be taken out of it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

UV: Final = os.environ.get("UV", "uv")  # set by `uv run`; the one of make is not on the PATH
ROOT: Final = Path(__file__).parents[1]
ARGUED_IN: Final = ROOT / "docs" / "security.md"
ARTEFACTS: Final = ROOT / "out" / "audit"
LOCKS: Final = {
    "cpu image": ("--package", "speech-container", "--extra", "openvino"),
    "gpu image": ("--package", "speech-container", "--extra", "torch"),
    "agent": ("--package", "agent-runtime"),
    "deployment command": ("--package", "speech-infra"),
}
TELLS: Final = re.compile(r"Error|Timeout|Max retries|not reachable|Unavailable|audit endpoint")
LIMIT_S: Final = 300


@dataclass(frozen=True, slots=True)
class Check:
    """`findings`: package, version and advisory. `not_run`: why, or empty."""

    name: str
    findings: tuple[tuple[str, str, str], ...] = ()
    not_run: str = ""


def python_advisories(name: str, chosen: tuple[str, ...]) -> Check:
    """What pip-audit finds in a lock as it is exported, with hashes: nothing is resolved or installed."""
    with tempfile.TemporaryDirectory() as folder:
        requirements = Path(folder) / "requirements.txt"
        export = [
            UV,
            "export",
            "--frozen",
            "--no-dev",
            *chosen,
            "--no-emit-workspace",
            "--output-file",
            str(requirements),
        ]
        subprocess.run(export, cwd=ROOT, capture_output=True, check=True, timeout=LIMIT_S)
        audit = [
            str(Path(sys.executable).with_name("pip-audit")),
            "--require-hashes",
            "--disable-pip",
            "--format",
            "json",
        ]
        done = subprocess.run(
            [*audit, "--format", "json", "--progress-spinner", "off", "--timeout", "20", "-r", str(requirements)],
            capture_output=True, text=True, check=False, timeout=LIMIT_S,
        )  # fmt: skip
    try:
        told: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        return Check(name, not_run=last_line(done.stderr))
    asked = told["dependencies"]
    silent = sum("skip_reason" in each for each in asked)
    not_run = f"the advisories of PyPI say nothing of {silent} of {len(asked)} packages" if silent else ""
    found = [(each["name"], each["version"], hole["id"]) for each in asked for hole in each.get("vulns", ())]
    return Check(name, tuple(found), not_run)


def npm_advisories() -> Check:
    """What npm audit finds in package-lock.json."""
    done = subprocess.run(
        ["npm", "audit", "--json"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=LIMIT_S
    )
    try:
        told: dict[str, Any] = json.loads(done.stdout)
        holes = told["vulnerabilities"]
    except (ValueError, KeyError):
        return Check("npm", not_run=last_line(done.stderr) or "npm gave no report")
    found = [
        (name, str(hole["range"]), str(via.get("url", via.get("source"))).rpartition("/")[2])
        for name, hole in holes.items()
        for via in hole["via"]
        if isinstance(via, dict)
    ]
    return Check("npm", tuple(found))


def argued() -> set[str]:
    """The ids in the first column of the table of docs/security.md."""
    section = (
        ARGUED_IN.read_text(encoding="utf-8").partition("## Findings that are let through")[2].partition("\n## ")[0]
    )
    return set(re.findall(r"^\| ((?:PYSEC|GHSA|CVE)-\S+) \|", section, re.MULTILINE))


def last_line(text: str) -> str:
    """Of an error, the line that says what it was."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if TELLS.search(line)]
    return (telling or lines or [""])[0 if telling else -1][:200]


def main() -> int:
    """0 where nothing is found that is not argued."""
    parser = argparse.ArgumentParser(description="Look for known holes and for licences in what the images ship.")
    parser.add_argument("--strict", action="store_true", help="Fail also where an advisory service does not answer.")
    given = parser.parse_args()
    checks = [*(python_advisories(name, chosen) for name, chosen in LOCKS.items()), npm_advisories()]
    allowed = argued()
    failed = False
    for check in checks:
        if check.not_run:
            print(f"audit: {check.name}: NOT RUN: {check.not_run}")
            failed = failed or given.strict
        new = [finding for finding in check.findings if finding[2] not in allowed]
        if check.findings or not check.not_run:
            print(f"audit: {check.name}: {len(check.findings)} findings, {len(new)} not argued in docs/security.md")
        for package, version, hole in new:
            print(f"audit:   {package} {version}: {hole}")
        failed = failed or bool(new)
    if all(not check.not_run for check in checks):
        stale = allowed - {hole for check in checks for _, _, hole in check.findings}
        if stale:
            print(f"audit: docs/security.md argues {', '.join(sorted(stale))}, which nothing has any more: take it out")
            failed = True
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    report = [{"name": check.name, "findings": check.findings, "not_run": check.not_run} for check in checks]
    (ARTEFACTS / "advisories.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    licences = subprocess.run([sys.executable, str(ROOT / "tools" / "licences.py"), "--check"], check=False)
    return int(failed or licences.returncode != 0)


if __name__ == "__main__":
    sys.exit(main())
