"""Everything that gpu.py needs besides torch, transformers, safetensors and numpy, in one folder that can be copied.

    python benchmarks/gpu_pack.py DIR [--random-weights]     # 410 MB, or 1 MB without the weights

In an environment with the extra `torch` (`make test-torch` makes one). There: `python DIR/gpu.py`.
"""

import argparse
import importlib.util
import shutil
from pathlib import Path
from typing import Final

from kokoro_weights import prepare

HERE: Final = Path(__file__).resolve().parent
PACKAGES: Final = ("kokoro_weights", "speech_container", "speech_protocol", "speech_text", "attr", "loguru")
LEFT_OUT: Final = shutil.ignore_patterns("__pycache__", "statistics*.npz")
"""The tables are what audio inside a sentence is predicted from, which is not measured there."""
KOKORO_MODULES: Final = ("custom_stft.py", "istftnet.py", "model.py", "modules.py")


def pack(target: Path, *, with_weights: bool) -> None:
    """Fill `target`, a new folder."""
    site = target / "site"
    site.mkdir(parents=True)
    for file in ("gpu.py", "gpu_items.json"):
        shutil.copy(HERE / file, target)
    for package in PACKAGES:
        shutil.copytree(package_folder(package), site / package, ignore=LEFT_OUT)
    (site / "kokoro").mkdir()
    (site / "kokoro" / "__init__.py").write_text("")  # kokoro's own imports a front end, which is not needed
    for module in KOKORO_MODULES:
        shutil.copy(package_folder("kokoro") / module, site / "kokoro")
    weights = prepare("packages", safetensors=with_weights)
    if with_weights:
        shutil.copytree(weights.path, target / "weights")
    else:
        shutil.copy(weights.path / "config.json", target)


def package_folder(package: str) -> Path:
    """Where an installed package lies."""
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        raise SystemExit(f"the package {package} is not installed; it comes with the extra `torch`")
    return Path(found.origin).parent


def main() -> None:
    """Copy, and say what to do there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", type=Path, metavar="DIR", help="a folder that does not exist yet")
    parser.add_argument("--random-weights", action="store_true", help="leave the weights out")
    arguments = parser.parse_args()
    pack(arguments.target, with_weights=not arguments.random_weights)
    print(f"there: python {arguments.target.name}/gpu.py" + " --random-weights" * arguments.random_weights)


if __name__ == "__main__":
    main()
