"""One way to compile a stage for OpenVINO's CPU plugin.

Two of its properties matter. Both are internal to it, so a release that does not know them still works, only slower:

- It fuses chains of elementwise operators into one kernel only where shapes are fixed, unless told to ignore that rule
  (SNIPPETS_MODE). The generator's activation and its normalisation are such chains, and the fused kernel keeps float32
  between its first load and its last store: 10 % less time than one kernel an operator, and 3 dB less noise. A norm
  whose own mean and variance are put out cannot be fused so in bfloat16: the first run fails ("SetLoadStoreScalar
  expects static shapes", OpenVINO 2026.4.1). So the stage `sketch` takes them a second time.
- Each length of audio gets convolution kernels of its own, compiled when it first comes: 25 to 60 ms, 7 MB. They go
  into a cache of 5,000 entries, which is 100 lengths, and as far as a server can tell grows for ever. 64 entries are
  enough for the layers of one length to share theirs.
"""

import logging
from pathlib import Path
from typing import Any, Final

from .errors import EngineUnavailable
from .stage import Run, Tensors

logger = logging.getLogger(__name__)

KEPT_KERNELS: Final = 64
_INTERNAL: Final = {"SNIPPETS_MODE": "IGNORE_CALLBACK", "CPU_RUNTIME_CACHE_CAPACITY": KEPT_KERNELS}


def open_stage(stage: Path, *, threads: int, bfloat16: bool) -> Run:
    """The stage in a file as a function. `bfloat16`: multiply in it, not in float32. Raises `EngineUnavailable`."""
    import openvino  # here, because no other engine need wait for it

    public = {
        "INFERENCE_PRECISION_HINT": "bf16" if bfloat16 else "f32",
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": threads,
        "ENABLE_CPU_PINNING": False,  # the event loop and other processes run on the same cores
    }
    core = openvino.Core()
    try:
        model = core.read_model(stage)
        try:
            return _function(core.compile_model(model, "CPU", public | _INTERNAL))
        except RuntimeError as error:
            logger.warning("OpenVINO takes no internal properties, so it is slower and larger: %s", error)
            return _function(core.compile_model(model, "CPU", public))
    except RuntimeError as error:
        raise EngineUnavailable(f"OpenVINO cannot load {stage}: {error}") from error


def _function(compiled: Any) -> Run:
    request = compiled.create_infer_request()
    inputs = [port.any_name for port in compiled.inputs]
    outputs = [port.any_name for port in compiled.outputs]

    def run(tensors: Tensors) -> Tensors:
        request.infer({name: tensors[name] for name in inputs}, share_inputs=True)
        return {name: request.get_tensor(name).data.copy() for name in outputs}

    return run
