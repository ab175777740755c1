"""The container engine that builds and pushes: docker, or what CDK_DOCKER names (finch, podman).

It is run as a command, as the CDK does, so whatever it is set up with (a remote builder, a credential helper) is used.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from infra_common.errors import PreconditionError, ToolFailed

_ASK_S: Final = 20
_BUILD_S: Final = 3600
_TAIL_LINES: Final = 8
_OWN_BUILDKIT: Final = 23
_START_IT: Final = "start Docker (systemctl start docker, or Docker Desktop), or set CDK_DOCKER to another engine"
_ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}
_ANSI: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """`platforms` are those that it can build for, emulated ones included, such as linux/arm64."""

    version: str
    platforms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ImageBuild:
    """What to build: a Dockerfile's stage for a platform, from a context; `arguments` override the file's own."""

    context: Path
    dockerfile: Path
    target: str | None
    platform: str
    labels: Mapping[str, str]
    arguments: Mapping[str, str] = field(default_factory=dict)


class ContainerEngine:
    """One engine, by its command."""

    def __init__(self, command: str | None = None) -> None:
        self.command = command or os.environ.get("CDK_DOCKER") or "docker"

    def info(self) -> EngineInfo:
        """Ask it. Raises PreconditionError where it is not installed or does not run."""
        if shutil.which(self.command) is None:
            raise PreconditionError(f"{self.command} is not installed", fix=f"install it; {_START_IT}")
        done = self._run(["info", "--format", "{{json .}}"], _ASK_S)
        try:
            told = json.loads(done.stdout) if done.returncode == 0 else {}
        except ValueError:
            told = {}
        if not told.get("ServerVersion"):
            last = (done.stderr.strip().splitlines() or ["it gives no reason"])[-1]
            raise PreconditionError(
                f"{self.command} is installed, but its engine does not answer: {last}", fix=_START_IT
            )
        machine = str(told.get("Architecture", ""))
        own = f"{told.get('OSType', 'linux')}/{_ARCHITECTURES.get(machine, machine)}"
        return EngineInfo(str(told["ServerVersion"]), tuple(dict.fromkeys((own, *self._emulated()))))

    def build(self, build: ImageBuild, tag: str, say: Say) -> None:
        """Build and tag. Raises ToolFailed with the last lines of what the engine said."""
        arguments = ["build", "--file", str(build.dockerfile), "--platform", build.platform, "--tag", tag]
        if build.target is not None:
            arguments += ["--target", build.target]
        for name, value in sorted(build.labels.items()):
            arguments += ["--label", f"{name}={value}"]
        for name, value in sorted(build.arguments.items()):
            arguments += ["--build-arg", f"{name}={value}"]
        more = {"BUILDKIT_PROGRESS": "plain"} | ({"DOCKER_BUILDKIT": "1"} if self._must_ask_for_buildkit() else {})
        self._follow([*arguments, str(build.context)], say, more)

    def pull(self, image: str, platform: str, say: Say) -> str:
        """Fetch an image; returns the digest that its registry has it under. Raises ToolFailed."""
        self._follow(["pull", "--platform", platform, image], say, {})
        done = self._run(["image", "inspect", "--format", "{{json .RepoDigests}}", image], _ASK_S)
        repository = _repository(image)
        try:
            known = [str(each) for each in json.loads(done.stdout)] if done.returncode == 0 else []
        except (TypeError, ValueError):
            known = []
        digests = [name.partition("@")[2] for name in known if name.partition("@")[0] == repository]
        if len(digests) != 1 or not _DIGEST.fullmatch(digests[0]):
            said = ", ".join(known) or _tail(done.stderr)
            raise ToolFailed(f"{self.command} knows no digest that {image} has in its registry: {said}")
        return digests[0]

    def log_in(self, host: str, user: str, password: str) -> None:
        """Log in to a registry; the password goes through standard input."""
        done = self._run(["login", "--username", user, "--password-stdin", host], _ASK_S, password)
        if done.returncode:
            raise ToolFailed(f"{self.command} login to {host} failed: {_tail(done.stderr)}")

    def tag(self, source: str, target: str) -> None:
        """Another name for an image."""
        done = self._run(["tag", source, target], _ASK_S)
        if done.returncode:
            raise ToolFailed(f"{self.command} tag {source} {target} failed: {_tail(done.stderr)}")

    def push(self, tag: str, say: Say) -> None:
        """Push. Raises ToolFailed."""
        self._follow(["push", tag], say, {})

    def _must_ask_for_buildkit(self) -> bool:
        """Docker's client builds with BuildKit by itself from version 23 on, and before that only if told to."""
        done = self._run(["version", "--format", "{{.Client.Version}}"], _ASK_S)
        major = done.stdout.strip().partition(".")[0]
        return "DOCKER_BUILDKIT" not in os.environ and major.isdigit() and int(major) < _OWN_BUILDKIT

    def _emulated(self) -> list[str]:
        done = self._run(["buildx", "inspect"], _ASK_S)
        lines = [line for line in done.stdout.splitlines() if line.strip().startswith("Platforms:")]
        names = lines[0].partition(":")[2] if done.returncode == 0 and lines else ""
        return [name.strip().rstrip("*") for name in names.split(",") if name.strip()]

    def _run(self, arguments: Sequence[str], limit_s: float, given: str = "") -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(  # noqa: S603 - the engine's command, arguments of ours
                [self.command, *arguments], input=given, capture_output=True, text=True, timeout=limit_s, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise PreconditionError(
                f"{self.command} {arguments[0]} gave no answer within {limit_s:g} s", fix=_START_IT
            ) from error

    def _follow(self, arguments: Sequence[str], say: Say, more: Mapping[str, str]) -> None:
        last: list[str] = []
        with subprocess.Popen(  # noqa: S603 - the engine's command, arguments of ours
            [self.command, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env={**os.environ, **more},
        ) as process:
            assert process.stdout is not None  # noqa: S101 - a pipe was asked for
            try:
                for raw in process.stdout:
                    line = _ANSI.sub("", raw).strip()
                    if line:
                        last = [*last[-_TAIL_LINES:], line]
                        say(line[:100])
                code = process.wait(_BUILD_S)
            except BaseException:
                process.terminate()
                raise
        if code:
            raise ToolFailed(f"{self.command} {arguments[0]} failed: {' | '.join(last)[-1000:]}")


def _tail(text: str) -> str:
    return " | ".join(line.strip() for line in text.splitlines() if line.strip())[-500:] or "it gave no reason"


def _repository(image: str) -> str:
    """An image's name without its tag or digest; a colon before the last slash is a port."""
    name = image.partition("@")[0]
    head, slash, last = name.rpartition("/")
    return f"{head}{slash}{last.partition(':')[0]}"
