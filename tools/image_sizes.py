"""The tables of docs/images.md from what the images' tests measured: sizes-TARGET.json and start-TARGET.json.

    python tools/image_sizes.py         # of the cpu target, after `make test-images`
    python tools/image_sizes.py agent   # of the agent's image, after the same
    python tools/image_sizes.py gpu     # of the gpu target, after `make test-image-gpu`

They lie in out/images.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
MEASURED: Final = ROOT / "out" / "images"
DOCUMENT: Final = ROOT / "docs" / "images.md"
TARGETS: Final = {"agent": "/opt/agent", "cpu": "/opt/speech", "gpu": "/opt/speech"}
"""Where each image has what it is for."""


def table(sizes: dict[str, Any], place: str, start_s: float) -> str:
    """Layers, then the parts of the largest, which is at `place`, in millions of bytes; then the start."""
    rows = ["| layer | MB |", "|---|---|"]
    rows += [
        f"| `{layer['made_by']}` | {layer['bytes'] / 1e6:.1f} |" for layer in sizes["layers"] if layer["bytes"] > 1e5
    ]
    rows += [f"| together | {sizes['total_bytes'] / 1e6:.0f} |", "", f"| part of `{place}` | MB |", "|---|---|"]
    parts = sorted(sizes["parts"].items(), key=lambda part: (part[0] == "everything else", -part[1]))
    rows += [f"| {title} | {size / 1e6:.1f} |" for title, size in parts]
    rows += [
        "",
        f"From `docker run` to the first `/ping` with 200, hardened as below, on two shared cores: {start_s:.1f} s.",
    ]
    return "\n".join(rows)


def filled_in(text: str, target: str, found: str) -> str:
    """The document with `found` between the marks of a target."""
    mark = rf"(<!-- sizes-{target} -->\n).*?(<!-- /sizes-{target} -->)"
    return re.sub(mark, lambda match: f"{match[1]}{found}\n{match[2]}", text, flags=re.DOTALL)


def main() -> int:
    """0, or 1 where nothing was measured."""
    parser = argparse.ArgumentParser(description="Put what the images' tests measured into docs/images.md.")
    parser.add_argument("target", choices=TARGETS, nargs="?", default="cpu")
    target: str = parser.parse_args().target
    try:
        sizes = json.loads((MEASURED / f"sizes-{target}.json").read_text(encoding="utf-8"))
        start = json.loads((MEASURED / f"start-{target}.json").read_text(encoding="utf-8"))
    except FileNotFoundError as missing:
        verb = "test-image-gpu" if target == "gpu" else "test-images"
        print(f"image_sizes: {missing.filename} is not there: run `make {verb}`", file=sys.stderr)
        return 1
    text = DOCUMENT.read_text(encoding="utf-8")
    DOCUMENT.write_text(
        filled_in(text, target, table(sizes, TARGETS[target], start["start_to_ping_200_s"])), encoding="utf-8"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
