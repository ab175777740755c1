"""One way to open a graph in onnxruntime on the CPU, for the engines that use it.

Memory patterns keep a plan for every input length that was seen, so they are off. The arena is on: over 40 lengths in
random order the process then stayed at 400 MB and took 0.63 CPU-seconds a second of audio; without the arena it swung
between 330 and 600 MB and took 0.68. Threads do not spin while they wait: the event loop runs on the same cores.
"""

from pathlib import Path
from typing import Any

from .errors import EngineUnavailable
from .stage import Run, Tensors


def open_session(model: bytes | Path, *, threads: int, name: str) -> Any:
    """An onnxruntime.InferenceSession of a serialised model or of its file. Raises `EngineUnavailable` with `name`."""
    import onnxruntime  # here, because the tone engine need not wait 0.2 s for it

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.enable_mem_pattern = False
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    source = model if isinstance(model, bytes) else str(model)
    try:
        return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime raises unrelated classes, one a status code
        raise EngineUnavailable(f"onnxruntime cannot load {name}: {error}") from error


def open_stage(stage: Path, *, threads: int) -> Run:
    """The stage in a file as a function. Raises `EngineUnavailable`."""
    session = open_session(stage, threads=threads, name=str(stage))
    inputs = [port.name for port in session.get_inputs()]
    outputs = [port.name for port in session.get_outputs()]

    def run(tensors: Tensors) -> Tensors:
        return dict(zip(outputs, session.run(outputs, {name: tensors[name] for name in inputs}), strict=True))

    return run
