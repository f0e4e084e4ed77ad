"""NaN, infinities, signed zeros, subnormal numbers and the ends of dtypes, against onnxruntime.

docs/special-values.md says where the device differs and why; what it names is left out here and has
a test of its own below.
"""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from onnx.reference import ReferenceEvaluator

from atc_py.diag import AtcError
from atc_py.tensor.dtypes import DType
from tests.end_to_end import one_node_model, run_with_onnxruntime
from tests.lowering.precise import MODES, compiled

Array = NDArray[Any]

F16, F32, F64, BF16 = DType.FLOAT16, DType.FLOAT32, DType.FLOAT64, DType.BFLOAT16
INF, NAN = np.inf, np.nan

UNARY: list[tuple[str, dict[str, Any]]] = [
    *((op, {}) for op in (
        "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Celu", "Cos", "Cosh",
        "Elu", "Erf", "Exp", "Floor", "HardSigmoid", "Identity", "LeakyRelu", "Log", "Neg",
        "Reciprocal", "Relu", "Round", "Selu", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus",
        "Shrink", "Softsign", "Sqrt", "Tan", "Tanh", "ThresholdedRelu",
    )),
    *(("Elu", {"alpha": alpha}) for alpha in (2.0, 0.0, -1.0)),
    *(("LeakyRelu", {"alpha": alpha}) for alpha in (0.0, -0.5, 1.0, 2.0)),
    *(("ThresholdedRelu", {"alpha": alpha}) for alpha in (0.0, -1.0)),
    ("Celu", {"alpha": 0.5}),
]  # fmt: skip
BINARY = [
    "Add", "Div", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Max", "Min", "Mul",
    "PRelu", "Pow", "Sub", "Sum",
]  # fmt: skip
UNSIGNED_ZERO = {"Celu", "Max", "Min", "Relu", "Selu", "Sum"}
"""Operators the sign of whose zero ONNX leaves open: the device, onnxruntime and ONNX's reference do
not all have the same."""

_RELATIVE = {F64: 1e-6, F32: 1e-4, F16: 2.0**-9, BF16: 2.0**-6}
"""Shares by which numbers may differ: onnxruntime's own functions of float32 are off by 6e-5."""


def specials(dtype: DType) -> Array:
    """Return ends and corners of a float dtype, of both signs, and what functions turn at."""
    info = ml_dtypes.finfo(dtype.numpy)  # type: ignore[no-untyped-call]
    least, normal, most = (
        float(n) for n in (info.smallest_subnormal, info.smallest_normal, info.max)
    )
    numbers = [
        0.0, least, 3 * least, normal / 2, normal, 1e-3, 0.5, 1.0, 1.5, 2.0, 2.5, 3.5, 10.0, 88.0,
        100.0, 1000.0, most / 2, most, INF,
    ]  # fmt: skip
    return np.array([sign * n for n in numbers for sign in (1, -1)] + [NAN]).astype(dtype.numpy)


def expected_of(op_type: str, feeds: dict[str, Array], **attributes: Any) -> Array:
    """Return onnxruntime's result for the operands; 16 bits in float32, rounded at the end.

    In float64, which it does not have for most operators, what ONNX's reference makes of them.
    """
    narrow = next(iter(feeds.values())).dtype
    if narrow == np.float64:
        model = one_node_model(op_type, feeds, 13, **attributes)
        with np.errstate(all="ignore"):
            (array,) = ReferenceEvaluator(model).run(None, feeds)
        return np.asarray(array)
    operands = {name: array.astype(np.float32) for name, array in feeds.items()}
    model = one_node_model(op_type, operands, 13, **attributes)
    (found,) = run_with_onnxruntime(model, operands).values()
    with np.errstate(over="ignore"):
        return found.astype(narrow) if found.dtype == np.float32 else found


def same_kind(found: Array, expected: Array, dtype: DType, signed: Any = True) -> None:
    """Hold results to NaN, infinities and, where `signed`, signs of zeros; numbers come close.

    Numbers below 2^-23 are close to each other: onnxruntime's Sigmoid of float32 is off by that.
    """
    assert found.dtype == expected.dtype
    if found.dtype.kind == "b":
        np.testing.assert_array_equal(found, expected)
        return
    one, other = found.astype(np.float64), expected.astype(np.float64)
    np.testing.assert_array_equal(np.isnan(one), np.isnan(other))
    np.testing.assert_array_equal(np.isposinf(one), np.isposinf(other))
    np.testing.assert_array_equal(np.isneginf(one), np.isneginf(other))
    finite = np.isfinite(one)
    np.testing.assert_allclose(one[finite], other[finite], rtol=_RELATIVE[dtype], atol=2.0**-23)
    both = (one == 0) & (other == 0) & signed
    np.testing.assert_array_equal(np.signbit(one[both]), np.signbit(other[both]))


def compiled_or_skipped(op_type: str, feeds: dict[str, Array], **attributes: Any) -> Array:
    """Return the device's result; skip the test where the list lacks the dtype."""
    try:
        model = one_node_model(op_type, feeds, 13, **attributes)
        (found,) = compiled(model, feeds).values()
    except (AtcError, KeyError):
        pytest.skip("the list or ONNX does not have the operator in this dtype")
    return found


@pytest.mark.parametrize("dtype", [F32, F16, BF16, F64], ids=lambda dtype: dtype.value)
@pytest.mark.parametrize(("op_type", "attributes"), UNARY)
def test_functions_of_special_values(
    op_type: str, attributes: dict[str, Any], dtype: DType
) -> None:
    x = specials(dtype)
    found = compiled_or_skipped(op_type, {"x": x}, **attributes)
    expected = expected_of(op_type, {"x": x}, **attributes)
    # onnxruntime takes the smallest numbers for zeros in some functions, and loses their sign.
    least = float(ml_dtypes.finfo(dtype.numpy).smallest_normal)  # type: ignore[no-untyped-call]
    normal = (np.abs(x.astype(np.float64)) > least) | (x == 0)
    same_kind(found, expected, dtype, signed=normal & (op_type not in UNSIGNED_ZERO))


@pytest.mark.parametrize("dtype", [F32, F16, BF16, F64], ids=lambda dtype: dtype.value)
@pytest.mark.parametrize("op_type", BINARY)
def test_pairs_of_special_values(op_type: str, dtype: DType) -> None:
    numbers = specials(dtype)
    x, y = (np.ascontiguousarray(each) for each in np.meshgrid(numbers, numbers, indexing="ij"))
    feeds = {"x": x, "y": y[:1] if op_type == "PRelu" else y}
    found = compiled_or_skipped(op_type, feeds)
    expected = expected_of(op_type, feeds)
    same_kind(found, expected, dtype, signed=op_type not in UNSIGNED_ZERO)


# Zeros --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [F32, F16, BF16], ids=lambda dtype: dtype.value)
@pytest.mark.parametrize(
    ("op_type", "attributes"),
    [
        *(("LeakyRelu", {"alpha": alpha}) for alpha in (0.01, 0.0, -0.5, 1.0, 2.0)),
        *(("Elu", {"alpha": alpha}) for alpha in (1.0, 0.0, -1.5)),
        ("ThresholdedRelu", {"alpha": -1.0}),
    ],
)
def test_slopes_keep_the_sign_of_zero(
    op_type: str, attributes: dict[str, Any], dtype: DType
) -> None:
    """Check that slopes are x where it is 0 or more, and that -0 is not less than 0."""
    feeds = {"x": np.array([0.0, -0.0] * 40).astype(dtype.numpy)}
    found = compiled_or_skipped(op_type, feeds, **attributes).astype(np.float32)
    np.testing.assert_array_equal(np.signbit(found), [False, True] * 40)


def test_slopes_of_channels_keep_the_sign_of_zero() -> None:
    x = np.array([[0.0, -0.0]], np.float32)
    for slope in (0.25, -0.25):
        constants = {"slope": np.full(2, slope, np.float32)}
        model = one_node_model("PRelu", {"x": x}, 13, constants=constants)
        (found,) = compiled(model, {"x": x}).values()
        np.testing.assert_array_equal(np.signbit(found), [[False, True]])


@pytest.mark.parametrize("op_type", ["Relu", "Selu", "Celu"])
def test_what_is_a_larger_or_a_sum_makes_0_of_negative_zero(op_type: str) -> None:
    feeds = {"x": np.array([0.0, -0.0] * 40, np.float32)}
    assert not np.signbit(compiled_or_skipped(op_type, feeds)).any()


# Numbers between elements -------------------------------------------------------------------------


@pytest.mark.parametrize("coordinates", ["half_pixel", "asymmetric", "align_corners"])
@pytest.mark.parametrize("mode", MODES)
def test_resize_keeps_an_element_beside_an_infinite_one(coordinates: str, mode: str) -> None:
    """Check that a result on an element is that element; 0 times infinity is NaN."""
    x = np.array([1.0, INF, 2.0, -0.0], np.float32).reshape(1, 1, 1, 4)
    constants = {"roi": np.zeros(0, np.float32), "scales": np.array([1, 1, 1, 3], np.float32)}
    model = one_node_model(
        "Resize", {"x": x}, 11, constants=constants, mode="linear",
        coordinate_transformation_mode=coordinates,
    )  # fmt: skip
    (found,) = compiled(model, {"x": x}, mode).values()
    assert not np.isnan(found).any()
    assert {1.0, INF} <= set(found.reshape(-1).tolist())
    assert np.signbit(found.reshape(-1)[-1])


# Faults of onnxruntime that the comparison above must not take for right ---------------------------


def test_sign_of_nan_is_nan() -> None:
    feeds = {"x": np.array([NAN, -0.0, -INF], np.float16)}
    np.testing.assert_array_equal(
        compiled_or_skipped("Sign", feeds), np.array([NAN, 0, -1], np.float16)
    )


def test_where_keeps_the_sign_of_zero() -> None:
    feeds = {
        "c": np.array([True, False]),
        "x": np.array([-0.0, 1], np.float32),
        "y": np.array([1, -0.0], np.float32),
    }
    (found,) = compiled(one_node_model("Where", feeds, 13), feeds).values()
    assert np.signbit(found).all()


def test_row_of_infinite_squares_is_nothing_else_than_zero_after_lrn() -> None:
    """Check that each channel has a new sum: an infinity taken off again would leave NaN."""
    x = np.array([3e38, 1.0, 1.0, 1.0, 1.0], np.float32).reshape(1, 5, 1, 1)
    (found,) = compiled(one_node_model("LRN", {"x": x}, 13, size=3), {"x": x}).values()
    assert np.isfinite(found).all()
    assert found[0, :2, 0, 0].tolist() == [0, 0]
    assert (found[0, 2:] > 0.9).all()
