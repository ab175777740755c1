"""Make the table of a calibration the one that kokoro_weights ships: its bytes, and their pin.

    uv run kokoro-weights calibrate --directory calibrated
    uv run python -m tools.ship_statistics calibrated

The directory has to hold the packaged weights; a table of others would be of no use to anybody.
"""

import json
import sys
from pathlib import Path

from kokoro_weights import WeightsDirectory
from kokoro_weights.digest import Digest
from kokoro_weights.manifest import STATISTICS_PATH
from kokoro_weights.pins import load

DATA = Path(__file__).parents[1] / "packages" / "kokoro_weights" / "src" / "kokoro_weights" / "data"


def main() -> None:
    """Check, write and say."""
    if len(sys.argv) != 2:
        raise SystemExit("usage: uv run python -m tools.ship_statistics DIR, where DIR is a calibrated directory")
    weights = WeightsDirectory.open(Path(sys.argv[1]))
    weights.verify()
    table = weights.norm_statistics()
    if table is None or not (weights.path / STATISTICS_PATH).is_file():
        raise SystemExit(f"{weights.path} has no {STATISTICS_PATH}; make one: `kokoro-weights calibrate`")
    pins = load()
    if pins.packages.model.sha256 not in table.calibrated.models:
        raise SystemExit(f"{weights.path} was calibrated with other weights than those of the source 'packages'")
    if missing := sorted(pins.voices.keys() - set(table.voices)):
        raise SystemExit(f"{weights.path} was calibrated without {', '.join(missing)}")
    data = (weights.path / STATISTICS_PATH).read_bytes()
    (DATA / "statistics.npz").write_bytes(data)
    path = DATA / "pins.json"
    raw = json.loads(path.read_text("utf-8"))
    digest = Digest.of(data)
    raw["statistics"] = {"sha256": digest.sha256, "size": digest.size_bytes}
    path.write_text(json.dumps(raw, indent=2) + "\n", "utf-8")
    print(f"{len(table.voices)} voices, {digest.size_bytes:,} bytes, sha256 {digest.sha256}")


if __name__ == "__main__":
    main()
