"""What `chunked_decoding` asks of a runtime, by torch's modules: tensors on the device, arrays on the host in between.

Between two chunks an utterance waits on the host, so what waits takes nothing of the device's memory: 0.6 MB for each
second of speech, which cross a bus in a tenth of a millisecond.
"""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..chunked_decoding import COLUMNS_PER_FRAME, SPECTRA_PER_FRAME
from ..stage import Tensors
from .model import BatchedModel, FrameInputs


class WindowStages:
    """The generator's `sketch` and `sound` (`kokoro_weights.stages` calls it window), and what they are given."""

    def __init__(self, model: BatchedModel) -> None:
        self._model = model

    def decoded(self, inputs: FrameInputs, frames: int) -> dict[str, NDArray[np.float32]]:
        """What comes before the generator, of a batch of one item, which has so many frames.

        `decoded`, `harmonics`, `style`, `norm_gains` and `norm_shifts`, as the stages of these names have them.
        """
        model = self._model
        curves = model.curves(inputs)
        x = model.decoder(inputs.phonetics, curves, inputs.styles, inputs.frames)
        harmonics = model.harmonics(curves, inputs)
        gains, shifts = model.generator.affine(inputs.styles)
        return {
            "decoded": _on_host(x[..., : COLUMNS_PER_FRAME * frames]),
            "harmonics": _on_host(harmonics[..., : SPECTRA_PER_FRAME * frames + 1]),
            "style": _on_host(inputs.styles),
            "norm_gains": _on_host(gains),
            "norm_shifts": _on_host(shifts),
        }

    def sketch(self, tensors: Tensors) -> Tensors:
        """`decoded` and `style` → `sketch_means` and `sketch_variances`."""
        with torch.inference_mode():
            means, variances = self._model.generator.sketch(
                self._on_device(tensors["decoded"]), self._on_device(tensors["style"])
            )
            return {"sketch_means": _on_host(means), "sketch_variances": _on_host(variances)}

    def sound(self, tensors: Tensors) -> Tensors:
        """Windows of one length: `decoded`, `harmonics`, `norm_factors` and `norm_offsets` → `audio` [b, samples]."""
        names = ("decoded", "harmonics", "norm_factors", "norm_offsets")
        with torch.inference_mode():
            audio = self._model.generator.window(*(self._on_device(tensors[name]) for name in names))
            return {"audio": _on_host(audio)}

    def _on_device(self, array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(array).to(self._model.device)


def _on_host(tensor: Tensor) -> NDArray[np.float32]:
    array: NDArray[np.float32] = tensor.float().cpu().numpy()
    return array
