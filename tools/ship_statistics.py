"""Make the table of a calibration the one that kokoro_weights ships: its bytes, and their pin.

    uv run kokoro-weights calibrate --directory calibrated
    uv run python -m tools.ship_statistics calibrated

The table for engines that draw noise is that of 20 sentences a voice:

    uv run kokoro-weights calibrate --noise --sentences 20 --directory calibrated-noise
    uv run python -m tools.ship_statistics calibrated-noise --noise

The directory has to hold the packaged weights; a table of others would be of no use to anybody.
"""

import argparse
import json
from pathlib import Path

from kokoro_weights import WeightsDirectory
from kokoro_weights.digest import Digest
from kokoro_weights.manifest import NOISE_STATISTICS_PATH, STATISTICS_PATH
from kokoro_weights.pins import load

DATA = Path(__file__).parents[1] / "packages" / "kokoro_weights" / "src" / "kokoro_weights" / "data"


def main() -> None:
    """Check, write and say."""
    parser = argparse.ArgumentParser(description="Ship the table of a calibration")
    parser.add_argument("directory", type=Path, help="a calibrated directory")
    parser.add_argument("--noise", action="store_true", help="its table for engines that draw noise")
    arguments = parser.parse_args()
    weights = WeightsDirectory.open(arguments.directory)
    weights.verify()
    file = NOISE_STATISTICS_PATH if arguments.noise else STATISTICS_PATH
    table = weights.norm_statistics(noise=arguments.noise) if (weights.path / file).is_file() else None
    if table is None:
        raise SystemExit(f"{weights.path} has no {file}; make one: `kokoro-weights calibrate`")
    pins = load()
    if pins.packages.model.sha256 not in table.calibrated.models:
        raise SystemExit(f"{weights.path} was calibrated with other weights than those of the source 'packages'")
    if missing := sorted(pins.voices.keys() - set(table.voices)):
        raise SystemExit(f"{weights.path} was calibrated without {', '.join(missing)}")
    data = (weights.path / file).read_bytes()
    (DATA / file).write_bytes(data)
    path = DATA / "pins.json"
    raw = json.loads(path.read_text("utf-8"))
    digest = Digest.of(data)
    raw["statistics"][file] = {"sha256": digest.sha256, "size": digest.size_bytes}
    path.write_text(json.dumps(raw, indent=2) + "\n", "utf-8")
    print(f"{len(table.voices)} voices, {digest.size_bytes:,} bytes, sha256 {digest.sha256}")


if __name__ == "__main__":
    main()
