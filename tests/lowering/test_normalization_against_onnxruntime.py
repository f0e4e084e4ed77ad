"""Softmax and its kin, hardmax, norms, mean and variance, through the whole compiler."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.end_to_end import one_node_model
from tests.lowering.precise import KEEP, MODES, Feeds, agree, compiled, numbers

Array = npt.NDArray[Any]

FLOATS = ("float32", "float16")
SHAPE = st.lists(st.integers(1, 4), min_size=1, max_size=4)
OPSETS = st.sampled_from([8, 10, 11, 12, 13])


@st.composite
def forms(draw: st.DrawFn) -> tuple[list[int], int, dict[str, Any]]:
    """Return shape, opset, and an axis, given or left out where the default exists."""
    shape, opset = draw(SHAPE), draw(OPSETS)
    default = opset >= 13 or len(shape) > 1
    if default and draw(st.booleans()):
        return shape, opset, {}
    low = -len(shape) if opset >= 11 else 0
    return shape, opset, {"axis": draw(st.integers(low, len(shape) - 1))}


@pytest.mark.parametrize(
    ("op_type", "dtypes"),
    [
        ("Softmax", (*FLOATS, "float64")),
        ("LogSoftmax", FLOATS),
        ("Hardmax", FLOATS),
        ("LpNormalization", FLOATS),
    ],
)
@given(form=forms(), data=st.data(), mode=st.sampled_from(MODES), seed=st.integers(0, 99))
def test_work_along_an_axis(
    op_type: str,
    dtypes: Sequence[str],
    form: tuple[list[int], int, dict[str, Any]],
    data: st.DataObject,
    mode: str,
    seed: int,
) -> None:
    shape, opset, attributes = form
    if op_type == "LpNormalization":
        opset = data.draw(st.sampled_from([1, 8, 13]))  # one definition, negative axes throughout
        if data.draw(st.booleans()):
            attributes["p"] = data.draw(st.sampled_from([1, 2]))
    x = numbers(seed, shape, data.draw(st.sampled_from(dtypes)), scale=3)
    if op_type == "Hardmax":
        x = np.round(x)  # so that there are equal ones
    agree(op_type, {"x": x}, opset, mode, **attributes)


@pytest.mark.parametrize("op_type", ["Softmax", "LogSoftmax"])
def test_softmax_takes_infinities(op_type: str) -> None:
    x = np.array([[-np.inf, 0, 1], [np.inf, 0, 1], [-np.inf] * 3, [np.nan, 0, 1]], np.float32)
    for mode in MODES:
        agree(op_type, {"x": x}, 13, mode)


def test_log_softmax_does_not_overflow() -> None:
    x = np.array([[0, 300, 600], [-60000, 0, 60000]], np.float32)
    for mode in MODES:
        agree("LogSoftmax", {"x": x}, 13, mode)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("mode", MODES)
def test_vector_of_norm_0_stays_0(p: int, mode: str) -> None:
    x = np.array([[0, 0, 0], [0, -2, 0]], np.float32)
    model = one_node_model("LpNormalization", {"x": x}, 13, p=p)
    assert compiled(model, {"x": x}, mode)["y0"].tolist() == [[0, 0, 0], [0, -1, 0]]


def test_norm_beyond_float16_does_not_overflow_between() -> None:
    x = np.full((1, 100), 60000, np.float32)
    model = one_node_model("LpNormalization", {"x": x}, 13, p=1)
    np.testing.assert_allclose(compiled(model, {"x": x}, "force_fp16")["y0"], 0.01, rtol=2**-10)


def _mean_variance(x: Array, axes: Sequence[int]) -> Array:
    """Return (x - mean) / (sqrt(mean of (x - mean)^2) + 1e-9), in double."""
    wide = x.astype(np.float64)
    centered = wide - wide.mean(axis=tuple(axes), keepdims=True)
    deviation = np.sqrt((centered * centered).mean(axis=tuple(axes), keepdims=True))
    result: Array = centered / (deviation + 1e-9)
    return result.astype(np.float32)


@given(
    st.lists(st.integers(1, 4), min_size=4, max_size=4),
    st.data(),
    st.sampled_from([9, 11, 13]),
    st.sampled_from(FLOATS),
    st.sampled_from(MODES),
)
def test_mean_variance_normalization(
    shape: list[int], data: st.DataObject, opset: int, dtype: str, mode: str
) -> None:
    axes: Sequence[int] = (0, 2, 3)
    attributes = {}
    if opset >= 13 or data.draw(st.booleans()):  # ONNX infers no type from its own default then
        axes = data.draw(st.lists(st.integers(0, 3), min_size=1, unique=True))
        attributes["axes"] = axes

    def oracle(feeds: Feeds) -> Sequence[Array]:
        return [_mean_variance(feeds["x"], axes)]

    x = numbers(1, shape, dtype)
    agree("MeanVarianceNormalization", {"x": x}, opset, mode, oracle, **attributes)


def test_mean_variance_normalization_agrees_with_onnxruntime() -> None:
    agree("MeanVarianceNormalization", {"x": numbers(2, (2, 3, 4, 5))}, 9, KEEP)


@pytest.mark.parametrize("mode", MODES)
def test_mean_variance_normalization_of_bfloat16(mode: str) -> None:
    x = numbers(3, (2, 3, 4), "bfloat16")

    def oracle(feeds: Feeds) -> Sequence[Array]:
        return [_mean_variance(feeds["x"], (-1,))]

    agree("MeanVarianceNormalization", {"x": x}, 13, mode, oracle, axes=[-1])


def test_constant_data_has_no_deviation() -> None:
    x = np.full((1, 2, 4, 4), 0.25, np.float32)
    model = one_node_model("MeanVarianceNormalization", {"x": x}, 9)
    np.testing.assert_array_equal(compiled(model, {"x": x})["y0"], 0 * x)
