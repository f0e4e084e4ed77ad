"""Functions of single elements at every listed opset and dtype, against their definitions."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from atc_py.tensor.dtypes import DType
from tests.end_to_end import IR_VERSION, one_node_model
from tests.lowering.listed_forms import SHAPES, listed_forms, values
from tests.lowering.reference import (
    MODES,
    agree_with_formula,
    agree_with_onnxruntime,
    run_in_mode,
)
from tests.sampling import examples

Array = NDArray[Any]

_erf = np.vectorize(math.erf, otypes=[np.float64])


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _softplus(x: Array) -> Array:
    return np.asarray(np.logaddexp(0, x))


def _softsign(x: Array) -> Array:
    return np.asarray(x / (1 + np.abs(x)))


FUNCTIONS: dict[str, tuple[Callable[[Array], Any], tuple[float, float]]] = {
    "Abs": (np.abs, (-9, 9)),
    "Acos": (np.arccos, (-1.2, 1.2)),
    "Acosh": (np.arccosh, (0.5, 9)),
    "Asin": (np.arcsin, (-1.2, 1.2)),
    "Asinh": (np.arcsinh, (-9, 9)),
    "Atan": (np.arctan, (-9, 9)),
    "Atanh": (np.arctanh, (-1.2, 1.2)),
    "Ceil": (np.ceil, (-9, 9)),
    "Cos": (np.cos, (-9, 9)),
    "Cosh": (np.cosh, (-9, 9)),
    "Erf": (_erf, (-5, 5)),
    "Exp": (np.exp, (-9, 9)),
    "Floor": (np.floor, (-9, 9)),
    "Log": (np.log, (-0.5, 9)),
    "Neg": (np.negative, (-9, 9)),
    "Not": (np.logical_not, (0, 1)),
    "Reciprocal": (lambda x: 1 / x, (-9, 9)),
    "Relu": (lambda x: np.maximum(x, 0), (-9, 9)),
    "Round": (np.rint, (-9, 9)),
    "Sigmoid": (_sigmoid, (-9, 9)),
    "Sign": (np.sign, (-9, 9)),
    "Sin": (np.sin, (-9, 9)),
    "Sinh": (np.sinh, (-9, 9)),
    "Softplus": (_softplus, (-9, 9)),
    "Softsign": (_softsign, (-9, 9)),
    "Sqrt": (np.sqrt, (-0.5, 9)),
    "Tanh": (np.tanh, (-5, 5)),
}


def _celu(x: Array, alpha: float) -> Array:
    return np.maximum(0, x) + np.minimum(0, alpha * np.expm1(x / alpha))


def _elu(x: Array, alpha: float) -> Array:
    return np.where(x < 0, alpha * np.expm1(x), x)


def _hard_sigmoid(x: Array, alpha: float, beta: float) -> Array:
    return np.maximum(0, np.minimum(1, alpha * x + beta))


def _leaky_relu(x: Array, alpha: float) -> Array:
    return np.where(x < 0, alpha * x, x)


def _selu(x: Array, alpha: float, gamma: float) -> Array:
    return np.where(x > 0, gamma * x, gamma * (alpha * np.expm1(x)))


def _thresholded_relu(x: Array, alpha: float) -> Array:
    return np.where(x > alpha, x, 0)


PARAMETRIC: dict[str, tuple[Callable[..., Any], dict[str, tuple[float, ...]]]] = {
    "Celu": (_celu, {"alpha": (1.0, 0.5, 2.0, 0.1)}),
    "Elu": (_elu, {"alpha": (1.0, 0.5, -2.0, 0.0)}),
    "HardSigmoid": (_hard_sigmoid, {"alpha": (0.2, 0.5, -1.0), "beta": (0.5, 0.2, -0.3)}),
    "LeakyRelu": (_leaky_relu, {"alpha": (0.01, 0.1, -0.5, 2.0)}),
    "Selu": (
        _selu,
        {"alpha": (1.6732631921768188, 0.5), "gamma": (1.0507010221481323, 2.0)},
    ),
    "ThresholdedRelu": (_thresholded_relu, {"alpha": (1.0, 0.1, -1.0)}),
}
"""The formula, and values of each attribute, its default first."""


@pytest.mark.parametrize("op_type", sorted(FUNCTIONS))
@given(data=st.data())
@examples(20)
def test_function_agrees_with_its_definition(op_type: str, data: st.DataObject) -> None:
    formula, bounds = FUNCTIONS[op_type]
    opset, dtype = data.draw(st.sampled_from(listed_forms(op_type)))
    feeds = {"x": data.draw(values(dtype, data.draw(SHAPES), bounds))}
    agree_with_formula(one_node_model(op_type, feeds, opset), feeds, formula)


@pytest.mark.parametrize("op_type", sorted(PARAMETRIC))
@given(data=st.data())
@examples(20)
def test_activation_agrees_with_its_definition(op_type: str, data: st.DataObject) -> None:
    formula, choices = PARAMETRIC[op_type]
    opset, dtype = data.draw(st.sampled_from(listed_forms(op_type)))
    feeds = {"x": data.draw(values(dtype, data.draw(SHAPES)))}
    drawn = {name: data.draw(st.sampled_from((None, *some))) for name, some in choices.items()}
    given_: dict[str, Any] = {name: value for name, value in drawn.items() if value is not None}
    used = {name: float(np.float32(given_.get(name, some[0]))) for name, some in choices.items()}
    model = one_node_model(op_type, feeds, opset, **given_)
    agree_with_formula(model, feeds, lambda x: formula(x, **used))


@pytest.mark.parametrize("op_type", sorted({**FUNCTIONS, **PARAMETRIC}))
def test_function_agrees_with_onnxruntime(op_type: str) -> None:
    x = np.random.default_rng(7).uniform(-4, 4, (2, 3, 5))
    bounded = {"Acos", "Asin", "Atanh"}
    for dtype in dict.fromkeys(dtype for _, dtype in listed_forms(op_type)):
        opset = max(opset for opset, listed in listed_forms(op_type) if listed is dtype)
        inside = np.tanh(x) if op_type in bounded else x
        feeds = {"x": inside.astype(dtype.numpy)}
        agree_with_onnxruntime(one_node_model(op_type, feeds, opset), feeds)


def test_round_takes_the_even_of_two() -> None:
    x = np.arange(-20, 21).astype(np.float64) / 4
    for dtype in (np.float16, np.float32, np.float64):
        feeds = {"x": x.astype(dtype)}
        agree_with_formula(one_node_model("Round", feeds, 13), feeds, np.rint)


@pytest.mark.parametrize("op_type", ["Erf", "Tanh", "Sigmoid", "Exp", "Elu", "Celu", "LeakyRelu"])
def test_blocks_of_large_tensors_are_all_computed(op_type: str) -> None:
    feeds = {"x": np.linspace(-6, 6, 200_001, dtype=np.float32)}
    agree_with_onnxruntime(one_node_model(op_type, feeds, 13), feeds)


def _clip(x: Array, low: float | None, high: float | None) -> Array:
    """Return first the lower bound, then the upper one, which wins."""
    raised = x if low is None else np.maximum(x, x.dtype.type(low))
    return np.asarray(raised if high is None else np.minimum(raised, x.dtype.type(high)))


@given(data=st.data())
def test_clip_agrees_with_its_definition(data: st.DataObject) -> None:
    """Check bounds that are attributes before opset 11, then constants or fed, or absent."""
    opset, dtype = data.draw(st.sampled_from(listed_forms("Clip")))
    low = data.draw(st.sampled_from((None, -2.0, 1.0, 3.0)))
    high = data.draw(st.sampled_from((None, 2.0, 0.0, -1.0)))
    bounds = {name: v for name, v in (("min", low), ("max", high)) if v is not None}
    shape = data.draw(SHAPES)
    x = data.draw(values(dtype, shape, special=len(bounds) == 2))  # infinity is beyond no bound
    feeds = {"x": x}
    attributes: dict[str, Any] = dict(bounds) if opset < 11 else {}
    arrays = {name: np.array(v, dtype.numpy) for name, v in bounds.items() if opset >= 11}
    fed = data.draw(st.booleans())
    order = ["x", *(name if name in arrays else "" for name in ("min", "max"))]
    while not order[-1]:
        order.pop()
    inputs, constants = ({**feeds, **arrays}, {}) if fed else (feeds, arrays)
    model = one_node_model("Clip", inputs, opset, constants=constants, order=order, **attributes)
    agree_with_formula(model, inputs, lambda x, *_: _clip(x, low, high))


@given(data=st.data())
def test_cast_agrees_with_numpy_from_every_dtype_to_every_other(data: st.DataObject) -> None:
    """Check values that every dtype holds, but for fractions, which integers cut off."""
    opset, target = data.draw(st.sampled_from(_cast_targets()))
    source = data.draw(st.sampled_from([d for o, d in listed_forms("Cast") if o == opset]))
    generator = np.random.default_rng(data.draw(st.integers(0, 2**16)))
    fraction = 0.5 if source.is_float else 0.0
    shape = data.draw(SHAPES)
    whole = np.asarray(generator.integers(0, 2 if source is DType.BOOL else 100, shape))
    feeds = {"x": (whole + fraction * (whole > 0)).astype(source.numpy)}
    to = onnx.helper.np_dtype_to_tensor_dtype(target.numpy)
    model = one_node_model("Cast", feeds, opset, to=to)
    for mode in MODES:
        found = run_in_mode(model, feeds, mode)
        assert found.dtype == target.numpy
        np.testing.assert_array_equal(found, feeds["x"].astype(target.numpy))


def _cast_targets() -> list[tuple[int, DType]]:
    """Return (opset, dtype) that ONNX casts to."""
    forms = listed_forms("Cast")
    return [(opset, dtype) for opset, dtype in forms if dtype is not DType.BFLOAT16 or opset > 12]


EMPTY = [
    *FUNCTIONS,
    *PARAMETRIC,
    *("Add", "And", "Clip", "Div", "Equal", "Expand", "Greater", "GreaterOrEqual", "Less"),
    *("LessOrEqual", "Max", "Mean", "Min", "Mod", "Mul", "Or", "PRelu", "Pow", "Sub", "Sum"),
    *("Where",),
]


@pytest.mark.parametrize("op_type", EMPTY)
def test_operator_of_empty_tensors_gives_an_empty_one(op_type: str) -> None:
    """Check operands that are slices of nothing: inputs of a model cannot be empty themselves."""
    forms = listed_forms(op_type, 1 if op_type == "Where" else 0)
    opset, dtype = max(
        ((opset, dtype) for opset, dtype in forms if dtype in {DType.FLOAT32, DType.BOOL}),
        key=lambda form: form[0],
    )
    attributes: dict[str, Any] = {"fmod": 1} if op_type == "Mod" else {}
    operands = {
        "Expand": ["e", "other"],
        "PRelu": ["e", "slope"],
        "Where": ["c", "e", "e"],
        **{name: ["e"] for name in ("Clip", *FUNCTIONS, *PARAMETRIC)},
    }.get(op_type, ["e", "e"])
    node = onnx.helper.make_node(op_type, operands, ["y"], **attributes)
    model = _sliced_to_nothing(node, dtype, opset)
    feeds = {"x": np.ones((3, 2), dtype.numpy), "b": np.ones((3, 2), np.bool_)}
    for mode in MODES:
        found = run_in_mode(model, feeds, mode)
        assert found.shape == (0, 2)


def _sliced_to_nothing(node: onnx.NodeProto, dtype: DType, opset: int) -> onnx.ModelProto:
    """Return `node` after the first 0 rows of x, called e, and of the bools b, called c."""
    helper = onnx.helper
    element = helper.np_dtype_to_tensor_dtype(dtype.numpy)
    names = ["starts", "ends"]
    constants: dict[str, Array] = {
        **{name: np.array([0], np.int64) for name in names},
        "other": np.array([1, 2], np.int64),
        "slope": np.ones(1, np.float32),
    }
    graph = helper.make_graph(
        [
            helper.make_node("Slice", ["x", *names], ["e"]),
            helper.make_node("Slice", ["b", *names], ["c"]),
            node,
        ],
        "empty",
        [
            helper.make_tensor_value_info("x", element, (3, 2)),
            helper.make_tensor_value_info("b", onnx.TensorProto.BOOL, (3, 2)),
        ],
        [onnx.ValueInfoProto(name="y")],
        [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    opsets = [helper.make_opsetid("", opset)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)
    return onnx.shape_inference.infer_shapes(model, data_prop=True)
