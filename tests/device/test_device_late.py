"""Nodes whose types only the run knows: typed in the run, held to what the model declares."""

import tracemalloc
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from atc_py.device.sim.backend import SimBackend
from atc_py.device.sim.execution.loading import build_program
from atc_py.device.sim.execution.session import SimModel
from atc_py.diag import AtcError
from tests.device.models import ModelBuilder, run_model

Array = NDArray[Any]


def reshaping(declared: Sequence[int | None]) -> ModelBuilder:
    """Reshape of x [2, 6] by two numbers that are fed."""
    builder = ModelBuilder()
    x, shape = builder.input("x", "float32", [2, 6]), builder.input("shape", "int64", [2])
    (y,) = builder.node("Reshape", [x, shape], [("float32", declared)])
    builder.output("y", y)
    return builder


def table(*shape: int) -> Array:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def fed(*numbers: int) -> dict[str, Array]:
    return {"x": table(2, 6), "shape": np.array(numbers)}


def failure(builder: ModelBuilder, inputs: Mapping[str, Array]) -> str:
    """Return the message of a run that must fail at the last node."""
    with pytest.raises(AtcError) as caught:
        run_model(builder.build(), inputs)
    (found,) = caught.value.diagnostics
    assert found.code.name == "device-run-failed"
    assert found.place is not None
    assert found.place.node_name == builder.nodes[-1].name
    return found.message


# What the model declares --------------------------------------------------------------------------


@pytest.mark.parametrize("declared", [(None, None), (None, 3), (4, None), (4, 3)])
def test_declared_dims_admit_what_fits(declared: Sequence[int | None]) -> None:
    found = run_model(reshaping(declared).build(), fed(4, 3))["y"]
    np.testing.assert_array_equal(found, table(4, 3))


@pytest.mark.parametrize("declared", [(None, 4), (5, None), (3, 4)])
def test_declared_dims_refuse_what_does_not_fit(declared: Sequence[int | None]) -> None:
    message = failure(reshaping(declared), fed(4, 3))
    assert "4x3" in message
    assert "declares" in message


COMPUTED: dict[str, tuple[list[int], list[tuple[str, list[int | None]]], dict[str, Any]]] = {
    "Tile": ([1, 2], [("float32", [2, 6])], {}),
    "PadV3": ([0, 0, 1, 0], [("float32", [2, 6])], {"mode": "constant"}),
    "ReduceSum": ([1], [("float32", [6])], {"keep_dims": False}),
    "SqueezeV3": ([0], [("float32", [2, None])], {}),
}


@pytest.mark.parametrize("op", COMPUTED)
def test_known_dims_are_held_to_numbers_of_the_run(op: str) -> None:
    numbers, outputs, attributes = COMPUTED[op]
    builder = ModelBuilder()
    shape = [1, 12] if op == "SqueezeV3" else [2, 6]
    x = builder.input("x", "float32", shape)
    given = builder.input("numbers", "int64", [len(numbers)])
    (y,) = builder.node(op, [x, given], outputs, attributes)
    builder.output("y", y)
    message = failure(builder, {"x": table(*shape), "numbers": np.array(numbers)})
    assert "the model declares" in message


def test_other_rank_than_declared_is_refused() -> None:
    builder = ModelBuilder()
    x, axes = builder.input("x", "float32", [1, 1, 3]), builder.input("axes", "int64", [2])
    (y,) = builder.node("SqueezeV3", [x, axes], [("float32", [None, None])])
    builder.output("y", y)
    assert "3" in failure(builder, {"x": table(1, 1, 3), "axes": np.array([0, 1])})


@pytest.mark.parametrize("declared", [[1, 2], [None, 5]])
def test_found_positions_are_held_to_declared_dims(declared: list[int | None]) -> None:
    """Check 1x3 results: the kernel makes its result before anyone knows its dims."""
    builder = ModelBuilder()
    x = builder.input("x", "float32", [4])
    attributes: dict[str, Any] = {"transpose": True, "dtype": "int64"}
    (y,) = builder.node("NonZero", [x], [("int64", declared)], attributes)
    builder.output("y", y)
    assert "model" in failure(builder, {"x": np.array([1, 0, 1, 1], np.float32)})


def test_dtype_that_the_kernel_does_not_make_is_refused() -> None:
    builder = reshaping([None, None])
    builder.tensors[-1] = type(builder.tensors[-1])("t", "int32", [None, None], "ND", None)
    with pytest.raises(AtcError, match="int32"):
        run_model(builder.build(), fed(4, 3))


# Data that do not fit -----------------------------------------------------------------------------


def test_operands_that_do_not_broadcast_stop_the_run() -> None:
    builder = reshaping([None, None])
    other = builder.input("other", "float32", [4, 3])
    (total,) = builder.node("Add", [2, other], [("float32", [4, 3])])
    builder.output("total", total)
    assert "do not broadcast" in failure(builder, {**fed(3, 4), "other": table(4, 3)})
    found = run_model(builder.build(), {**fed(4, 3), "other": table(4, 3)})
    np.testing.assert_array_equal(found["total"], 2 * table(4, 3))


def test_operands_of_known_dims_that_do_not_broadcast_are_refused_before_the_run() -> None:
    builder = ModelBuilder()
    x, other = builder.input("x", "float32", [2, 4]), builder.input("other", "float32", [3, 4])
    (total,) = builder.node("Add", [x, other], [("float32", [None, 4])])
    builder.output("total", total)
    with pytest.raises(AtcError, match="ATC5004: shapes 2x4 and 3x4 do not broadcast"):
        build_program(builder.build())


LASTING: dict[
    str, tuple[str, list[str], list[tuple[str, list[int | None]]], dict[str, Any], str]
] = {
    "lengths": (
        "Reshape",
        ["float32", "float32"],
        [("float32", [None, None])],
        {},
        "input 1 must hold integers",
    ),
    "indices": (
        "OneHot",
        ["bool", "int64", "float32", "float32"],
        [("float32", [None, None])],
        {"axis": -1},
        "indices must be integers",
    ),
    "axes": (
        "OneHot",
        ["int64", "int64", "float32", "float32"],
        [("float32", [None, None])],
        {"axis": 4},
        "axis must be in \\[-2, 1\\], found 4",
    ),
}


@pytest.mark.parametrize("case", LASTING)
def test_what_fits_no_run_is_refused_before_it(case: str) -> None:
    op, dtypes, outputs, attributes, words = LASTING[case]
    builder = ModelBuilder()
    inputs = [builder.input(f"x{at}", dtype, [None]) for at, dtype in enumerate(dtypes)]
    (y,) = builder.node(op, inputs, outputs, attributes)
    builder.output("y", y)
    with pytest.raises(AtcError, match=f"ATC5004: .*{words}"):
        build_program(builder.build())


def test_one_model_runs_on_after_a_failure() -> None:
    model = SimModel(reshaping([None, 3]).build())
    for numbers in ((4, 3), (3, 4), (-1, 3), (5, 5), (4, 3)):
        if numbers[1] != 3:
            with pytest.raises(AtcError):
                model.run(fed(*numbers))
        else:
            np.testing.assert_array_equal(model.run(fed(*numbers))["y"], table(4, 3))
    model.close()


# Many runs, memory --------------------------------------------------------------------------------


def grown(builder: ModelBuilder) -> int:
    """Return a float16 table [4, 4] cut to what is fed."""
    x, ends = builder.input("x", "float16", [4, 4]), builder.input("ends", "int64", [2])
    starts = builder.constant(np.zeros(2, np.int64))
    (y,) = builder.node("StridedSliceV2", [x, starts, ends], [("float16", [None, None])])
    return y


def test_runs_do_not_see_each_other() -> None:
    """Check that returned results stay as they are, and so does what was fed."""
    builder = ModelBuilder()
    y = grown(builder)
    (doubled,) = builder.node("Add", [y, y], [("float16", [None, None])])
    (positive,) = builder.node("Relu", [doubled], [("float16", [None, None])])
    builder.output("cut", y)
    builder.output("y", positive)
    model = SimModel(builder.build())
    random = np.random.default_rng(0)
    kept: list[tuple[Array, Array, Array, Array]] = []
    for shape in ((4, 4), (1, 3), (0, 2), (4, 4), (2, 1)):
        x = random.integers(-9, 9, (4, 4)).astype(np.float16)
        found = model.run({"x": x, "ends": np.array(shape)})
        kept.append((x, x.copy(), found["cut"], found["y"]))
    for (x, same, part, result), shape in zip(
        kept, ((4, 4), (1, 3), (0, 2), (4, 4), (2, 1)), strict=True
    ):
        np.testing.assert_array_equal(x, same)
        np.testing.assert_array_equal(part, x[: shape[0], : shape[1]])
        np.testing.assert_array_equal(result, np.maximum(2 * part, 0))
        assert result.dtype == np.float16
    model.close()


def test_late_results_are_rounded_to_their_dtype() -> None:
    """Check 1 / 3 in float16 times 3: the product of rounded numbers, rounded."""
    builder = ModelBuilder()
    y = grown(builder)
    three = builder.constant(np.full(1, 3, np.float16))
    (third,) = builder.node("RealDiv", [y, three], [("float16", [None, None])])
    (whole,) = builder.node("Mul", [third, three], [("float16", [None, None])])
    builder.output("y", whole)
    x = np.arange(16, dtype=np.float16).reshape(4, 4)
    found = run_model(builder.build(), {"x": x, "ends": np.array([4, 4])})["y"]
    np.testing.assert_array_equal(found, x / np.float16(3) * np.float16(3))


def test_views_of_slots_keep_them_while_they_are_read() -> None:
    """Check a late Reshape, the memory of a value in a slot, which is read again after it."""
    builder = ModelBuilder()
    x, shape = builder.input("x", "float32", [2, 6]), builder.input("shape", "int64", [2])
    (first,) = builder.node("Neg", [x], [("float32", [2, 6])])
    (view,) = builder.node("Reshape", [first, shape], [("float32", [None, None])])
    (second,) = builder.node("Relu", [first], [("float32", [2, 6])])
    (third,) = builder.node("Exp", [second], [("float32", [2, 6])])
    (late,) = builder.node("Abs", [view], [("float32", [None, None])])
    for name, tensor in (("view", view), ("third", third), ("late", late)):
        builder.output(name, tensor)
    found = run_model(builder.build(), fed(4, 3))
    np.testing.assert_array_equal(found["view"], -table(4, 3))
    np.testing.assert_array_equal(found["late"], table(4, 3))
    np.testing.assert_array_equal(found["third"], np.ones((2, 6), np.float32))


def test_known_results_after_open_ones_share_slots() -> None:
    """Check reductions of an open table to one known dim: each takes a slot that became free."""
    builder = ModelBuilder()
    y = grown(builder)
    attributes: dict[str, Any] = {"axes": [0, 1], "keep_dims": False}
    (total,) = builder.node("ReduceSumD", [y], [("float16", [])], attributes)
    made = [total]
    for _ in range(5):
        made += builder.node("Neg", [made[-1]], [("float16", [])])
    builder.output("y", made[-1])
    assert len(build_program(builder.build()).memory.slots) == 1
    x = np.ones((4, 4), np.float16)
    for rows in (4, 2, 0):
        found = run_model(builder.build(), {"x": x, "ends": np.array([rows, 3])})["y"]
        assert found == -3 * rows


def test_thousand_late_nodes_hold_few_results_at_a_time() -> None:
    builder = ModelBuilder()
    size = 1 << 16
    x, shape = builder.input("x", "float32", [size]), builder.input("shape", "int64", [1])
    (value,) = builder.node("Reshape", [x, shape], [("float32", [None])])
    for _ in range(1000):
        (value,) = builder.node("Neg", [value], [("float32", [None])])
    builder.output("y", value)
    device = SimBackend()
    device.open()
    handle = device.load(builder.build())
    array = np.arange(size, dtype=np.float32)
    device.run(handle, {"x": array, "shape": np.array([size])})
    tracemalloc.start()
    found = device.run(handle, {"x": array, "shape": np.array([-1])})["y"]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    device.close()
    np.testing.assert_array_equal(found, array)
    assert peak < 16 * array.nbytes


def test_last_late_values_are_freed_with_the_run() -> None:
    """Check that a step frees tensors nobody reads after it: none twice, no output among them."""
    builder = ModelBuilder()
    y = grown(builder)
    (a,) = builder.node("Neg", [y], [("float16", [None, None])])
    (b,) = builder.node("Add", [a, y], [("float16", [None, None])])
    (unused,) = builder.node("Abs", [y], [("float16", [None, None])])
    builder.output("b", b)
    steps = build_program(builder.build()).steps
    freed = [tensor for step in steps for tensor in step.frees]
    assert len(freed) == len(set(freed))
    assert {y, a, unused} <= set(freed)
    assert b not in freed
    assert y in steps[-1].frees
