"""Reductions, positions, running sums and largest elements, through the whole compiler."""

from collections.abc import Callable, Sequence
from math import isqrt
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atc_py.tensor.dtypes import DType
from tests.device.tolerances import assert_close
from tests.end_to_end import one_node_model
from tests.lowering.precise import KEEP, MODES, NARROW, Feeds, agree, compiled, numbers
from tests.sampling import examples

Array = npt.NDArray[Any]

FLOATS = ("float32", "float16")
NORMS = ("ReduceL1", "ReduceL2", "ReduceProd", "ReduceSumSquare")
OTHERS = ("ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum")
SHAPE = st.lists(st.integers(1, 4), min_size=1, max_size=4)
OPSETS = st.sampled_from([8, 9, 11, 12, 13])


@st.composite
def reductions(draw: st.DrawFn) -> tuple[list[int], int, dict[str, Any]]:
    """Return shape, opset, and the attributes axes and keepdims, each given or left out."""
    shape, opset = draw(SHAPE), draw(OPSETS)
    attributes: dict[str, Any] = {}
    if draw(st.booleans()):
        axes = draw(st.lists(st.integers(0, len(shape) - 1), min_size=1, unique=True))
        if opset >= 11:
            axes = [axis - draw(st.sampled_from([0, len(shape)])) for axis in axes]
        attributes["axes"] = axes
    if draw(st.booleans()):
        attributes["keepdims"] = draw(st.sampled_from([0, 1]))
    return shape, opset, attributes


def in_the_form_of(op_type: str, opset: int, attributes: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a node: ReduceSum has its axes as an input as of opset 13."""
    options = dict(attributes)
    if op_type == "ReduceSum" and opset >= 13 and "axes" in options:
        options["constants"] = {"axes": np.array(options.pop("axes"), np.int64)}
    return options


def by_hand(op_type: str, x: Array, attributes: dict[str, Any]) -> Array:
    """Return the sum or product in Python's integers, cut to the dtype; roots drop fractions."""
    axes = tuple(attributes.get("axes", range(x.ndim)))
    keep = bool(attributes.get("keepdims", 1))
    exact = x.astype(object)
    if op_type == "ReduceProd":
        total = np.prod(exact, axis=axes, keepdims=keep)
    else:
        terms = abs(exact) if op_type == "ReduceL1" else exact * exact
        total = np.sum(terms, axis=axes, keepdims=keep)
    flat = [isqrt(n) if op_type == "ReduceL2" else n for n in np.asarray(total, object).reshape(-1)]
    bits = 8 * x.dtype.itemsize
    unsigned = np.array([n % 2**bits for n in flat], dtype=f"u{x.dtype.itemsize}")
    result: Array = unsigned.view(x.dtype).reshape(np.shape(total))
    return result


@pytest.mark.parametrize("op_type", [*NORMS, *OTHERS])
@given(reductions(), st.sampled_from(FLOATS), st.sampled_from(MODES), st.integers(0, 99))
def test_reduction_of_floats(
    op_type: str, form: tuple[list[int], int, dict[str, Any]], dtype: str, mode: str, seed: int
) -> None:
    shape, opset, attributes = form
    options = in_the_form_of(op_type, opset, attributes)
    agree(op_type, {"x": numbers(seed, shape, dtype)}, opset, mode, **options)


@pytest.mark.parametrize("dtype", ["uint32", "uint64", "int32", "int64"])
@pytest.mark.parametrize("op_type", NORMS)
@given(reductions(), st.sampled_from(MODES), st.integers(0, 99))
@examples(8)
def test_reduction_of_integers_is_exact(
    op_type: str,
    dtype: str,
    form: tuple[list[int], int, dict[str, Any]],
    mode: str,
    seed: int,
) -> None:
    shape, opset, attributes = form
    x = numbers(seed, shape, dtype)

    def oracle(feeds: Feeds) -> Sequence[Array]:
        return [by_hand(op_type, feeds["x"], attributes)]

    agree(op_type, {"x": x}, opset, mode, oracle, **attributes)


@pytest.mark.parametrize("dtype", ["uint32", "uint64", "int32", "int64"])
@pytest.mark.parametrize("op_type", ["ReduceL1", "ReduceProd", "ReduceSumSquare"])
def test_integers_that_overflow_wrap_around(op_type: str, dtype: str) -> None:
    limits = np.iinfo(dtype)
    x = np.array([[limits.max, 3, limits.min], [limits.max, 1, 5]], dtype)
    found = compiled(one_node_model(op_type, {"x": x}, 13, axes=[1]), {"x": x})
    np.testing.assert_array_equal(found["y0"], by_hand(op_type, x, {"axes": [1]}))


@pytest.mark.parametrize("root", [1, 3, 2**26 + 1, 94906267, 2**31 - 1, 2**32 - 1])
@pytest.mark.parametrize("less", [0, 1])
def test_norm_of_large_integers_drops_its_fraction(root: int, less: int) -> None:
    # the norm of the k-th column is the root of k squares of it
    x = np.full((3, 1), root, np.uint64) - np.uint64(less)
    model = one_node_model("ReduceL2", {"x": x[:1]}, 13, axes=[0])
    assert compiled(model, {"x": x[:1]})["y0"].item() == root - less
    if 3 * root * root < 2**64:
        model = one_node_model("ReduceL2", {"x": x}, 13, axes=[0])
        assert compiled(model, {"x": x})["y0"].item() == isqrt(3 * (root - less) ** 2)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
@pytest.mark.parametrize("op_type", NORMS)
def test_reduction_of_double_and_bfloat16(op_type: str, dtype: str, mode: str) -> None:
    x = numbers(3, (3, 4, 5), dtype)
    agree(op_type, {"x": x}, 13, mode, axes=[0, -1], keepdims=0)


def test_largest_of_int32_is_exact() -> None:
    x = np.array([[-(2**31), 7], [-5, 2**31 - 1], [-6, -(2**31)]], np.int32)
    for mode in MODES:
        agree("ReduceMax", {"x": x}, 13, mode, axes=[1])


@pytest.mark.parametrize("op_type", [*NORMS, *OTHERS])
def test_reduction_of_a_scalar(op_type: str) -> None:
    x = np.array(-2.5, np.float32)
    expected = {"ReduceL1": 2.5, "ReduceL2": 2.5, "ReduceSumSquare": 6.25}.get(op_type, -2.5)
    for mode in MODES:
        (y,) = compiled(one_node_model(op_type, {"x": x}, 12), {"x": x}, mode).values()
        assert (y.shape, y.item()) == ((), expected)


INF, NAN = np.inf, np.nan


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("op_type", [*NORMS, *OTHERS])
def test_infinities_and_nan_go_through_reductions(op_type: str, mode: str) -> None:
    x = np.array([[1, INF, 2], [-INF, 1, 2], [INF, -INF, 1], [NAN, 1, 0], [0, INF, 0]], np.float32)
    formulas: dict[str, Callable[[Array], Array]] = {
        "ReduceL1": lambda x: abs(x).sum(1),
        "ReduceL2": lambda x: np.sqrt((x * x).sum(1)),
        "ReduceProd": lambda x: x.prod(1),
        "ReduceSumSquare": lambda x: (x * x).sum(1),
        "ReduceMax": lambda x: x.max(1),
        "ReduceMean": lambda x: x.mean(1),
        "ReduceMin": lambda x: x.min(1),
        "ReduceSum": lambda x: x.sum(1),
    }
    with np.errstate(invalid="ignore"):
        expected = formulas[op_type](x)
    options = in_the_form_of(op_type, 13, {"axes": [1], "keepdims": 0})
    model = one_node_model(op_type, {"x": x}, 13, **options)
    np.testing.assert_array_equal(compiled(model, {"x": x}, mode)["y0"], expected)


def test_noop_with_empty_axes_hands_the_input_on() -> None:
    x = numbers(1, (2, 3))
    for constants in ({}, {"axes": np.zeros(0, np.int64)}):
        model = one_node_model(
            "ReduceSum", {"x": x}, 13, constants=constants, noop_with_empty_axes=1
        )
        np.testing.assert_array_equal(compiled(model, {"x": x})["y0"], x)
        model = one_node_model("ReduceSum", {"x": x}, 13, constants=constants, keepdims=0)
        assert_close(compiled(model, {"x": x})["y0"], x.sum(), DType.FLOAT32)
        model = one_node_model(
            "ReduceLogSumExp", {"x": x}, 18, constants=constants, noop_with_empty_axes=1
        )
        np.testing.assert_array_equal(compiled(model, {"x": x})["y0"], x)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("opset", [18, 13])
def test_axes_of_a_later_opset_are_restated(opset: int, mode: str) -> None:
    x, axes = numbers(2, (2, 3, 4)), np.array([-1, 0], np.int64)
    options: dict[str, Any] = {"axes": [-1, 0]} if opset < 18 else {"constants": {"axes": axes}}
    agree("ReduceMean", {"x": x}, opset, mode, **options)


def test_sum_of_squares_at_opset_1() -> None:
    x = numbers(4, (3, 4))
    (y,) = compiled(one_node_model("ReduceSumSquare", {"x": x}, 1, axes=[1]), {"x": x}).values()
    assert_close(y, (x * x).sum(1, keepdims=True), DType.FLOAT32)


# Positions --------------------------------------------------------------------------------------


@pytest.mark.parametrize("op_type", ["ArgMax", "ArgMin"])
@given(SHAPE, OPSETS, st.data(), st.sampled_from(FLOATS), st.sampled_from(MODES))
def test_position_of_the_first_of_equal_values(
    op_type: str, shape: list[int], opset: int, data: st.DataObject, dtype: str, mode: str
) -> None:
    attributes: dict[str, Any] = {}
    if data.draw(st.booleans()):
        low = -len(shape) if opset >= 11 else 0
        attributes["axis"] = data.draw(st.integers(low, len(shape) - 1))
    if data.draw(st.booleans()):
        attributes["keepdims"] = data.draw(st.sampled_from([0, 1]))
    if opset >= 12 and data.draw(st.booleans()):
        attributes["select_last_index"] = 0
    x = np.random.default_rng(shape).integers(-2, 3, shape).astype(dtype)
    agree(op_type, {"x": x}, opset, mode, **attributes)


# Running sums -----------------------------------------------------------------------------------


@pytest.mark.parametrize("fixed", [True, False])
@given(
    SHAPE,
    st.data(),
    st.sampled_from(["float32", "int32"]),
    st.sampled_from(MODES),
    st.sampled_from([np.int32, np.int64]),
)
@examples(20)
def test_cumsum(
    fixed: bool, shape: list[int], data: st.DataObject, dtype: str, mode: str, index: Any
) -> None:
    axis = np.array(data.draw(st.integers(-len(shape), len(shape) - 1)), index)
    names = data.draw(st.sets(st.sampled_from(["exclusive", "reverse"])))
    options: dict[str, Any] = dict.fromkeys(names, 1)
    feeds = {"x": numbers(5, shape, dtype)}
    if fixed:
        options["constants"] = {"axis": axis}
    else:
        feeds["axis"] = axis
    agree("CumSum", feeds, data.draw(st.sampled_from([11, 13])), mode, **options)


def test_cumsum_of_int32_wraps_around() -> None:
    x = np.array([2**31 - 1, 1, 5], np.int32)
    model = one_node_model("CumSum", {"x": x}, 13, constants={"axis": np.array(0)})
    assert compiled(model, {"x": x})["y0"].tolist() == [2**31 - 1, -(2**31), -(2**31) + 5]


def test_exclusive_cumsum_keeps_infinity_where_it_is() -> None:
    x = np.array([1, INF, 2], np.float32)
    options: dict[str, Any] = {"constants": {"axis": np.array(0)}, "exclusive": 1}
    for reverse, expected in ((0, [0, 1, INF]), (1, [INF, 2, 0])):
        model = one_node_model("CumSum", {"x": x}, 13, reverse=reverse, **options)
        assert compiled(model, {"x": x})["y0"].tolist() == expected


# The largest elements ---------------------------------------------------------------------------


@given(
    SHAPE,
    st.sampled_from([8, 9, 10, 11, 12, 13]),
    st.data(),
    st.sampled_from(FLOATS),
    st.sampled_from(MODES),
)
def test_top_k(shape: list[int], opset: int, data: st.DataObject, dtype: str, mode: str) -> None:
    low = -len(shape) if opset >= 10 else 0
    axis = data.draw(st.integers(low, len(shape) - 1))
    k = data.draw(st.integers(1, shape[axis]))
    options: dict[str, Any] = {"axis": axis, "outputs": 2}
    if opset < 10:
        options["k"] = k
    else:
        options["constants"] = {"k": np.array([k], np.int64)}
    if opset >= 11:
        options["largest"] = data.draw(st.sampled_from([0, 1]))
    x = np.random.default_rng(shape).integers(-2, 3, shape).astype(dtype)  # with equal ones
    agree("TopK", {"x": x}, opset, mode, **options)


def test_top_k_that_need_not_be_sorted_has_the_right_elements() -> None:
    x = numbers(6, (3, 9))
    constants = {"k": np.array([4], np.int64)}
    model = one_node_model("TopK", {"x": x}, 13, constants=constants, outputs=2, sorted=0)
    values, positions = compiled(model, {"x": x}).values()
    np.testing.assert_array_equal(np.sort(values), np.sort(x)[:, -4:])
    np.testing.assert_array_equal(np.take_along_axis(x, positions, 1), values)


def test_top_k_puts_nan_above_all_numbers() -> None:
    x = np.array([NAN, -INF, 3, INF, NAN], np.float32)
    constants = {"k": np.array([4], np.int64)}
    for largest, expected in ((1, [0, 4, 3, 2]), (0, [1, 2, 3, 0])):
        model = one_node_model(
            "TopK", {"x": x}, 13, constants=constants, outputs=2, largest=largest
        )
        assert compiled(model, {"x": x})["y1"].tolist() == expected


@pytest.mark.parametrize("asked", [0, 1])
def test_top_k_without_one_of_its_outputs(asked: int) -> None:
    x, names = numbers(7, (2, 5)), ["", ""]
    names[asked] = "y"
    model = one_node_model(
        "TopK", {"x": x}, 13, constants={"k": np.array([2], np.int64)}, outputs=2
    )
    whole = compiled(model, {"x": x})
    model.graph.node[0].output[:] = names
    del model.graph.output[1 - asked]
    model.graph.output[0].name = "y"
    np.testing.assert_array_equal(compiled(model, {"x": x})["y"], whole[f"y{asked}"])


# Global pools -----------------------------------------------------------------------------------


@given(
    st.lists(st.integers(1, 4), min_size=2, max_size=5),
    OPSETS,
    st.sampled_from([*FLOATS, "float64"]),
    st.sampled_from(MODES),
)
def test_global_max_pool(shape: list[int], opset: int, dtype: str, mode: str) -> None:
    def oracle(feeds: Feeds) -> Sequence[Array]:
        return [feeds["x"].max(axis=tuple(range(2, len(shape))), keepdims=True)]

    lacking = dtype == "float64" or len(shape) < 3  # in onnxruntime
    x = numbers(8, shape, dtype)
    agree("GlobalMaxPool", {"x": x}, opset, mode, oracle if lacking else None)


def test_float32_positions_need_no_float16_to_be_found() -> None:
    x = np.array([1, 1 + 2**-20], np.float32)  # equal in float16
    model = one_node_model("ArgMax", {"x": x}, 13, keepdims=0)
    assert compiled(model, {"x": x}, KEEP)["y0"].item() == 1
    assert compiled(model, {"x": x}, NARROW)["y0"].item() == 0
    assert model.graph.output[0].type.tensor_type.elem_type == onnx.TensorProto.INT64
