"""Sequences of different lengths as ONNX; lengths are constants, or computed in the run."""

import numpy as np
import pytest

from atc_py.tensor.dtypes import DType
from tests.device.models import random_array
from tests.device.ort.apart import apart
from tests.sampling import sampled


@pytest.mark.parametrize("dtype", [DType.FLOAT32, DType.FLOAT16])
@pytest.mark.parametrize(
    ("first", "second"), [([2, 0, 3], [1, 4, 2]), ([], []), ([0], [3]), ([4], [3])]
)
@pytest.mark.parametrize("known", [True, False])
def test_pairs_of_rows(dtype: DType, first: list[int], second: list[int], known: bool) -> None:
    rows = int(np.dot(first, second))
    inputs = [
        random_array(1, (sum(first), 3), dtype),
        random_array(2, (sum(second), 3), dtype),
        np.array(first, np.int32),
        np.array(second, np.int32),
    ]
    types = [(dtype, (rows, 3) if known else (None, None))]
    constants = (2, 3) if known else ()
    assert apart("DynSeqOuter", inputs, types, constants=constants) == 0


@pytest.mark.parametrize("dtype", [DType.FLOAT32, DType.FLOAT16])
@pytest.mark.parametrize("offset", [[2, 3, 4, 5], [1, 6], [0, 2, 3, 4], [2, 0, 3, 7], [0, 0]])
@pytest.mark.parametrize("size", sampled([2, 20], [1, 5]))
@pytest.mark.parametrize("known", [True, False])
def test_sums_of_windows(dtype: DType, offset: list[int], size: int, known: bool) -> None:
    beams, frames = np.array(offset, np.int32).reshape(2, -1)
    count = int((beams * frames).sum())
    alpha, energy = (random_array(seed, (count,), dtype) for seed in (1, 2))
    shape = (int(beams.sum()), int(frames.sum()))
    for odd in (False, True)[: 1 + (count > 1)]:
        if odd:
            alpha[1], alpha[-1] = np.nan, np.inf
        distance = apart(
            "MovingSumWithSigmoid",
            [alpha, energy, np.array(offset, np.int32)],
            [(dtype, shape if known or not count else (None, None))],
            {"ksize": size},
            constants=(2,) if known else (),
        )
        assert distance <= 1e-3
