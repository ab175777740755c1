"""Each token's features for its frames."""

import numpy as np
import pytest

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("float64")]


def test_each_item_is_spread_by_its_own_durations() -> None:
    import torch
    from speech_container.batched.length_regulator import LengthRegulator

    regulate = LengthRegulator(np.array([[2, 1, 0], [1, 1, 3]]), 6, torch.device("cpu"))
    features = torch.tensor([[[1.0], [2.0], [3.0]], [[4.0], [5.0], [6.0]]])
    found = regulate(features)
    assert found.shape == (2, 1, 6)
    assert found[0, 0, :3].tolist() == [1, 1, 2]
    assert found[1, 0, :5].tolist() == [4, 5, 6, 6, 6]


def test_it_is_what_kokoro_gets_from_its_matrix() -> None:
    import torch
    from speech_container.batched.length_regulator import LengthRegulator

    durations = np.array([[3, 1, 2]])
    features = torch.randn(1, 3, 4)
    tokens = torch.repeat_interleave(torch.arange(3), torch.from_numpy(durations[0]))
    matrix = torch.nn.functional.one_hot(tokens, 3).T.to(features.dtype)
    found = LengthRegulator(durations, 6, torch.device("cpu"))(features)
    torch.testing.assert_close(found, features.transpose(1, 2) @ matrix)
