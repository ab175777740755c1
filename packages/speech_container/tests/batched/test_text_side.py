"""kokoro's text encoders on padded batches, with a small ALBERT in front and random parameters."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("float64")]

LENGTHS = [3, 8, 5]
SPEEDS = [1.0, 0.5, 2.0]


@pytest.fixture
def model(ready: Callable[[Any], Any]) -> Any:
    """What KModel's text side is made of."""
    import torch
    from kokoro.modules import CustomAlbert, ProsodyPredictor, TextEncoder
    from transformers import AlbertConfig

    config = AlbertConfig(
        vocab_size=20,
        embedding_size=8,
        hidden_size=16,
        num_attention_heads=2,
        intermediate_size=16,
        num_hidden_layers=2,
    )
    parts = torch.nn.ModuleDict(
        {
            "bert": CustomAlbert(config, add_pooling_layer=False),
            "bert_encoder": torch.nn.Linear(16, 12),
            "predictor": ProsodyPredictor(style_dim=128, d_hid=12, nlayers=2, max_dur=50, dropout=0.1),
            "text_encoder": TextEncoder(channels=12, kernel_size=5, depth=2, n_symbols=20),
        }
    )
    parts.predictor.duration_proj.linear_layer.weight.data.mul_(20)  # so that differences reach the rounded durations
    return SimpleNamespace(**ready(parts))


@pytest.fixture
def tokens() -> list[list[int]]:
    """With the boundary tokens, of `LENGTHS`."""
    import torch

    return [[0, *torch.randint(1, 20, (length - 2,)).tolist(), 0] for length in LENGTHS]


def features(model: Any, tokens: list[list[int]], styles: Any, speeds: list[float]) -> Any:
    import torch
    from speech_container.batched.text_side import text_features

    longest = max(map(len, tokens)) + 2
    padded = torch.tensor([row + [0] * (longest - len(row)) for row in tokens])
    return text_features(model, padded, [len(row) for row in tokens], styles, torch.tensor(speeds))


def difference_to_alone(model: Any, tokens: list[list[int]]) -> dict[str, float]:
    """The largest difference of an item in a batch to the item alone, of each feature."""
    import torch

    styles = torch.randn(len(tokens), 256)
    together = features(model, tokens, styles, SPEEDS)
    found = dict.fromkeys(("durations", "prosody", "phonetics"), 0.0)
    for item, (row, speed) in enumerate(zip(tokens, SPEEDS, strict=True)):
        alone = features(model, [row], styles[item : item + 1], [speed])
        for name in found:
            ours, theirs = getattr(together, name)[item, : len(row)], getattr(alone, name)[0, : len(row)]
            found[name] = max(found[name], float((ours - theirs).abs().max()))
    return found


def test_each_item_gets_what_it_gets_alone(model: Any, tokens: list[list[int]]) -> None:
    difference = difference_to_alone(model, tokens)
    assert difference["durations"] == 0
    assert max(difference.values()) < 1e-9


def test_in_the_padding_there_is_nothing(model: Any, tokens: list[list[int]]) -> None:
    import torch

    together = features(model, tokens, torch.randn(3, 256), SPEEDS)
    for item, length in enumerate(LENGTHS):
        assert (together.durations[item, :length] >= 1).all()
        for each in (together.durations, together.prosody, together.phonetics):
            assert (each[item, length:] == 0).all()


def test_an_lstm_that_is_not_packed_gives_other_features(
    model: Any, tokens: list[list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    from speech_container.batched import text_side

    assert difference_to_alone(model, tokens)["durations"] == 0
    monkeypatch.setattr(text_side, "packed", lambda lstm, x, lengths: lstm(x)[0])
    assert difference_to_alone(model, tokens)["durations"] > 0


def test_attention_to_the_padding_gives_other_features(
    model: Any, tokens: list[list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    bert = model.bert
    model.bert = lambda ids, attention_mask: bert(ids, attention_mask=attention_mask | True)
    assert difference_to_alone(model, tokens)["prosody"] > 1e-6


def test_each_item_has_its_own_speed(model: Any, tokens: list[list[int]]) -> None:
    import torch

    same = [tokens[1]] * 3
    styles = torch.randn(1, 256).expand(3, -1)
    totals = features(model, same, styles, SPEEDS).durations.sum(1).tolist()
    assert totals[1] > totals[0] > totals[2]


def test_a_packed_lstm_begins_backwards_at_each_items_own_end() -> None:
    import torch
    from speech_container.batched.text_side import packed

    lstm = torch.nn.LSTM(4, 3, batch_first=True, bidirectional=True)
    x = torch.randn(2, 6, 4)
    found = packed(lstm, x, [2, 6])
    torch.testing.assert_close(found[0, :2], lstm(x[:1, :2])[0][0], rtol=0, atol=1e-12)
    assert (found[0, 2:] == 0).all()
    assert (found[0, :2] - lstm(x[:1])[0][0, :2]).abs().max() > 1e-3, "so it matters"
