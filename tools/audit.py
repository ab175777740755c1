"""`make audit`: known holes in what is locked, and licences of what the images ship.

Three checks, each of which is done or said not to have been done; none is passed over in silence:

- the locked packages of each image against PyPI's advisories, by pip-audit, or by `--osv FILE` (see `advisories`),
- package-lock.json against npm's, by npm audit (the CDK command, which is on no server),
- the licences of the packages of the cpu image and of the agent's against a list, by tools/licences.py.

Where an advisory service does not answer, as on a machine that reaches a package index only, that check is NOT RUN, the
last line says NOT AUDITED, and the exit code is 3: that is no clean bill, and looks like none. `--allow-not-run` makes
the exit code 0, for a pipeline on such a machine, and changes no word. A finding that is argued in docs/security.md is
let through by its id in that document's table; an id that is found no more has to be taken out of it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Literal

from packaging.requirements import Requirement

sys.path.insert(0, str(Path(__file__).parents[1]))  # run as a file, by make
from tools.advisories import Advisories

UV: Final = os.environ.get("UV", "uv")  # set by `uv run`; the one of make is not on the PATH
ROOT: Final = Path(__file__).parents[1]
ARGUED_IN: Final = ROOT / "docs" / "security.md"
ARTEFACTS: Final = ROOT / "out" / "audit"
LOCKS: Final = {
    "cpu image": ("--package", "speech-container", "--extra", "openvino"),
    "gpu image": ("--package", "speech-container", "--extra", "torch"),
    "agent image": ("--package", "agent-runtime", "--extra", "telemetry"),
    "deployment commands": ("--package", "agent-infra", "--package", "speech-infra"),
}
TELLS: Final = re.compile(r"Error|Timeout|Max retries|not reachable|Unavailable|audit endpoint")
LIMIT_S: Final = 300
MAX_AGE: Final = timedelta(days=14)
"""Of advisories in a file: what is older tells too little."""
EXIT_CODES: Final = {"clean": 0, "findings": 1, "not audited": 3}
Word = Literal["clean", "findings", "not audited"]


@dataclass(frozen=True, slots=True)
class Check:
    """`findings`: package, version and advisory. `not_run`: why, or empty."""

    name: str
    findings: tuple[tuple[str, str, str], ...] = ()
    not_run: str = ""


def export(chosen: tuple[str, ...], *options: str) -> str:
    """A lock as requirements: nothing is resolved or installed."""
    command = [UV, "export", "--frozen", "--no-dev", *chosen, "--no-emit-workspace", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=LIMIT_S)
    return done.stdout


def asked_of_pypi(name: str, chosen: tuple[str, ...]) -> Check:
    """What pip-audit finds in a lock, with hashes."""
    with tempfile.TemporaryDirectory() as folder:
        requirements = Path(folder) / "requirements.txt"
        requirements.write_text(export(chosen), encoding="utf-8")
        command = [
            *(str(Path(sys.executable).with_name("pip-audit")), "--require-hashes", "--disable-pip"),
            *("--format", "json", "--progress-spinner", "off", "--timeout", "20", "-r", str(requirements)),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    try:
        told: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        return Check(name, not_run=last_line(done.stderr))
    asked = told["dependencies"]
    silent = sum("skip_reason" in each for each in asked)
    not_run = f"the advisories of PyPI say nothing of {silent} of {len(asked)} packages" if silent else ""
    found = [(each["name"], each["version"], hole["id"]) for each in asked for hole in each.get("vulns", ())]
    return Check(name, tuple(found), not_run)


def looked_up(name: str, requirements: str, advisories: Advisories, now: datetime) -> Check:
    """What advisories from a file say of the packages that are listed as `name==version`, one a line."""
    if (age := now - advisories.newest) > MAX_AGE:
        return Check(name, not_run=f"the newest advisory of the file is {age.days} days old, more than {MAX_AGE.days}")
    found = []
    for line in filter(None, requirements.splitlines()):
        package = Requirement(line)
        version = str(package.specifier).removeprefix("==")
        found += [(package.name, version, hole) for hole in advisories.holes(package.name, version)]
    return Check(name, tuple(found))


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


def judged(checks: Sequence[Check], allowed: set[str]) -> tuple[Word, list[str]]:
    """The verdict, and what there is to say of each check. `allowed`: the ids of findings that are argued."""
    lines: list[str] = []
    for check in checks:
        if check.not_run:
            lines.append(f"{check.name}: NOT RUN: {check.not_run}")
        new = [finding for finding in check.findings if finding[2] not in allowed]
        if check.findings or not check.not_run:
            lines.append(f"{check.name}: {len(check.findings)} findings, {len(new)} not argued in docs/security.md")
        lines += [f"  {package} {version}: {hole}" for package, version, hole in new]
    is_complete = not any(check.not_run for check in checks)
    found = {hole for check in checks for _, _, hole in check.findings}
    if is_complete and (stale := allowed - found):
        lines.append(f"docs/security.md argues {', '.join(sorted(stale))}, which nothing has any more: take it out")
    if found - allowed or (is_complete and allowed - found):
        return "findings", lines
    return ("clean" if is_complete else "not audited"), lines


def main() -> int:
    """One of EXIT_CODES."""
    parser = argparse.ArgumentParser(description="Look for known holes and for licences in what the images ship.")
    parser.add_argument("--allow-not-run", action="store_true", help="Exit with 0 where no advisory service answers.")
    parser.add_argument("--osv", type=Path, metavar="FILE", help="Ask OSV's export of PyPI's advisories instead.")
    given = parser.parse_args()
    try:
        advisories = None if given.osv is None else Advisories.read(given.osv)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        print(f"audit: {given.osv}: expected OSV's export of PyPI, a zip of JSON records ({error})", file=sys.stderr)
        return EXIT_CODES["findings"]
    now = datetime.now(UTC)
    checks = [
        asked_of_pypi(name, chosen)
        if advisories is None
        else looked_up(name, export(chosen, "--no-hashes", "--no-header", "--no-annotate"), advisories, now)
        for name, chosen in LOCKS.items()
    ]
    checks.append(npm_advisories())
    word, lines = judged(checks, argued())
    licences = [sys.executable, str(ROOT / "tools" / "licences.py"), "--check", "--target"]
    if any(subprocess.run([*licences, target], check=False).returncode for target in ("agent", "cpu")):
        word = "findings"
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    report = {"verdict": word, "at": now.isoformat(timespec="seconds"), "checks": [asdict(check) for check in checks]}
    (ARTEFACTS / "advisories.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    for line in lines:
        print(f"audit: {line}")
    match word:
        case "clean":
            print("audit: CLEAN: every check was run, and what was found is argued")
        case "findings":
            print("audit: FINDINGS")
        case "not audited":
            print("audit: NOT AUDITED: whether there are known holes nobody knows; run it where the advisories answer")
    return 0 if word == "not audited" and given.allow_not_run else EXIT_CODES[word]


if __name__ == "__main__":
    sys.exit(main())
