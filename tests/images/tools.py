"""Tools of this environment, or of the machine, that look at images; one that is missing fails the test by its name."""

import shutil
import subprocess
import sys
from pathlib import Path


def tool(name: str, *arguments: str, timeout_s: float = 300) -> "subprocess.CompletedProcess[str]":
    """Run one to its end."""
    beside = Path(sys.executable).with_name(name)
    program = str(beside) if beside.is_file() else shutil.which(name)
    assert program is not None, f"{name} is not installed: apt-get install {name}"
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=timeout_s, check=False)
