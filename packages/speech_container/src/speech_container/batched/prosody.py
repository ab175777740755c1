"""Pitch and loudness of each half frame: kokoro's `ProsodyPredictor.F0Ntrain` on padded batches."""

from collections.abc import Sequence
from dataclasses import dataclass

from kokoro.modules import ProsodyPredictor
from torch import Tensor
from torch.nn import Module, ModuleList

from .adaptive_norm import AdaptiveNorms, OwnStatistics
from .extent import Extent
from .residual import leaky_block
from .text_side import packed


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """Both [b, 2 t], 0 in the padding. `pitch_hz`: the fundamental frequency; what is below 10 is unvoiced."""

    pitch_hz: Tensor
    loudness: Tensor


class Prosody:
    """The predictor's LSTM runs in `context`, with lengths of the host, and the rest in `curves`, with the device's."""

    def __init__(self, predictor: ProsodyPredictor) -> None:
        self._predictor = predictor
        self._norms = AdaptiveNorms(predictor.F0, predictor.N)

    def context(self, prosody: Tensor, lengths: Sequence[int]) -> Tensor:
        """[b, 640, t], of which `lengths` frames count → [b, 512, t]."""
        return packed(self._predictor.shared, prosody.transpose(1, 2), lengths).transpose(1, 2)

    def curves(self, context: Tensor, styles: Tensor, extent: Extent) -> Curves:
        """`styles`: [b, 256]."""
        norms = self._norms.styled(styles[:, 128:], OwnStatistics())

        def curve(blocks: ModuleList, projection: Module) -> Tensor:
            x, reached = context, extent
            for block in blocks:
                x, reached = leaky_block(block, x, norms, reached)
            return reached.cut(projection(x)).squeeze(1)

        predictor = self._predictor
        return Curves(curve(predictor.F0, predictor.F0_proj), curve(predictor.N, predictor.N_proj))
