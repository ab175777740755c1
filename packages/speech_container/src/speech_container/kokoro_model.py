"""kokoro's KModel from a verified safetensors file: no download, no pickle, and not one parameter left to chance.

KModel's own constructor asks the model hub where it is not given a file, hands that file to `torch.load`, and takes
whatever fits from it. `OfflineKModel` builds the same five parts (kokoro/model.py of kokoro 0.9.4, which pyproject.toml
pins) and stops there; `load_model` then fills every parameter or refuses the file.
"""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import torch
from kokoro.istftnet import Decoder
from kokoro.model import KModel
from kokoro.modules import CustomAlbert, ProsodyPredictor, TextEncoder
from safetensors import SafetensorError
from safetensors.torch import load_file
from transformers import AlbertConfig

from .errors import EngineUnavailable

_ADVICE: Final = "make the weights again with `kokoro-weights prepare --safetensors`"
_NOT_USED: Final = ("bert.pooler.", "bert.embeddings.position_ids")
"""In ALBERT checkpoints, and in no forward pass of kokoro."""


class OfflineKModel(KModel):
    """A KModel with random parameters. `config`: kokoro's config.json."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        torch.nn.Module.__init__(self)  # in place of KModel's, see the module
        self.vocab = config["vocab"]
        self.bert = CustomAlbert(
            AlbertConfig(vocab_size=config["n_token"], **config["plbert"]), add_pooling_layer=False
        )
        self.context_length = self.bert.config.max_position_embeddings
        self.bert_encoder = torch.nn.Linear(self.bert.config.hidden_size, config["hidden_dim"])
        self.predictor = ProsodyPredictor(
            style_dim=config["style_dim"],
            d_hid=config["hidden_dim"],
            nlayers=config["n_layer"],
            max_dur=config["max_dur"],
            dropout=config["dropout"],
        )
        self.text_encoder = TextEncoder(
            channels=config["hidden_dim"],
            kernel_size=config["text_encoder_kernel_size"],
            depth=config["n_layer"],
            n_symbols=config["n_token"],
        )
        self.decoder = Decoder(
            dim_in=config["hidden_dim"], style_dim=config["style_dim"], dim_out=config["n_mels"], **config["istftnet"]
        )


def load_model(file: Path, config: Mapping[str, Any], device: str) -> OfflineKModel:
    """The model on `device`, ready to speak. Leaves torch's random state as it was. Raises `EngineUnavailable`."""
    try:
        tensors = load_file(file)
    except (OSError, SafetensorError) as error:
        raise EngineUnavailable(f"{file}: expected a safetensors file ({error}); {_ADVICE}") from error
    for construction in ("dropout option adds dropout", ".*weight_norm. is deprecated"):  # kokoro's, and harmless
        warnings.filterwarnings("ignore", message=construction)
    with torch.random.fork_rng(devices=[]):
        model = OfflineKModel(config)
    parameters = {name: tensor for name, tensor in tensors.items() if not name.startswith(_NOT_USED)}
    try:
        unlike = model.load_state_dict(parameters, strict=False)
    except RuntimeError as error:  # a parameter of another shape
        raise EngineUnavailable(f"{file}: expected the parameters of Kokoro-82M ({error}); {_ADVICE}") from error
    missing = sorted(set(unlike.missing_keys) - _identities(model))
    if missing or unlike.unexpected_keys:
        raise EngineUnavailable(
            f"{file}: expected the parameters of Kokoro-82M; {len(missing)} are missing ({', '.join(missing[:3])}), "
            f"{len(unlike.unexpected_keys)} are unknown ({', '.join(unlike.unexpected_keys[:3])}); {_ADVICE}"
        )
    model.to(device)
    model.eval()
    return model


def _identities(model: torch.nn.Module) -> set[str]:
    """Scale and shift of the instance norms: torch makes them 1 and 0, and kokoro's checkpoints do not list them."""
    norms = [name for name, module in model.named_modules() if isinstance(module, torch.nn.InstanceNorm1d)]
    return {f"{name}.{parameter}" for name in norms for parameter in ("weight", "bias")}
