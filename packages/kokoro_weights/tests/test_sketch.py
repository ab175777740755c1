"""A sentence is thinned to a third of its time."""

from __future__ import annotations

import numpy as np
import pytest
from kokoro_weights.sketch import COLUMNS, thinned
from numpy.typing import NDArray


def decoded(columns: int) -> NDArray[np.float32]:
    return np.arange(2 * columns, dtype=np.float32).reshape(1, 2, columns)


def test_three_columns_become_their_mean() -> None:
    sketch = thinned(decoded(6))
    np.testing.assert_array_equal(sketch, [[[1, 4], [7, 10]]])
    assert sketch.dtype == np.float32


@pytest.mark.parametrize("left_over", [1, 2])
def test_what_is_left_over_is_not_in_it(left_over: int) -> None:
    longer = np.concatenate([decoded(COLUMNS), np.full((1, 2, left_over), 99, dtype=np.float32)], axis=-1)
    np.testing.assert_array_equal(thinned(longer), thinned(decoded(COLUMNS)))


def test_two_columns_are_too_few() -> None:
    with pytest.raises(ValueError, match="at least 3 columns, found 2"):
        thinned(decoded(2))
