"""The pinned AWS CDK command: found in the project's node_modules (put there where it is missing), run with a log.

It runs in a session of its own, so that Ctrl-C reaches us alone: we say what goes on in AWS before we end it.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from infra_common.errors import PreconditionError, ToolFailed

PACKAGE: Final = "aws-cdk"
_TAIL_LINES: Final = 8
_INSTALL_S: Final = 300
_END_S: Final = 10


def project_root(start: Path) -> Path:
    """The folder whose package.json pins the CDK command. Raises PreconditionError."""
    for folder in (start, *start.parents):
        package = folder / "package.json"
        if package.is_file() and PACKAGE in json.loads(package.read_text()).get("dependencies", {}):
            return folder
    raise PreconditionError(
        f"no package.json that pins {PACKAGE} was found above {start}",
        fix="run the command in a clone of the project",
    )


def pinned_version(root: Path) -> str:
    """The version that package.json pins."""
    version: str = json.loads((root / "package.json").read_text())["dependencies"][PACKAGE]
    return version


def installed_version(root: Path) -> str | None:
    """The version in node_modules, or None."""
    found = root / "node_modules" / PACKAGE / "package.json"
    if not found.is_file():
        return None
    version: str = json.loads(found.read_text())["version"]
    return version


def install(root: Path, log: Path) -> None:
    """`npm ci` from the lock, without running any package's scripts. Raises ToolFailed or PreconditionError."""
    npm = shutil.which("npm")
    if npm is None:
        raise PreconditionError("npm is not installed", fix="install Node 22 or later, which brings npm")
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as file:
        done = subprocess.run(  # noqa: S603 - a fixed command
            [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
            cwd=root,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            timeout=_INSTALL_S,
            check=False,
        )
    if done.returncode:
        raise ToolFailed(f"npm ci failed: {_tail(log)} (all of it: {log})", fix=f"npm ci   (in {root})")


@dataclass(frozen=True, slots=True)
class CdkCli:
    """Runs the command with `environment`; its output goes to files in `logs`."""

    root: Path
    environment: Mapping[str, str]
    logs: Path

    def start(self, arguments: Sequence[str], log_name: str) -> CdkRun:
        """Start it and come back at once."""
        program = self.root / "node_modules" / ".bin" / "cdk"
        self.logs.mkdir(parents=True, exist_ok=True)
        log = self.logs / f"{log_name}.log"
        quiet = {"CDK_DISABLE_CLI_TELEMETRY": "1", "NODE_NO_WARNINGS": "1", "NO_COLOR": "1"}
        with log.open("wb") as file:
            process = subprocess.Popen(  # noqa: S603 - the pinned command, arguments of ours
                [str(program), *arguments],
                cwd=self.root,
                env={**self.environment, **quiet},
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return CdkRun(process, log)


@dataclass(frozen=True, slots=True)
class CdkRun:
    """One run of the command."""

    process: subprocess.Popen[bytes]
    log: Path

    def ended(self, wait_s: float) -> int | None:
        """The exit code, after at most `wait_s`; None while it runs."""
        try:
            return self.process.wait(wait_s)
        except subprocess.TimeoutExpired:
            return None

    def end(self) -> None:
        """Stop the command. What it has started in AWS goes on."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(_END_S)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait(_END_S)

    def output(self) -> str:
        """What it has written so far."""
        return self.log.read_text(errors="replace")

    def tail(self) -> str:
        """The end of that, in one line."""
        return _tail(self.log)


def _tail(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return " | ".join(lines[-_TAIL_LINES:])[-1000:] or "it said nothing"
