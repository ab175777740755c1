"""The frame side as recorded CUDA graphs: one launch in place of some 1,800.

Passes that the device finishes sooner than Python can launch their kernels are recorded once for each bucket, before
the first request; wider ones are launched as ever. So there is a fixed number of graphs whatever lengths come. They
share one set of inputs and one result, as large as the largest needs, and one pool of memory: none runs while another
does, and a result is copied out before the next. What is in a batch is only in the inputs' values.
"""

from collections.abc import Callable, Iterable
from typing import Final

import torch
from torch import Tensor

from ..engine import FRAME_SAMPLES
from .buckets import frame_bucket
from .model import BatchedModel, FrameInputs

MAX_RECORDED_FRAMES: Final = 1024
"""Items × frames. A pass this wide takes longer on the fastest of today's devices than its launches do."""

Recorder = Callable[[Callable[[], None]], Callable[[], None]]
"""Runs a function's work on the device once or more, and returns what runs that work again."""


def recorded_shapes(max_items: int, max_frames: int = MAX_RECORDED_FRAMES) -> list[tuple[int, int]]:
    """Items and frames of every pass that is recorded, the widest first: later graphs find room in its memory."""
    buckets = sorted({frame_bucket(frames) for frames in range(1, max_frames + 1)})
    shapes = [
        (items, frames) for frames in buckets for items in range(1, max_items + 1) if items * frames <= max_frames
    ]
    return sorted(shapes, key=lambda shape: shape[0] * shape[1], reverse=True)


class RecordedFrameSide:
    """`BatchedModel.frame_side`, from graphs where there is one of the inputs' shape.

    `record`: `cuda_recorder()`, or for tests whatever calls the function again. `shapes`: of `recorded_shapes`.
    """

    def __init__(self, model: BatchedModel, record: Recorder, shapes: Iterable[tuple[int, int]]) -> None:
        self._model = model
        shapes = list(shapes)
        items = max(items for items, _ in shapes)
        frames = max(items * frames for items, frames in shapes)
        like = {"dtype": model.dtype, "device": model.device}
        self._context = torch.zeros(512 * frames, **like)
        self._phonetics = torch.zeros(512 * frames, **like)
        self._noise = torch.zeros(model.source.harmonics * FRAME_SAMPLES * frames, **like)
        self._styles = torch.zeros(256 * items, **like)
        self._lengths = torch.ones(items, dtype=torch.int64, device=model.device)
        self._audio = torch.zeros(FRAME_SAMPLES * frames, **like)
        self._replays = {shape: record(self._runner(shape)) for shape in shapes}

    @property
    def shapes(self) -> frozenset[tuple[int, int]]:
        """What was recorded."""
        return frozenset(self._replays)

    def __call__(self, inputs: FrameInputs) -> Tensor:
        """See `BatchedModel.frame_side`."""
        items, _, frames = inputs.context.shape
        replay = self._replays.get((items, frames))
        if replay is None:
            return self._model.frame_side(inputs)
        static = self._inputs(items, frames)
        static.context.copy_(inputs.context)
        static.phonetics.copy_(inputs.phonetics)
        static.noise.copy_(inputs.noise)
        static.styles.copy_(inputs.styles)
        static.lengths.copy_(inputs.lengths)
        replay()
        return self._result(items, frames).clone()

    def _runner(self, shape: tuple[int, int]) -> Callable[[], None]:
        inputs, result = self._inputs(*shape), self._result(*shape)

        def run() -> None:
            result.copy_(self._model.frame_side(inputs))

        return run

    def _inputs(self, items: int, frames: int) -> FrameInputs:
        def part(whole: Tensor, *shape: int) -> Tensor:
            return whole[: items * torch.Size(shape).numel()].view(items, *shape)

        return FrameInputs(
            context=part(self._context, 512, frames),
            phonetics=part(self._phonetics, 512, frames),
            lengths=self._lengths[:items],
            styles=part(self._styles, 256),
            noise=part(self._noise, self._model.source.harmonics, FRAME_SAMPLES * frames),
        )

    def _result(self, items: int, frames: int) -> Tensor:
        return self._audio[: items * frames * FRAME_SAMPLES].view(items, -1)


def cuda_recorder() -> Recorder:
    """Records on the current device. Each function runs twice before it is recorded: libraries set up in the first."""
    pool = torch.cuda.graph_pool_handle()
    stream = torch.cuda.Stream()

    def record(run: Callable[[], None]) -> Callable[[], None]:
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(2):
                run()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool, stream=stream, capture_error_mode="thread_local"):
            run()
        replay: Callable[[], None] = graph.replay
        return replay

    return record
