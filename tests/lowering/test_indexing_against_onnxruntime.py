"""Operators that pick, place or mark elements by index, against onnxruntime."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from atc_py.diag import AtcError
from atc_py.tensor.dtypes import DType
from tests.end_to_end import one_node_model
from tests.lowering.listed_forms import SHAPES, listed_forms
from tests.lowering.moved import agree_when_moved, elements, same_elements
from tests.lowering.reference import MODES, run_in_mode

Array = NDArray[Any]

SOLID = st.lists(st.integers(1, 4), min_size=1, max_size=4)
CONSTANT = st.booleans()


def form_of(op_type: str, position: int = 0) -> st.SearchStrategy[tuple[int, DType]]:
    """Return (opset, dtype) that are listed."""
    return st.sampled_from(listed_forms(op_type, position))


@st.composite
def indices_into(
    draw: st.DrawFn, shape: Sequence[int], extents: int | Sequence[int], opset: int
) -> Array:
    """Return int32 or int64 indices, as of opset 11 also from the end."""
    generator = np.random.default_rng(draw(st.integers(0, 2**16)))
    limits = np.broadcast_to(np.asarray(extents), shape)
    found = generator.integers(-limits if opset >= 11 else 0, limits, shape)
    return found.astype(draw(st.sampled_from([np.int32, np.int64])))


def given_as(indices: Array, name: str, *, constant: bool) -> dict[str, Any]:
    """Return indices as a constant or as a further input."""
    return {"constants" if constant else "others": {name: indices}}


@given(form_of("Gather"), SOLID, SHAPES, CONSTANT, st.data())
def test_gather(
    form: tuple[int, DType], shape: list[int], wanted: tuple[int, ...], constant: bool,
    data: st.DataObject,
) -> None:  # fmt: skip
    opset, dtype = form
    rank = len(shape)
    axis = data.draw(st.integers(-rank if opset >= 11 else 0, rank - 1))
    indices = data.draw(indices_into(wanted[:3], shape[axis], opset))
    x = data.draw(elements(dtype, shape))
    options = given_as(indices, "indices", constant=constant)
    agree_when_moved("Gather", {"x": x}, opset, axis=axis, **options)


@given(form_of("GatherElements"), SOLID, CONSTANT, st.data())
def test_gather_elements(
    form: tuple[int, DType], shape: list[int], constant: bool, data: st.DataObject
) -> None:
    opset, dtype = form
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    wanted = [data.draw(st.integers(1, extent)) for extent in shape]
    wanted[axis] = data.draw(st.integers(1, 5))
    indices = data.draw(indices_into(wanted, shape[axis], opset))
    x = data.draw(elements(dtype, shape))
    options = given_as(indices, "indices", constant=constant)
    agree_when_moved("GatherElements", {"x": x}, opset, axis=axis, relaxed=True, **options)


@given(form_of("GatherND"), SOLID, CONSTANT, st.data())
def test_gather_nd(
    form: tuple[int, DType], shape: list[int], constant: bool, data: st.DataObject
) -> None:
    opset, dtype = form
    batch = data.draw(st.integers(0, len(shape) - 1)) if opset >= 12 else 0
    length = data.draw(st.integers(1, len(shape) - batch))
    places = data.draw(st.lists(st.integers(1, 3), max_size=2))
    assume(batch or places or length < len(shape))  # onnx does not infer scalars
    reached = shape[batch : batch + length]
    indices = data.draw(indices_into([*shape[:batch], *places, length], reached, opset))
    x = data.draw(elements(dtype, shape))
    options = given_as(indices.astype(np.int64), "indices", constant=constant)
    if opset >= 12:
        options["batch_dims"] = batch
    agree_when_moved("GatherND", {"x": x}, opset, relaxed=True, **options)


@given(form_of("ScatterND"), SOLID, CONSTANT, st.data())
def test_scatter_nd(
    form: tuple[int, DType], shape: list[int], constant: bool, data: st.DataObject
) -> None:
    opset, dtype = form
    length = data.draw(st.integers(1, len(shape)))
    count = int(np.prod(shape[:length]))
    chosen = data.draw(st.permutations(range(count)))[: data.draw(st.integers(1, count))]
    tuples = np.stack(np.unravel_index(chosen, shape[:length]), axis=-1)
    if data.draw(st.booleans()):
        tuples = tuples - np.array(shape[:length])
    x = data.draw(elements(dtype, shape))
    updates = data.draw(elements(dtype, (len(chosen), *shape[length:])))
    options = given_as(tuples.astype(np.int64), "indices", constant=constant)
    order = ["x", "indices", "updates"]
    moved = {"x": x, "updates": updates}
    agree_when_moved("ScatterND", moved, opset, order=order, **options)


def test_scatter_nd_keeps_the_last_of_equal_tuples() -> None:
    x, indices = np.zeros(4, np.float32), np.array([[2], [1], [2], [-2]], np.int64)
    feeds: dict[str, Array] = {
        "x": x,
        "indices": indices,
        "updates": np.array([1, 2, 3, 4], np.float32),
    }
    found = run_in_mode(one_node_model("ScatterND", feeds, 11), feeds, MODES[0])
    same_elements(found, np.array([0, 2, 4, 0], np.float32))


def _one_hot(indices: Array, depth: int, values: Array, axis: int) -> Array:
    """Return ONNX's definition: whole numbers count, from either end."""
    whole = indices.astype(np.int64) if indices.dtype.kind == "f" else indices.astype(object)
    counted = np.where((whole < 0) & (whole >= -depth), whole + depth, whole)
    axis = axis % (indices.ndim + 1)
    steps = np.arange(depth).reshape([-1] + [1] * (indices.ndim - axis))
    return np.asarray(np.where(np.expand_dims(counted, axis) == steps, values[1], values[0]))


@given(form_of("OneHot"), form_of("OneHot", 2), SOLID, CONSTANT, st.data())
def test_one_hot(
    form: tuple[int, DType], values_form: tuple[int, DType], shape: list[int],
    constant: bool, data: st.DataObject,
) -> None:  # fmt: skip
    opset, dtype = form
    depth = data.draw(st.integers(1, 5))
    low = 0 if dtype.value.startswith("u") else -depth - 2
    generator = np.random.default_rng(data.draw(st.integers(0, 2**16)))
    indices = np.asarray(generator.integers(low, depth + 3, shape)).astype(dtype.numpy)
    if dtype.is_integer and data.draw(st.booleans()):
        limits = np.iinfo(dtype.numpy)
        indices = generator.integers(limits.min, limits.max, shape, dtype.numpy, endpoint=True)
    values = data.draw(elements(values_form[1], (2,)))
    axis = data.draw(st.integers(-1 - len(shape), len(shape)))
    wide = np.array(depth, np.int64)
    fixed = {"depth": wide, "values": values} if constant else {"depth": wide}
    feeds = {"indices": indices} if constant else {"indices": indices, "values": values}
    order = ["indices", "depth", "values"]
    model = one_node_model("OneHot", feeds, opset, constants=fixed, order=order, axis=axis)
    expected = _one_hot(indices, depth, values, axis)
    for mode in MODES:
        same_elements(run_in_mode(model, feeds, mode), expected)


def test_one_hot_of_large_float_indices_is_exact_in_float16() -> None:
    indices = np.array([2049.0, 4095.0, -1.0], np.float32)
    constants: dict[str, Array] = {
        "depth": np.array(4096, np.int64),
        "values": np.array([0, 1], np.float32),
    }
    model = one_node_model("OneHot", {"x": indices}, 13, constants=constants)
    found = run_in_mode(model, {"x": indices}, "force_fp16")
    assert found.argmax(axis=1).tolist() == [2049, 4095, 4095]


@given(form_of("ReverseSequence"), st.lists(st.integers(1, 4), min_size=2, max_size=4), st.data())
def test_reverse_sequence(form: tuple[int, DType], shape: list[int], data: st.DataObject) -> None:
    opset, dtype = form
    attributes: dict[str, Any] = data.draw(st.sampled_from([{}, {"batch_axis": 0, "time_axis": 1}]))
    batch, time = (shape[0], shape[1]) if attributes else (shape[1], shape[0])
    lengths = [data.draw(st.integers(1, time)) for _ in range(batch)]
    others = {"lengths": np.array(lengths, np.int64)}
    x = data.draw(elements(dtype, shape))
    agree_when_moved("ReverseSequence", {"x": x}, opset, others=others, **attributes)


@pytest.mark.parametrize("mode", MODES)
def test_gather_of_a_wrong_index_at_run_time_stops_the_run(mode: str) -> None:
    feeds: dict[str, Array] = {
        "x": np.zeros((3, 2), np.float32),
        "indices": np.array([0, 3], np.int64),
    }
    model = one_node_model("Gather", feeds, 13)
    with pytest.raises(AtcError, match="index 3 is outside an axis of 3"):
        run_in_mode(model, feeds, mode)
