"""The table of docs/images.md from what `make test-images` measured: out/images/sizes-cpu.json and start-cpu.json."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
MEASURED: Final = ROOT / "out" / "images"
DOCUMENT: Final = ROOT / "docs" / "images.md"


def table(sizes: dict[str, Any]) -> str:
    """Layers, then the parts of the largest; in millions of bytes."""
    rows = ["| layer | MB |", "|---|---|"]
    rows += [
        f"| `{layer['made_by']}` | {layer['bytes'] / 1e6:.1f} |" for layer in sizes["layers"] if layer["bytes"] > 1e5
    ]
    rows += [f"| together | {sizes['total_bytes'] / 1e6:.0f} |", "", "| part of `/opt/speech` | MB |", "|---|---|"]
    parts = sorted(sizes["parts"].items(), key=lambda part: (part[0] == "everything else", -part[1]))
    rows += [f"| {title} | {size / 1e6:.1f} |" for title, size in parts]
    return "\n".join(rows)


def main() -> int:
    """0, or 1 where nothing was measured."""
    try:
        sizes = json.loads((MEASURED / "sizes-cpu.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        print("image_sizes: nothing was measured yet: run `make test-images`", file=sys.stderr)
        return 1
    text = DOCUMENT.read_text(encoding="utf-8")
    mark = r"(<!-- sizes -->\n).*?(<!-- /sizes -->)"
    new = re.sub(mark, lambda match: f"{match[1]}{table(sizes)}\n{match[2]}", text, flags=re.DOTALL)
    DOCUMENT.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
