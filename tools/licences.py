"""THIRD_PARTY.md: what the images ship, under which licence, compared with the list of licences that may be shipped.

    python tools/licences.py                # write the tables anew
    python tools/licences.py --check        # refuse a licence that is not on the list, and a file that is out of date

What is shipped comes from uv.lock (the packages of a target, for Linux on x86-64) less what the Dockerfile leaves out;
its licence from the package's own metadata, or from `STATED` where that is missing or vague; each entry there says
where it was read. It has to be run in an environment that has the packages: the default one for the `cpu` target,
`.venv-torch` with `--target gpu`, `.venv-infra` with `--target agent`.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement

ROOT: Final = Path(__file__).parents[1]
DOCUMENT: Final = ROOT / "THIRD_PARTY.md"
UV: Final = os.environ.get("UV", "uv")  # set by `uv run`; the one of make is not on the PATH
DOCKERFILE: Final = ROOT / "packages" / "speech_container" / "Dockerfile"
TARGETS: Final = {
    "agent": ("--package", "agent-runtime", "--extra", "telemetry"),
    "cpu": ("--package", "speech-container", "--extra", "openvino"),
    "gpu": ("--package", "speech-container", "--extra", "torch"),
}
MACHINE: Final = {"sys_platform": "linux", "platform_system": "Linux", "platform_machine": "x86_64", "os_name": "posix"}

ALLOWED: Final = {
    *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0", "CNRI-Python", "ISC", "MIT"),
    *("MIT-0", "PSF-2.0", "Zlib"),
    *("MPL-2.0", "LGPL-2.1-only", "LGPL-2.1-or-later"),  # unchanged and replaceable, as wheels in a Python environment
    "GPL-3.0-or-later",  # phonemizer and espeak-ng: what is shipped as an image is shipped under this one's terms
    "LicenseRef-NVIDIA-Proprietary",  # CUDA's redistributables, in the gpu image alone
}
BY_CLASSIFIER: Final = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "GNU General Public License v3 or later (GPLv3+)": "GPL-3.0-or-later",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "NVIDIA Proprietary Software": "LicenseRef-NVIDIA-Proprietary",
    "Other/Proprietary License": "LicenseRef-NVIDIA-Proprietary",
    "Python Software Foundation License": "PSF-2.0",
}
BY_FIELD: Final = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache 2.0 License": "Apache-2.0",
    "Apache-2.0": "Apache-2.0",
    "BSD 3-Clause OR Apache-2.0": "BSD-3-Clause OR Apache-2.0",
    "BSD-3-Clause": "BSD-3-Clause",
    "MIT": "MIT",
    "MIT License": "MIT",
    "MPL-2.0 AND MIT": "MPL-2.0 AND MIT",
    "NVIDIA Proprietary Software": "LicenseRef-NVIDIA-Proprietary",
}
STATED: Final = {
    "cuda-toolkit": ("LicenseRef-NVIDIA-Proprietary", "a list of NVIDIA's packages, with nothing of its own in it"),
    "espeakng-loader": (
        "GPL-3.0-or-later",
        "ships espeak-ng 1.52 as a library with its dictionaries; espeak-ng's COPYING",
    ),
    "num2words": ("LGPL-2.1-or-later", "its COPYING and the heads of its files"),
    "python-dateutil": ("Apache-2.0 OR BSD-3-Clause", "its LICENSE: dual"),
    "uvloop": ("Apache-2.0 OR MIT", "its LICENSE-APACHE and LICENSE-MIT: dual"),
}


class Refused(Exception):
    """A licence that is not on the list, or that nobody can tell."""


def shipped(target: str) -> list[str]:
    """The names of the packages in an image, in alphabetical order, without the project's own."""
    command = [
        *(UV, "export", "--frozen", "--no-dev", *TARGETS[target]),
        *("--no-hashes", "--no-header", "--no-annotate", "--no-emit-workspace"),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    needed = [Requirement(line) for line in done.stdout.splitlines() if line.strip()]
    names = {each.name for each in needed if each.marker is None or each.marker.evaluate(dict(MACHINE))}
    return sorted(names - left_out(target, DOCKERFILE.read_text(encoding="utf-8")))


def left_out(target: str, dockerfile: str) -> set[str]:
    """The packages of the lock that the speech server's Dockerfile does not install for a target of its own."""
    if target == "agent":
        return set()
    (stage,) = re.findall(rf"^FROM \S+ AS build-{target}\n(.*?)^FROM ", dockerfile, re.MULTILINE | re.DOTALL)
    return set(re.findall(r"--no-install-package (\S+)", stage))


def licence(name: str) -> str:
    """As an SPDX expression. Raises Refused where it cannot be told."""
    if name in STATED:
        return STATED[name][0]
    told = metadata.metadata(name)
    if expression := told.get("License-Expression"):
        return str(expression)
    if (field := (told.get("License") or "").strip()) in BY_FIELD:
        return BY_FIELD[field]
    marks = [
        mark.rpartition("::")[2].strip() for mark in told.get_all("Classifier") or [] if mark.startswith("License")
    ]
    known = [BY_CLASSIFIER[mark] for mark in marks if mark in BY_CLASSIFIER]
    if len(known) != 1:
        raise Refused(
            f"{name}: its metadata does not tell one licence ({field[:60] or 'no field'}; {marks}): add it to STATED"
        )
    return known[0]


def require_allowed(name: str, expression: str) -> None:
    """Raises Refused unless every licence of an AND, and one of every OR, is on the list."""
    for part in expression.split(" AND "):
        choices = [re.sub(r"[()]| WITH .*", "", choice).strip() for choice in part.split(" OR ")]
        if not set(choices) & ALLOWED:
            raise Refused(f"{name}: {expression} is not on the list of licences that may be shipped")


def table(target: str) -> str:
    """Name, version and licence of every package of an image. Raises Refused."""
    rows = ["| package | version | licence |", "|---|---|---|"]
    for name in shipped(target):
        expression = licence(name)
        require_allowed(name, expression)
        rows.append(f"| {name} | {metadata.version(name)} | {expression} |")
    return "\n".join(rows)


def main() -> int:
    """0, or 1 with what is wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--target", choices=TARGETS, default="cpu")
    given = parser.parse_args()
    try:
        found = table(given.target)
    except (Refused, metadata.PackageNotFoundError) as error:
        print(f"licences: {error}", file=sys.stderr)
        return 1
    text = DOCUMENT.read_text(encoding="utf-8")
    mark = rf"(<!-- {given.target} -->\n).*?(<!-- /{given.target} -->)"
    new = re.sub(mark, lambda match: f"{match[1]}{found}\n{match[2]}", text, flags=re.DOTALL)
    if given.check and new != text:
        print("licences: THIRD_PARTY.md is out of date: run `python tools/licences.py`", file=sys.stderr)
        return 1
    if not given.check:
        DOCUMENT.write_text(new, encoding="utf-8")
    print(f"licences: {len(shipped(given.target))} packages of the {given.target} image, each on the list")
    return 0


if __name__ == "__main__":
    sys.exit(main())
