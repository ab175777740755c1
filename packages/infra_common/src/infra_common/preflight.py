"""The checks that every deployment needs: who we are, where, and whether the tools at hand can do it."""

from __future__ import annotations

import re
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from infra_common import cdk_cli
from infra_common.bootstrap import OLDEST, PARAMETER, bootstrap_version
from infra_common.checks import Check, Finding, failed, ok, warning
from infra_common.container_engine import ContainerEngine
from infra_common.session import AwsSession

OLDEST_NODE: Final = 20
SUPPORTED_NODE: Final = 22
_ASK_S: Final = 20
_NODE_VERSION: Final = re.compile(r"v(\d+)\.(\d+)\.(\d+)")


def account_checks(session: AwsSession, service: str, service_name: str) -> list[Check]:
    """Identity, region and bootstrap; `service` is botocore's name of what must be in the region."""

    def identity() -> Finding:
        answer = session.client("sts").get_caller_identity()
        return ok(f"account {answer['Account']} as {answer['Arn'].rpartition(':')[2]}")

    def region() -> Finding:
        if not session.has_service(service):
            return failed(
                f"{service_name} is not offered in {session.region}",
                "add --region with one that has it, e.g. us-east-1",
            )
        return ok(session.region)

    def bootstrap() -> Finding:
        found = bootstrap_version(session.client("ssm"))
        command = f"npx cdk bootstrap aws://{session.account}/{session.region}"
        if found is None:
            return failed(
                f"account {session.account} is not bootstrapped for the CDK in {session.region}: no {PARAMETER}",
                command,
            )
        if found < OLDEST:
            return failed(f"the CDK bootstrap in {session.region} is version {found}, {OLDEST} is needed", command)
        return ok(f"version {found}")

    return [
        Check("identity", identity),
        Check("region", region),
        Check("bootstrap", bootstrap, needs=("identity", "region")),
    ]


def tool_checks(root: Path) -> list[Check]:
    """Node and the CDK command."""

    def node() -> Finding:
        program = shutil.which("node")
        fix = "install Node 22 or later (nodejs.org, or `nvm install 22`)"
        if program is None:
            return failed("Node is not installed; the CDK runs on it", fix)
        done = subprocess.run(  # noqa: S603 - the node on the user's PATH, which the CDK runs too; nothing else is given
            [program, "--version"], capture_output=True, text=True, timeout=_ASK_S, check=False
        )
        found = _NODE_VERSION.search(done.stdout)
        if found is None or int(found[1]) < OLDEST_NODE:
            return failed(f"Node {done.stdout.strip() or 'does not run'}; {OLDEST_NODE} or later is needed", fix)
        if int(found[1]) < SUPPORTED_NODE:
            return warning(f"Node {found[0]} works, but is past its end of life", fix)
        return ok(f"Node {found[0]}")

    def cdk() -> Finding:
        wanted, found = cdk_cli.pinned_version(root), cdk_cli.installed_version(root)
        if found is None:
            return warning(f"aws-cdk {wanted} is not installed yet; deploy installs it from the lock", "npm ci")
        if found != wanted:
            return failed(f"aws-cdk {found} is installed, {wanted} is pinned", "npm ci")
        return ok(f"aws-cdk {found}")

    return [Check("node", node), Check("cdk", cdk, needs=("node",))]


def engine_checks(
    engine: ContainerEngine,
    platform: str,
    image_is_there: Any,
    otherwise: str = "build and push the image on such a machine, then deploy from anywhere",
) -> list[Check]:
    """The container engine, where an image has to be built; `image_is_there()` says that it has not.

    `otherwise`: what somebody can do whose engine cannot emulate the platform.
    """

    def docker() -> Finding:
        try:
            if image_is_there():
                return ok("not needed: the image is in the repository")
        except Exception as error:  # noqa: BLE001 - other checks tell what is wrong with AWS; here the engine matters
            del error
        info = engine.info()
        if platform not in info.platforms:
            return failed(
                f"{engine.command} {info.version} builds for {', '.join(info.platforms)}; the image is {platform}",
                f"docker run --privileged --rm tonistiigi/binfmt --install {platform.partition('/')[2]}   (emulation; "
                f"or {otherwise})",
            )
        return ok(f"{engine.command} {info.version} for {platform}")

    return [Check("docker", docker)]


def package_check(packages: dict[str, str]) -> Check:
    """Python packages with the oldest version that will do."""

    def sdk() -> Finding:
        found = []
        for name, oldest in packages.items():
            try:
                present = version(name)
            except PackageNotFoundError:
                return failed(f"{name} is not installed", "uv sync")
            if _numbers(present) < _numbers(oldest):
                return failed(f"{name} {present} is too old, {oldest} is needed", "uv sync")
            found.append(f"{name} {present}")
        return ok(", ".join(found))

    return Check("sdk", sdk)


def disk_check(folder: Path, needed_bytes: int, what: str) -> Check:
    """Room for `what`."""

    def disk() -> Finding:
        free = shutil.disk_usage(folder).free
        text = f"{free / 1e9:.1f} GB free, {what} takes about {needed_bytes / 1e9:.1f} GB"
        return ok(text) if free >= needed_bytes else failed(text, "make room, e.g. docker system prune")

    return Check("disk", disk)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text)[:3])
