"""The frame side from recordings. A recorder that calls the function again stands for the device's."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from kokoro_weights import WeightsDirectory
from speech_container.engine import FRAME_SAMPLES

if TYPE_CHECKING:
    from speech_container.batched.graphs import RecordedFrameSide
    from speech_container.batched.model import BatchedModel

pytestmark = [pytest.mark.torch, pytest.mark.weights, pytest.mark.timeout(300)]

SHAPES = [(2, 32), (1, 32)]


@pytest.fixture(autouse=True)
def without_gradients() -> Iterator[None]:
    import torch

    with torch.inference_mode():
        yield


class Recorder:
    """Counts what it records and what is run again."""

    def __init__(self) -> None:
        self.recorded = 0
        self.replayed = 0

    def __call__(self, run: Callable[[], None]) -> Callable[[], None]:
        self.recorded += 1

        def replay() -> None:
            self.replayed += 1
            run()

        return replay


@pytest.fixture(scope="module")
def model(weights: WeightsDirectory) -> "BatchedModel":
    from speech_container.batched.model import BatchedModel
    from speech_container.kokoro_model import load_model

    assert weights.safetensors_model is not None
    return BatchedModel(load_model(weights.safetensors_model, weights.config, "cpu"))


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def recorded(model: "BatchedModel", recorder: Recorder) -> "RecordedFrameSide":
    from speech_container.batched.graphs import RecordedFrameSide

    return RecordedFrameSide(model, recorder, SHAPES)


def inputs(items: int, frames: int, *lengths: int) -> Any:
    import torch
    from speech_container.batched.model import FrameInputs

    return FrameInputs(
        context=torch.randn(items, 512, frames),
        phonetics=torch.randn(items, 512, frames),
        lengths=torch.tensor(lengths),
        styles=torch.randn(items, 256) * 0.1,
        noise=torch.randn(items, 9, frames * FRAME_SAMPLES),
    )


def test_a_recorded_shape_gives_what_the_model_gives(
    model: "BatchedModel", recorded: "RecordedFrameSide", recorder: Recorder
) -> None:
    import torch

    one, other = inputs(2, 32, 20, 32), inputs(2, 32, 31, 5)
    found = [recorded(each) for each in (one, other)]
    assert recorder.replayed == 2
    for audio, each in zip(found, (one, other), strict=True):
        torch.testing.assert_close(audio, model.frame_side(each), rtol=0, atol=1e-5)


def test_any_other_shape_is_launched_as_ever_and_nothing_is_recorded_for_it(
    recorded: "RecordedFrameSide", recorder: Recorder
) -> None:
    assert recorded(inputs(1, 33, 33)).shape == (1, 33 * FRAME_SAMPLES)
    assert (recorder.recorded, recorder.replayed) == (len(SHAPES), 0)
    assert recorded.shapes == set(SHAPES)


def test_there_are_few_shapes_and_the_widest_comes_first() -> None:
    from speech_container.batched.graphs import MAX_RECORDED_FRAMES, recorded_shapes

    shapes = recorded_shapes(max_items=8)
    assert len(shapes) == len(set(shapes)) < 100
    assert shapes[0][0] * shapes[0][1] == max(items * frames for items, frames in shapes) == MAX_RECORDED_FRAMES
    assert {(8, 32), (8, 128), (4, 256), (1, 1024)} <= set(shapes)
    assert (8, 256) not in shapes


def test_every_narrow_pass_has_a_recorded_shape() -> None:
    from speech_container.batched.buckets import passes
    from speech_container.batched.graphs import MAX_RECORDED_FRAMES, recorded_shapes

    shapes = set(recorded_shapes(max_items=8))
    for frames in range(1, MAX_RECORDED_FRAMES + 1, 7):
        for items in range(1, 9):
            for each in passes([frames] * items):
                if each.padded_frames <= MAX_RECORDED_FRAMES:
                    assert (len(each.items), each.frames) in shapes
