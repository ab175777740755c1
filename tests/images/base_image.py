"""A stand-in for the Dockerfile's base image, made on this machine: Debian's packages and this machine's CPython.

Where these tests run there may be no registry of images. The stand-in is imported under the very name that the
Dockerfile asks for, so the Dockerfile is built as it is. What it cannot show is that the published image has what ours
has; `speech-infra image build` on a machine with a network does that.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

SUITE: Final = "bookworm"
LIBRARIES: Final = (
    *("ca-certificates", "netbase", "tzdata"),
    *("libbz2-1.0", "libexpat1", "libffi8", "liblzma5", "libncursesw6", "libnsl2", "libreadline8", "libsqlite3-0"),
    *("libssl3", "libtirpc3", "libuuid1", "zlib1g"),
)
"""What CPython's modules link to, and what every Debian image of Python has."""
LEFT_OUT: Final = ("lib/python3.12/test", "lib/python3.12/site-packages/*", "*.a", "__pycache__", "bin/uv*", "bin/pip*")
CERTIFICATES: Final = Path("/usr/local/share/ca-certificates")
"""Of whoever stands between this machine and the package index; an image that is only built here may trust them."""


def make_base(archive: Path) -> None:
    """Write the root file system as a tar. Raises RuntimeError with mmdebstrap's last lines."""
    program = shutil.which("mmdebstrap")
    if program is None or os.geteuid() != 0:
        raise RuntimeError("the base image is made as root by mmdebstrap: apt-get install mmdebstrap")
    if sys.version_info[:2] != (3, 12):
        raise RuntimeError(f"the base image is for Python 3.12, and this is {sys.version}")
    half = archive.with_suffix(".half")
    pack = f"tar -C {sys.base_prefix} {_excludes()} -cf - ."
    hooks = (
        f"mkdir -p $1/usr/local && {pack} | tar -C $1/usr/local --no-same-owner -xf -",
        f"! ls {CERTIFICATES}/*.crt >/dev/null 2>&1 || cp {CERTIFICATES}/*.crt $1{CERTIFICATES}/",
        "chroot $1 update-ca-certificates >/dev/null",
        "chroot $1 ldconfig",
        "chroot $1 /usr/local/bin/python3.12 -m ensurepip --default-pip >/dev/null",
        "ln -sf python3.12 $1/usr/local/bin/python3 && ln -sf python3.12 $1/usr/local/bin/python",
        "mkdir -p $1/etc/uv && echo 'system-certs = true' >$1/etc/uv/uv.toml",
        "printf '[global]\\ncert = /etc/ssl/certs/ca-certificates.crt\\n' >$1/etc/pip.conf",
        "chroot $1 python3 -c 'import bz2, ctypes, curses, hashlib, lzma, readline, sqlite3, ssl, uuid, zlib'",
    )
    command = [
        *(program, "--variant=minbase", f"--include={','.join(LIBRARIES)}"),
        *("--dpkgopt=path-exclude=/usr/share/man/*", "--dpkgopt=path-exclude=/usr/share/locale/*"),
        *("--dpkgopt=path-exclude=/usr/share/doc/*", "--dpkgopt=path-include=/usr/share/doc/*/copyright"),
        *(f"--customize-hook={hook}" for hook in hooks),
        *("--format=tar", SUITE, str(half)),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=400)
    if done.returncode:
        raise RuntimeError("mmdebstrap failed: " + " | ".join(done.stderr.splitlines()[-12:]))
    half.rename(archive)


def _excludes() -> str:
    return " ".join(f"--exclude='{pattern}'" for pattern in LEFT_OUT)
