"""A source of a few bytes, for tests, and a program that prepares from it, for tests with several processes.

    python stand_in.py CACHE LOG [wait|die]

appends "fill" to LOG whenever the source is really asked, and prints the prepared path. `wait` prints "filling" in the
middle and goes on when a line comes on standard input; `die` kills its own process there.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kokoro_weights.digest import Digest
from kokoro_weights.manifest import ModelIdentity
from kokoro_weights.preparation import Place, prepare_from

if TYPE_CHECKING:
    from collections.abc import Callable

    from kokoro_weights.progress import Progress
    from kokoro_weights.staging import Staging

VOICE = bytes(range(256)) * (510 * 256 * 4 // 256)
CONFIG = b'{"n_token": 178, "vocab": {"a": 43, "b": 44}}\n'
MODEL = b"not a real model, but real bytes" * 100


class StandInSource:
    """Two voices, a configuration and a model. `halfway` is called between the first file and the rest."""

    name = "stand-in"

    def __init__(
        self,
        halfway: Callable[[], None] = lambda: None,
        *,
        inputs: str = "1",
        model: bytes = MODEL,
        model_digest: Digest | None = None,
    ) -> None:
        self.inputs = inputs
        self.fills = 0
        self._halfway = halfway
        self._model = model
        self._model_digest = model_digest

    def fill(self, staging: Staging, progress: Progress) -> ModelIdentity:
        self.fills += 1
        staging.write("config.json", [CONFIG], origin="a test", licence="CC0-1.0")
        (staging.scratch / "download").write_bytes(b"half")
        self._halfway()
        total_bytes = len(self._model)
        staging.write("model.int8.onnx", [self._model], origin="a test", licence="CC0-1.0", expected=self._model_digest)
        for name in ("af_heart", "bm_george"):
            staging.write(f"voices/{name}.bin", [VOICE], origin="a test", licence="CC0-1.0")
        progress("stand in", total_bytes, total_bytes)
        return ModelIdentity("stand-in", self.inputs, "none", "CC0-1.0")


def _main(cache: Path, log: Path, mode: str) -> None:
    def halfway() -> None:
        with log.open("a") as file:
            file.write("fill\n")
        if mode == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if mode == "wait":
            sys.stdout.write("filling\n")
            sys.stdout.flush()
            sys.stdin.readline()

    weights = prepare_from(StandInSource(halfway), Place(cache))
    sys.stdout.write(f"{weights.path}\n")


if __name__ == "__main__":
    _main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else "")
