"""LayerNorm, RmsNorm, GeluV2, Swish and HardSwish against their formulas in float64."""

from collections.abc import Callable
from math import erf
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atc_py.device.sim.execution.parallel import Workers
from atc_py.device.sim.kernel import KERNELS, Call, Workspace
from atc_py.package.node_view import NodeView, TensorFacts
from atc_py.tensor.dtypes import DType
from tests.device.models import (
    Array,
    Attributes,
    ModelBuilder,
    random_array,
    run_model,
    run_operator,
)
from tests.device.nodes import refusal
from tests.sampling import examples

POINTS = np.concatenate([np.linspace(-12, 12, 4801), [0.0, -0.0, 1e-6, -1e-6, 60.0, -60.0]])
ERF = np.vectorize(erf)


def _gelu(x: Array) -> Array:
    """Return by the error function."""
    found: Array = x * 0.5 * (1 + ERF(x / np.sqrt(2)))
    return found


def _gelu_by_tanh(x: Array) -> Array:
    """Return by tanh."""
    found: Array = x * 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return found


def _hard_swish(x: Array) -> Array:
    """Return by bounds."""
    found: Array = x * np.clip(x + 3, 0, 6) / 6
    return found


FORMULAS: dict[str, tuple[str, Attributes, Callable[[Array], Array]]] = {
    "gelu": ("GeluV2", {"approximate": "none"}, _gelu),
    "gelu by tanh": ("GeluV2", {"approximate": "tanh"}, _gelu_by_tanh),
    "swish": ("Swish", {}, lambda x: x / (1 + np.exp(-x))),
    "scaled swish": ("Swish", {"scale": 1.702}, lambda x: x / (1 + np.exp(-1.702 * x))),
    "hard swish": ("HardSwish", {}, _hard_swish),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_gate_is_its_formula(name: str) -> None:
    op, attributes, formula = FORMULAS[name]
    x = POINTS.astype(np.float32)
    (y,) = run_operator(op, [x], [(DType.FLOAT32, x.shape)], attributes)
    expected = formula(x.astype(np.float64))
    # x times a share that is right to two units in the last place of 1, as 1 + erf(x) is in float32
    bound = 2.0**-22 * (np.maximum(1, np.abs(x)) + np.abs(expected))
    np.testing.assert_array_less(np.abs(y - expected), bound)


@pytest.mark.parametrize("name", FORMULAS)
def test_float16_gate_is_rounded_once(name: str) -> None:
    op, attributes, formula = FORMULAS[name]
    x = POINTS.astype(np.float16)
    (y,) = run_operator(op, [x], [(DType.FLOAT16, x.shape)], attributes)
    expected = formula(x.astype(np.float64)).astype(np.float16)
    apart = np.abs(y.view(np.int16).astype(int) - expected.view(np.int16).astype(int))
    large = np.abs(expected) >= 2.0**-8  # float32 holds the share of smaller ones to fewer bits
    assert apart[large].max() <= 1
    assert (apart[large] == 0).mean() > 0.99
    assert np.abs(y.astype(float) - expected)[~large].max() <= 2.0**-19


@pytest.mark.parametrize("name", FORMULAS)
def test_gate_keeps_nan_and_ends(name: str) -> None:
    op, attributes, _ = FORMULAS[name]
    x = np.array([np.nan, np.inf, 1e30], np.float32)
    (y,) = run_operator(op, [x], [(DType.FLOAT32, x.shape)], attributes)
    assert np.isnan(y[0])
    np.testing.assert_array_equal(y[1:], x[1:])


def test_gelu_of_float64_or_by_other_means_is_refused() -> None:
    x = np.ones(3)
    assert "float32, found float64" in refusal("GeluV2", [x], [(DType.FLOAT64, [3])])
    half = x.astype(np.float16)
    found = refusal("GeluV2", [half], [(DType.FLOAT16, [3])], {"approximate": "fast"})
    assert found == "approximate must be one of none, tanh, found 'fast'"


@given(
    shape=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    data=st.data(),
    seed=st.integers(0, 999),
    dtype=st.sampled_from([np.float32, np.float16]),
)
@examples(60)
def test_norms_are_their_formulas(
    shape: list[int], data: st.DataObject, seed: int, dtype: Any
) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    x = (random_array(seed, shape) * 3 + 5).astype(dtype)
    gamma, beta = (random_array(seed + at, shape[axis:]).astype(dtype) for at in (1, 2))
    wide, g, b = (each.astype(np.float64) for each in (x, gamma, beta))
    axes = tuple(range(axis, len(shape)))
    shifted = wide - wide.mean(axes, keepdims=True)
    variance = (shifted**2).mean(axes, keepdims=True)
    types = [(DType.from_numpy(x.dtype), shape)]
    attributes = {"begin_norm_axis": axis, "begin_params_axis": axis, "epsilon": 0.01}
    (y,) = run_operator("LayerNorm", [x, gamma, beta], types, attributes)
    _expect(y, shifted / np.sqrt(variance + 0.01) * g + b)
    (y,) = run_operator("RmsNorm", [x, gamma], types, {"epsilon": 0.01})
    _expect(y, wide / np.sqrt((wide**2).mean(axes, keepdims=True) + 0.01) * g)


def _expect(found: Array, wanted: Array) -> None:
    """Check float32 to some units of what was summed up, float16 rounded once."""
    bound = 2e-5 if found.dtype == np.float32 else 2e-5 + np.abs(wanted) * 2.0**-11
    np.testing.assert_array_less(np.abs(found.astype(np.float64) - wanted), bound + 1e-9)


def test_layer_norm_of_many_rows_does_not_depend_on_how_they_are_cut() -> None:
    x = random_array(4, [9001, 48])
    gamma, beta = random_array(5, [48]), random_array(6, [48])
    attributes = {"begin_norm_axis": 1, "begin_params_axis": 1, "epsilon": 1e-5}
    facts = tuple(TensorFacts(DType.FLOAT32, each.shape) for each in (x, gamma, beta))
    node = NodeView("LayerNorm", "n", "AI_CORE", facts, facts[:1], attributes)
    kernel, results = KERNELS.all()["LayerNorm"], []
    for workers in (Workers(1), Workers(3)):
        call = Call(node, (x, gamma, beta), (np.empty_like(x),), Workspace(), workers)
        kernel.launch(call)()
        results.append(call.out)
        workers.close()
    one, three = results
    np.testing.assert_array_equal(one, three)


@pytest.mark.parametrize(
    ("gamma", "attributes", "message"),
    [
        ([3], {"begin_norm_axis": 1, "begin_params_axis": 1}, "gamma must have shape [4]"),
        ([4], {"begin_norm_axis": 1, "begin_params_axis": 0}, "begin_params_axis must be"),
    ],
)
def test_layer_norm_that_does_not_fit_is_refused(
    gamma: list[int], attributes: dict[str, int], message: str
) -> None:
    arrays = [np.ones(shape, np.float32) for shape in ([2, 4], gamma, gamma)]
    assert message in refusal("LayerNorm", arrays, [(DType.FLOAT32, [2, 4])], attributes)


@pytest.mark.parametrize("op", ["LayerNorm", "RmsNorm"])
def test_norm_survives_that_its_result_takes_the_place_of_a_computed_parameter(op: str) -> None:
    builder = ModelBuilder()
    x, made = (builder.input(name, "float32", [4, 8]) for name in ("x", "g"))
    names = ["gamma", "beta"] if op == "LayerNorm" else ["gamma"]
    axes = {"begin_norm_axis": 0, "begin_params_axis": 0} if op == "LayerNorm" else {}
    parameters = [builder.node("Neg", [made], [("float32", [4, 8])])[0] for _ in names]
    (y,) = builder.node(op, [x, *parameters], [("float32", [4, 8])], {**axes, "epsilon": 0.01})
    builder.output("y", y)
    feeds = {"x": random_array(1, [4, 8]), "g": random_array(2, [4, 8])}
    found = run_model(builder.build(), feeds)["y"]
    arrays = [feeds["x"], *(-feeds["g"] for _ in names)]
    (wanted,) = run_operator(op, arrays, [(DType.FLOAT32, [4, 8])], {**axes, "epsilon": 0.01})
    np.testing.assert_array_equal(found, wanted)
