"""Where Kokoro's weights come from, how they are verified, and the one directory layout they are stored in.

    weights = prepare()                                   # or WeightsDirectory.open(Path("/opt/ml/model"))
    prepare(safetensors=True)                             # the same, with a model for torch engines
    prepare(stages=True)                                  # the same, with the stages of the CPU engine
    weights.onnx_model, weights.vocabulary["a"], weights.voice("af_heart")

A prepared directory holds `manifest.json` (digest, origin and licence of every file), `config.json` (kokoro's, with
`vocab`), `voices/<name>.bin` (float32 little-endian [510, 256]), `model.int8.onnx` and/or `model.safetensors`, and
where they were asked for the CPU engine's `stages/*.onnx`.
"""

from kokoro_weights.directory import StageFiles, WeightsDirectory
from kokoro_weights.errors import VoiceMissing, WeightsError
from kokoro_weights.preparation import prepare
from kokoro_weights.progress import Progress

__all__ = ["Progress", "StageFiles", "VoiceMissing", "WeightsDirectory", "WeightsError", "prepare"]
