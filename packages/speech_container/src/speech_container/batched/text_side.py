"""From tokens to durations and features: kokoro's text encoders, which take lengths, on a batch of them.

Their LSTMs are packed, so an item's backward direction begins at its own end. The lengths are the host's, so that
packing does not wait for the device.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from kokoro.model import KModel
from torch import Tensor
from torch.nn import LSTM
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


@dataclass(frozen=True, slots=True, eq=False)
class TextFeatures:
    """What is known of each token. In the padding it is 0.

    `durations`: int64 [b, tokens], in frames, at least 1. `prosody`: [b, tokens, 640], what pitch and loudness are made
    of. `phonetics`: [b, tokens, 512], what the sounds are made of.
    """

    durations: Tensor
    prosody: Tensor
    phonetics: Tensor


def text_features(
    model: KModel, tokens: Tensor, lengths: Sequence[int], styles: Tensor, speeds: Tensor
) -> TextFeatures:
    """`tokens`: int64 [b, tokens], with the boundary tokens; `styles`: [b, 256]; `speeds`: [b], factors."""
    predictor = model.predictor
    host_lengths = torch.tensor(lengths)
    padding = torch.arange(tokens.shape[1], device=tokens.device) >= host_lengths.to(tokens.device)[:, None]
    attended = ~padding[:, None, None, :].expand(
        -1, -1, tokens.shape[1], -1
    )  # as 4 dimensions transformers takes it as it is
    encoded = model.bert_encoder(model.bert(tokens, attention_mask=attended)).transpose(1, 2)
    prosody = predictor.text_encoder(encoded, styles[:, 128:], host_lengths, padding)
    steps = predictor.duration_proj(packed(predictor.lstm, prosody, lengths))
    durations = torch.round(torch.sigmoid(steps).sum(-1) / speeds[:, None]).clamp(min=1).long()
    phonetics = model.text_encoder(tokens, host_lengths, padding).transpose(1, 2)
    return TextFeatures(durations.masked_fill(padding, 0), prosody, phonetics)


def packed(lstm: LSTM, x: Tensor, lengths: Sequence[int]) -> Tensor:
    """`lstm` over x [b, steps, features], each item for its own length: [b, steps, outputs], 0 in the padding."""
    packed_x = pack_padded_sequence(x, torch.tensor(lengths), batch_first=True, enforce_sorted=False)
    outputs, _ = pad_packed_sequence(lstm(packed_x)[0], batch_first=True, total_length=x.shape[1])
    return outputs
