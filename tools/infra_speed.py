"""Measures what people wait for: `speech-infra --help`, `list` and `synth`, each in a process of its own.

    python tools/infra_speed.py [--runs 7]

Prints medians; asserts nothing. The first run of each is thrown away: it reads the files from the disk.
"""

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SCRIPT = Path(sys.executable).with_name("speech-infra")
LIMIT_S = {"--help": 0.5, "list": 0.5, "synth kokoro-82m": 15.0}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=7)
    runs = parser.parse_args().runs
    print(f"{'speech-infra':<20} {'median':>8} {'slowest':>8} {'limit':>7}")
    for words, limit_s in LIMIT_S.items():
        count = runs if limit_s < 1 else min(runs, 3)
        took_s = [_seconds(words) for _ in range(count + 1)][1:]
        print(f"{words:<20} {statistics.median(took_s):>6.2f} s {max(took_s):>6.2f} s {limit_s:>5.1f} s")


def _seconds(words: str) -> float:
    output = tempfile.mkdtemp() if words.startswith("synth") else None
    more = () if output is None else ("--output", f"{output}/templates")
    started = time.perf_counter()
    subprocess.run([SCRIPT, *words.split(), *more], check=True, capture_output=True)
    took_s = time.perf_counter() - started
    if output is not None:
        shutil.rmtree(output)
    return took_s


if __name__ == "__main__":
    main()
