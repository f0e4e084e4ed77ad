"""Operators of several tensors at every listed opset and dtype, against their definitions."""

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from atc_py.tensor.dtypes import DType
from tests.end_to_end import one_node_model
from tests.lowering.listed_forms import SHAPES, broadcast_shapes_of, listed_forms, values
from tests.lowering.reference import agree_with_formula, agree_with_onnxruntime
from tests.sampling import examples

Array = NDArray[Any]


def _div(a: Array, b: Array) -> Array:
    """Return floats in double; integers as Python has them, toward 0."""
    if a.dtype.kind == "f":
        return np.asarray(a / b)
    wide, by = a.astype(object), b.astype(object)
    return np.asarray(abs(wide) // abs(by) * np.sign(wide) * np.sign(by)).astype(a.dtype)


ARITHMETIC: dict[str, Callable[[Array, Array], Any]] = {
    "Add": np.add,
    "Div": _div,
    "Mul": np.multiply,
    "Pow": np.power,
    "Sub": np.subtract,
}
COMPARISONS: dict[str, Callable[[Array, Array], Any]] = {
    "And": np.logical_and,
    "Equal": np.equal,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
    "Or": np.logical_or,
}
VARIADIC: dict[str, Callable[..., Any]] = {
    "Max": lambda *xs: reduce(np.maximum, xs),
    "Mean": lambda *xs: reduce(np.add, xs) / len(xs),
    "Min": lambda *xs: reduce(np.minimum, xs),
    "Sum": lambda *xs: reduce(np.add, xs),
}


def _operands(data: st.DataObject, dtype: DType, count: int = 2, **drawn: Any) -> dict[str, Array]:
    """Return tensors that broadcast together."""
    shapes = data.draw(broadcast_shapes_of(count))
    return {f"x{i}": data.draw(values(dtype, shape, **drawn)) for i, shape in enumerate(shapes)}


@pytest.mark.parametrize("op_type", sorted(ARITHMETIC))
@given(data=st.data())
@examples(20)
def test_arithmetic_agrees_with_its_definition(op_type: str, data: st.DataObject) -> None:
    opset, dtype = data.draw(st.sampled_from(listed_forms(op_type)))
    if op_type == "Pow" and dtype.is_integer:
        bounds, special = (0.0, 5.0), False
    else:
        bounds, special = (-4.0, 4.0), True
    feeds = _operands(data, dtype, bounds=bounds, special=special)
    if op_type == "Div" and dtype.is_integer:
        feeds["x1"][np.isin(feeds["x1"], (0, -1))] = 7
    agree_with_formula(one_node_model(op_type, feeds, opset), feeds, ARITHMETIC[op_type])


@pytest.mark.parametrize("fmod", [None, 0, 1])
@given(data=st.data())
@examples(20)
def test_mod_has_the_sign_of_the_divisor_or_with_fmod_of_the_dividend(
    fmod: int | None, data: st.DataObject
) -> None:
    forms = [(opset, dtype) for opset, dtype in listed_forms("Mod") if fmod or dtype.is_integer]
    opset, dtype = data.draw(st.sampled_from(forms))
    feeds = _operands(data, dtype)
    if dtype.is_integer:
        feeds["x1"][feeds["x1"] == 0] = 7
    given_: dict[str, Any] = {} if fmod is None else {"fmod": fmod}

    def formula(a: Array, b: Array) -> Array:
        if dtype.is_float:
            return np.asarray(np.fmod(a, b))
        wide, by = a.astype(object), b.astype(object)
        truncated = np.sign(wide) * (abs(wide) % abs(by))
        return np.asarray(truncated if fmod else wide % by).astype(a.dtype)

    agree_with_formula(one_node_model("Mod", feeds, opset, **given_), feeds, formula)


@pytest.mark.parametrize("opset", [12, 13])
def test_pow_of_integers_with_negative_exponents_drops_the_fraction(opset: int) -> None:
    feeds = {
        "x": np.array([1, 1, -1, -1, 2, -3, 7], np.int32),
        "y": np.array([-1, -4, -3, -2, -1, -2, -(2**31)], np.int32),
    }
    agree_with_formula(
        one_node_model("Pow", feeds, opset),
        feeds,
        lambda *_: np.array([1, 1, -1, 1, 0, 0, 0], np.int32),
    )


@pytest.mark.parametrize("op_type", sorted(COMPARISONS))
@given(data=st.data())
@examples(20)
def test_comparison_agrees_with_its_definition(op_type: str, data: st.DataObject) -> None:
    opset, dtype = data.draw(st.sampled_from(listed_forms(op_type)))
    feeds = _operands(data, dtype, bounds=(-2.0, 2.0))
    if dtype.is_float:  # so that some are equal
        feeds = {name: np.asarray(np.rint(array)) for name, array in feeds.items()}
    agree_with_formula(one_node_model(op_type, feeds, opset), feeds, COMPARISONS[op_type])


@pytest.mark.parametrize("op_type", sorted(VARIADIC))
@given(data=st.data())
@examples(20)
def test_variadic_operator_agrees_with_its_definition(op_type: str, data: st.DataObject) -> None:
    """Check whole numbers, so that sums are exact in every dtype and one rounding is left."""
    opset, dtype = data.draw(st.sampled_from(listed_forms(op_type)))
    special = op_type in {"Max", "Min"}
    feeds = _operands(data, dtype, data.draw(st.integers(1, 4)), special=special)
    if not special:
        feeds = {name: np.asarray(np.rint(array)) for name, array in feeds.items()}
    agree_with_formula(one_node_model(op_type, feeds, opset), feeds, VARIADIC[op_type])


@given(data=st.data())
@examples(20)
def test_where_agrees_with_its_definition(data: st.DataObject) -> None:
    opset, dtype = data.draw(st.sampled_from(listed_forms("Where", 1)))
    feeds = _operands(data, dtype, 3)
    feeds["x0"] = data.draw(values(DType.BOOL, feeds["x0"].shape))
    agree_with_formula(one_node_model("Where", feeds, opset), feeds, np.where)


@given(data=st.data())
@examples(30)
def test_expand_agrees_with_its_definition(data: st.DataObject) -> None:
    opset, dtype = data.draw(st.sampled_from(listed_forms("Expand")))
    shape, other = data.draw(broadcast_shapes_of(2))
    feeds = {"x": data.draw(values(dtype, shape))}
    constants = {"shape": np.array(other, np.int64)}
    model = one_node_model("Expand", feeds, opset, constants=constants)
    agree_with_formula(
        model, feeds, lambda x: np.broadcast_to(x, np.broadcast_shapes(shape, other))
    )


def _prelu(x: Array, slope: Array) -> Array:
    return np.where(x < 0, slope * x, x).reshape(x.shape)


@given(data=st.data())
@examples(30)
def test_prelu_broadcasts_its_slope(data: st.DataObject) -> None:
    """Check one slope, slopes of channels, and what the list's rule lets through besides."""
    opset, dtype = data.draw(st.sampled_from(listed_forms("PRelu")))
    x_shape = data.draw(SHAPES)
    choices: list[tuple[int, ...]] = [(1,), (1,) * max(1, len(x_shape))]
    if len(x_shape) > 1:
        choices.append((x_shape[1], *(1,) * (len(x_shape) - 2)))
        choices.append((1, x_shape[1], *(1,) * (len(x_shape) - 2)))
    slope_shape = data.draw(st.sampled_from(choices))
    feeds = {"x": data.draw(values(dtype, x_shape))}
    drawn = data.draw(values(dtype, slope_shape, special=False))
    slope = drawn.astype(np.float16).astype(dtype.numpy)  # the same in both precision modes
    if data.draw(st.booleans()):
        model = one_node_model("PRelu", feeds, opset, constants={"slope": slope})
        agree_with_formula(model, feeds, lambda x: _prelu(x, slope.astype(np.float64)))
    else:
        feeds["slope"] = slope
        agree_with_formula(one_node_model("PRelu", feeds, opset), feeds, _prelu)


@pytest.mark.parametrize(
    ("x_shape", "slope_shape"),
    [((2, 3, 4, 3), (3,)), ((1, 6, 2, 3), (2, 3)), ((2, 4, 1, 4), (4,)), ((2, 2, 2), (2,))],
)
def test_prelu_slopes_of_as_many_elements_as_channels_on_other_axes(
    x_shape: tuple[int, ...], slope_shape: tuple[int, ...]
) -> None:
    generator = np.random.default_rng(5)
    feeds = {
        "x": generator.standard_normal(x_shape, dtype=np.float32),
        "slope": generator.standard_normal(slope_shape, dtype=np.float32),
    }
    model = one_node_model("PRelu", feeds, 9)
    agree_with_formula(model, feeds, _prelu)
    agree_with_onnxruntime(model, feeds)


def test_prelu_slope_that_onnx_cannot_broadcast_is_that_of_channels() -> None:
    generator = np.random.default_rng(6)
    feeds = {
        "x": generator.standard_normal((2, 3, 4, 5), dtype=np.float32),
        "slope": generator.standard_normal(3, dtype=np.float32),
    }
    model = one_node_model("PRelu", feeds, 9)
    agree_with_formula(model, feeds, lambda x, slope: _prelu(x, slope.reshape(3, 1, 1)))


def _forms_for_onnxruntime() -> list[Any]:
    names = sorted({**ARITHMETIC, **COMPARISONS, **VARIADIC, "Mod": None})
    return [
        pytest.param(name, dtype, id=f"{name}-{dtype.value}")
        for name in names
        for dtype in dict.fromkeys(dtype for _, dtype in listed_forms(name))
        if dtype is not DType.BFLOAT16
    ]


@pytest.mark.parametrize(("op_type", "dtype"), _forms_for_onnxruntime())
def test_broadcasting_agrees_with_onnxruntime(op_type: str, dtype: DType) -> None:
    opset = max(opset for opset, listed in listed_forms(op_type) if listed is dtype)
    generator = np.random.default_rng(11)
    feeds = {
        "a": generator.uniform(1, 5, (2, 3, 4)).astype(dtype.numpy),
        "b": generator.uniform(1, 5, (3, 1)).astype(dtype.numpy),
    }
    given_: dict[str, Any] = {"fmod": 1} if op_type == "Mod" and dtype.is_float else {}
    agree_with_onnxruntime(one_node_model(op_type, feeds, opset, **given_), feeds)


@pytest.mark.parametrize("op_type", ["Sum", "Mean"])
@pytest.mark.parametrize("shapes", [[(2, 3)] * 5, [(2, 3), (3,), (2, 1)], [(1, 3), (2, 1), ()]])
def test_sums_agree_with_onnxruntime(op_type: str, shapes: list[tuple[int, ...]]) -> None:
    generator = np.random.default_rng(3)
    feeds = {
        f"x{i}": np.asarray(generator.standard_normal(shape, dtype=np.float32))
        for i, shape in enumerate(shapes)
    }
    agree_with_onnxruntime(one_node_model(op_type, feeds, 8), feeds)
