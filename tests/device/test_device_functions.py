"""Functions of elements on the device: accuracy, dtypes that no listed model has, refusals."""

import math

import numpy as np
import pytest

from atc_py.diag import AtcError
from atc_py.tensor.dtypes import DType
from tests.device.models import INTEGERS, Array, Attributes, random_array, run_operator
from tests.failures import in_one_item

F16, F32, F64 = DType.FLOAT16, DType.FLOAT32, DType.FLOAT64
MATRIX = (2, 3)


def test_erf_is_right_to_four_units_in_the_last_place() -> None:
    x = np.concatenate(
        [np.linspace(-6, 6, 100_003), np.logspace(-40, 0, 20_001), [np.inf, -np.inf]]
    ).astype(np.float32)
    (y,) = run_operator("Erf", [x], [(F32, x.shape)])
    expected = np.vectorize(math.erf)(x.astype(np.float64))
    np.testing.assert_allclose(y, expected, rtol=4 * 2.0**-23, atol=1e-44)
    assert np.abs(y).max() == 1.0
    np.testing.assert_array_equal(run_operator("Erf", [-x], [(F32, x.shape)])[0], -y)


@pytest.mark.parametrize("op", ["Erf", "Sigmoid", "Tanh", "Softplus", "Elu", "Celu", "LeakyRelu"])
def test_nan_passes_and_ends_of_the_range_are_finite_or_infinite(op: str) -> None:
    x = np.array([np.nan, np.inf, -np.inf, 3e38, -3e38], np.float32)
    (y,) = run_operator(op, [x], [(F32, (5,))])
    assert np.isnan(y).tolist() == [True, False, op == "LeakyRelu", False, False]


def test_blocks_in_place_read_before_they_write() -> None:
    """Check Elu and LeakyRelu, which need x again after the result is begun."""
    x = np.linspace(-3, 3, 100_001, dtype=np.float32)
    (elu,) = run_operator("Elu", [x], [(F32, x.shape)])
    np.testing.assert_allclose(elu, np.where(x < 0, np.expm1(x), x), rtol=1e-6)
    (leaky,) = run_operator("LeakyRelu", [x], [(F32, x.shape)], {"negative_slope": 0.5})
    np.testing.assert_array_equal(leaky, np.where(x < 0, x / 2, x))


@pytest.mark.parametrize("dtype", [pytest.param(d, id=d.value) for d in INTEGERS])
def test_integer_arithmetic_is_exact(dtype: DType) -> None:
    limits = np.iinfo(dtype.numpy)
    a = np.array([limits.max, limits.min, 7, limits.max, 100, 0], dtype.numpy)
    b = np.array([limits.max, 3, 2, 1, 7, 5], dtype.numpy)
    pairs = [(int(p), int(q)) for p, q in zip(a, b, strict=True)]
    shape = [(dtype, (6,))]
    bits: int = 2**limits.bits

    def wrapped(value: int) -> int:
        least: int = limits.min
        return (value - least) % bits + least

    def run(op: str) -> list[int]:
        found: list[int] = run_operator(op, [a, b], shape)[0].tolist()
        return found

    truncated = [abs(p) // abs(q) * (-1 if p < 0 else 1) for p, q in pairs]
    assert run("RealDiv") == truncated
    assert run("Mod") == [p - q * t for (p, q), t in zip(pairs, truncated, strict=True)]
    assert run("FloorMod") == [p % q for p, q in pairs]
    assert run("Sub") == [wrapped(p - q) for p, q in pairs]
    assert run("Maximum") == [max(pair) for pair in pairs]
    assert run("Minimum") == [min(pair) for pair in pairs]


@pytest.mark.parametrize("op", ["RealDiv", "Mod", "FloorMod"])
@pytest.mark.parametrize("dtype", [DType.INT8, DType.INT32, DType.INT64])
def test_integer_division_by_0_is_0_and_that_of_the_least_by_minus_1_wraps(
    op: str, dtype: DType
) -> None:
    least = np.iinfo(dtype.numpy).min
    x = np.array([5, 0, least], dtype.numpy)
    (y,) = run_operator(op, [x, np.array([0, 0, -1], dtype.numpy)], [(dtype, (3,))])
    assert y.tolist() == [0, 0, least if op == "RealDiv" else 0]


@pytest.mark.parametrize("dtype", [DType.INT8, DType.UINT8, DType.INT16, DType.INT32, DType.INT64])
def test_powers_of_integers_wrap_around_and_lose_fractions(dtype: DType) -> None:
    limits = np.iinfo(dtype.numpy)
    base, exponent = [0, 1, 3, 2, 5], [0, 9, 4, limits.bits, 1]
    (y,) = run_operator(
        "Pow",
        [np.array(base, dtype.numpy), np.array(exponent, dtype.numpy)],
        [(dtype, (5,))],
    )
    assert y.tolist() == [1, 1, 81, 0, 5]
    if limits.min < 0:
        least = np.array(limits.min, dtype.numpy)  # whose absolute value there is none of
        (y,) = run_operator("Pow", [np.array([1, -1, 2, -3], dtype.numpy), least], [(dtype, (4,))])
        assert y.tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize("dtype", [DType.UINT8, DType.UINT16])
def test_relu_takes_unsigned_integers(dtype: DType) -> None:
    x = np.array([0, 7, np.iinfo(dtype.numpy).max], dtype.numpy)
    (y,) = run_operator("Relu", [x], [(dtype, (3,))])
    np.testing.assert_array_equal(y, x)


def test_square_is_the_power_with_exponent_2() -> None:
    x = random_array(1, (50,), F16)
    two = np.array([2], np.float16)
    (y,) = run_operator("Pow", [x, two], [(F16, (50,))])
    np.testing.assert_array_equal(y, x * x)


REFUSED: list[tuple[str, list[Array], tuple[DType, tuple[int, ...]], Attributes, str]] = [
    ("Exp", [np.ones(2, np.int32)], (DType.INT32, (2,)), {}, "computes floats, found int32"),
    ("Exp", [np.ones(2, np.float32)], (F32, (2,)), {"base": 2.0}, "base must be -1.0"),
    ("Log", [np.ones(2, np.float32)], (F32, (2,)), {"shift": 1.0}, "shift must be 0.0"),
    ("Round", [np.ones(2, np.float32)], (F32, (2,)), {"decimals": 1}, "decimals must be 0"),
    ("Abs", [np.ones(2, np.bool_)], (DType.BOOL, (2,)), {}, "computes numbers, found bool"),
    ("Erf", [np.ones(2)], (F64, (2,)), {}, "erf is computed in float32, found float64"),
    ("Sqrt", [np.ones(2, np.float32)], (F32, (3,)), {}, "the result is float32 2"),
    ("Tanh", [np.ones(2, np.float32)], (F16, (2,)), {}, "the result is float32 2"),
    (
        "PRelu",
        [np.ones(MATRIX, np.float32), np.ones(2, np.float32)],
        (F32, MATRIX),
        {},
        "one element or one for each channel of float32 2x3, found float32 2",
    ),
    (
        "PRelu",
        [np.ones(MATRIX, np.float32), np.ones((3, 1), np.float32)],
        (F32, MATRIX),
        {},
        "weight must have 1 axes",
    ),
    (
        "PRelu",
        [np.ones(MATRIX, np.float32), np.ones(3, np.float16)],
        (F32, MATRIX),
        {},
        "inputs must have the same dtype",
    ),
    (
        "Sub",
        [np.ones(MATRIX, np.float32), np.ones(2, np.float32)],
        (F32, MATRIX),
        {},
        "shapes 2x3 and 2 do not broadcast",
    ),
    (
        "ExpandD",
        [np.ones(MATRIX, np.float32)],
        (F32, (2, 4)),
        {"shape": [2, 4]},
        "do not broadcast",
    ),
    ("ExpandD", [np.ones(3, np.float32)], (F32, (2, 3)), {"shape": [3]}, "the result is float32 3"),
    (
        "Greater",
        [np.ones(2, np.bool_), np.ones(2, np.bool_)],
        (DType.BOOL, (2,)),
        {},
        "bools cannot be ordered",
    ),
    (
        "Equal",
        [np.ones(2, np.float32), np.ones(2, np.float16)],
        (DType.BOOL, (2,)),
        {},
        "inputs must have the same dtype",
    ),
    ("Less", [np.ones(2, np.float32)] * 2, (F32, (2,)), {}, "the result is bool 2"),
    ("LogicalNot", [np.ones(2, np.int8)], (DType.INT8, (2,)), {}, "takes bool, found int8"),
    (
        "LogicalAnd",
        [np.ones(2, np.bool_), np.ones(2, np.int8)],
        (DType.BOOL, (2,)),
        {},
        "takes bool, found int8",
    ),
    (
        "SelectV2",
        [np.ones(2, np.int8), np.ones(2, np.float32), np.ones(2, np.float32)],
        (F32, (2,)),
        {},
        "takes bool, found int8",
    ),
    (
        "SelectV2",
        [np.ones(2, np.bool_), np.ones(2, np.float32), np.ones(2, np.float16)],
        (F32, (2,)),
        {},
        "inputs must have the same dtype",
    ),
    (
        "SelectV2",
        [np.ones(2, np.bool_), np.ones(3, np.float32), np.ones(1, np.float32)],
        (F32, (3,)),
        {},
        "shapes 2 and 3 and 1 do not broadcast",
    ),
]


@in_one_item(("op", "inputs", "output", "attributes", "message"), REFUSED)
def test_bad_node_is_refused_at_loading(
    op: str,
    inputs: list[Array],
    output: tuple[DType, tuple[int, ...]],
    attributes: Attributes,
    message: str,
) -> None:
    with pytest.raises(AtcError, match=message) as caught:
        run_operator(op, inputs, [output], attributes)
    (found,) = caught.value.diagnostics
    assert found.code.name == "offline-model-content"


def test_threshold_of_nan_and_of_the_bound_itself_is_0() -> None:
    x = np.array([np.nan, 1, 1.5, np.inf, -np.inf], np.float16)
    (y,) = run_operator("Threshold", [x], [(F16, (5,))], {"threshold": 1.0})
    assert y.tolist() == [0, 0, 1, 1, 0]


def test_selected_elements_keep_their_bits() -> None:
    condition = np.array([[True], [False]])
    then, other = np.array(np.nan, np.float32), np.array([-0.0, np.inf], np.float32)
    (y,) = run_operator("SelectV2", [condition, then, other], [(F32, (2, 2))])
    assert np.isnan(y[0]).all()
    assert (np.signbit(y[1]).tolist(), y[1].tolist()) == ([True, False], [0.0, np.inf])


@pytest.mark.parametrize("dtype", [F16, F32, F64])
def test_power_of_one_half_is_the_same_for_one_exponent_and_for_many(dtype: DType) -> None:
    x = np.array([-np.inf, -0.0, 0.0, 4.0, -4.0, np.inf], dtype.numpy)
    half = np.full(6, 0.5, dtype.numpy)
    shape = [(dtype, (6,))]
    expected = [np.inf, 0.0, 0.0, 2.0, np.nan, np.inf]
    for found in (
        run_operator("Pow", [x, half], shape),
        run_operator("Pow", [x, half[:1]], shape),
        run_operator("Power", [x], shape, {"power": 0.5}),
    ):
        np.testing.assert_array_equal(found[0], expected)
        assert not np.signbit(found[0][:4]).any()
