"""Random numbers: kernels that refuse bad nodes, and seeds of any sign and size."""

import numpy as np
import pytest

from atc_py.tensor.dtypes import DType
from tests.device.models import Array, Attributes, run_operator
from tests.device.nodes import refusal

F32, I32 = DType.FLOAT32, DType.INT32
LOGITS, COUNT = np.zeros((2, 4), np.float32), np.array(3, np.int32)


@pytest.mark.parametrize(
    ("shape", "constants", "dtype", "reason"),
    [
        (np.array(2), [0], "float32", "shape must have 1 axes"),
        (np.array([-2]), [0], "float32", "dims must be at least 0, found [-2]"),
        (np.array([2]), [0], "float16", "dtype must be float32 or float64, found float16"),
        (np.array([2]), [0], "int32", "dtype must be float32 or float64, found int32"),
    ],
)
def test_bad_draw_is_refused(shape: Array, constants: list[int], dtype: str, reason: str) -> None:
    for op in ("RandomStandardNormal", "RandomUniform"):
        found = refusal(op, [shape], [(F32, (2,))], {"dtype": dtype}, constants)
        assert reason in found


@pytest.mark.parametrize("op", ["RandomStandardNormal", "RandomUniform"])
def test_draw_has_the_shape_that_the_run_finds(op: str) -> None:
    attributes: Attributes = {"dtype": "float32", "seed": 3}
    shape = np.array([2, 5])
    (early,) = run_operator(op, [shape], [(F32, (2, 5))], attributes, [0])
    (late,) = run_operator(op, [shape], [(F32, (2, 5))], attributes)
    np.testing.assert_array_equal(early, late)


@pytest.mark.parametrize(
    ("logits", "count", "constants", "dtype", "reason"),
    [
        (LOGITS.astype(np.int32), COUNT, [1], "int32", "computes floats"),
        (LOGITS[0], COUNT, [1], "int32", "logits must have 2 axes"),
        (LOGITS, COUNT, [], "int32", "num_samples must be one constant count"),
        (LOGITS, np.array(-3, np.int32), [1], "int32", "num_samples must be one constant count"),
        (LOGITS, COUNT, [1], "float32", "classes of an integer dtype are needed"),
        (LOGITS[:, :0], COUNT, [1], "int32", "classes of an integer dtype are needed"),
    ],
)
def test_bad_multinomial_is_refused(
    logits: Array, count: Array, constants: list[int], dtype: str, reason: str
) -> None:
    types = [(I32, (2, 3))]
    assert reason in refusal("Multinomial", [logits, count], types, {"dtype": dtype}, constants)


@pytest.mark.parametrize("seeds", [(1, 0), (0, 1), (-1, 0), (2**63 - 1, -(2**63))])
def test_any_seed_but_two_zeros_repeats_itself(seeds: tuple[int, int]) -> None:
    attributes: Attributes = {"dtype": "float32", "seed": seeds[0], "seed2": seeds[1]}
    once, again = (
        run_operator("RandomUniform", [np.array([5])], [(F32, (5,))], attributes, [0])[0]
        for _ in range(2)
    )
    np.testing.assert_array_equal(once, again)


def test_logits_that_are_nan_give_a_class_all_the_same() -> None:
    x = np.array([[np.nan, 0], [-np.inf, -np.inf], [np.inf, 0]], np.float32)
    attributes = {"dtype": "int32"}
    (y,) = run_operator("Multinomial", [x, COUNT], [(I32, (3, 3))], attributes, [1])
    assert set(y.reshape(-1)) <= {0, 1}
