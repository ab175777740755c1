"""Makes the genuine checkpoints that the tests read: `python make_checkpoint.py`, with torch 2.13.

They are committed so that the tests need no torch. `voice.pt` has the shape of a published voice, [510, 1, 256], but
its rows share one stored row (stride 0), which keeps it small and tests strides as well.
"""

from collections import OrderedDict
from pathlib import Path

import torch

HERE = Path(__file__).parent


def checkpoint() -> dict[str, OrderedDict[str, torch.Tensor]]:
    layer = torch.nn.Linear(3, 2)
    with torch.no_grad():
        layer.weight.copy_(torch.arange(6, dtype=torch.float32).reshape(2, 3))
        layer.bias.copy_(torch.tensor([0.5, -0.5]))
    wrapped = torch.nn.Sequential(OrderedDict(module=layer)).state_dict()  # carries _metadata, as published files do
    grid = torch.arange(12, dtype=torch.float32).reshape(3, 4)
    return {
        "bert": wrapped,
        "decoder": OrderedDict(
            [
                ("module.half", torch.tensor([1.0, 0.5, -2.0], dtype=torch.float16)),
                ("module.transposed", grid.t()),
                ("module.column", grid[:, 2]),
                ("module.ids", torch.tensor([[1, 2], [3, -4]], dtype=torch.int64)),
                ("module.flags", torch.tensor([True, False])),
                ("module.scalar", torch.tensor(7.25)),
                ("module.empty", torch.zeros((0, 4))),
                ("module.parameter", torch.nn.Parameter(torch.ones(2))),
            ]
        ),
    }


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.save(checkpoint(), HERE / "checkpoint.pth")
    torch.save(torch.arange(256, dtype=torch.float32).div(256).expand(510, 1, 256), HERE / "voice.pt")
    torch.save({"bert": {"w": torch.ones(2, dtype=torch.bfloat16)}}, HERE / "bfloat16.pth")
