"""How long `speech-container serve` takes from start to `/ping` 200, and how much memory it then holds.

    uv run python -m benchmarks.server_start [--runs 5] [--engine auto]

The weights must be prepared (`make setup`); the first run also warms the disk cache and is printed like the others.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import psutil

POLL_S = 0.02
GIVE_UP_S = 120
MEBIBYTE = 1024 * 1024


def start_once(engine: str) -> tuple[float, int]:
    """Seconds until `/ping` answers 200, and the resident bytes then."""
    command = [str(Path(sys.executable).parent / "speech-container"), "serve", "--engine", engine, "--port", "0"]
    began_s = time.monotonic()
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert server.stdout is not None
        listening = re.search(r"http://\S+", server.stdout.readline())
        if listening is None:
            raise SystemExit("the server did not start; run `speech-container serve` to see why")
        while not is_ready(listening[0] + "/ping"):
            if server.poll() is not None or time.monotonic() - began_s > GIVE_UP_S:
                raise SystemExit("the server did not get ready; run `speech-container serve` to see why")
            time.sleep(POLL_S)  # a benchmark of the server alone: nothing else is there to wait with
        return time.monotonic() - began_s, psutil.Process(server.pid).memory_info().rss
    finally:
        server.terminate()
        server.wait(timeout=GIVE_UP_S)


def is_ready(url: str) -> bool:
    """Whether `url` answers 200."""
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except urllib.error.HTTPError:
        return False


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--engine", default="auto")
    arguments = parser.parse_args()
    print(f"engine {arguments.engine}, {len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f}")
    print(f"{'run':>4} {'ready s':>8} {'resident MiB':>13}")
    runs = []
    for number in range(1, arguments.runs + 1):
        runs.append(start_once(arguments.engine))
        print(f"{number:>4} {runs[-1][0]:>8.2f} {runs[-1][1] / MEBIBYTE:>13.0f}", flush=True)
    seconds, resident = zip(*runs, strict=True)
    print(f"{'median':>4} {statistics.median(seconds):>6.2f} {statistics.median(resident) / MEBIBYTE:>13.0f}")


if __name__ == "__main__":
    main()
