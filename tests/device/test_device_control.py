"""Switch and Merge: what is alive in a run, what is computed, and whose memory is whose."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from atc_py.device.sim.backend import SimBackend
from atc_py.device.sim.execution.session import SimModel
from atc_py.diag import AtcError
from tests.device.models import ModelBuilder, run_model

Array = NDArray[Any]

X = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)
YES, NO = (np.array(flag) for flag in (True, False))
FOUR_WAYS = list(product([True, False], repeat=2))


class Branches(ModelBuilder):
    """A model with the table x, the conditions c and d, and helpers for nodes of one output."""

    def __init__(self) -> None:
        super().__init__()
        self.x = self.input("x", "float32", [2, 3])
        self.c = self.input("c", "bool", [])
        self.d = self.input("d", "bool", [])

    def one(self, op: str, *inputs: int, shape: Sequence[int | None] = (2, 3)) -> int:
        """Return a node with one float32 output."""
        return self.node(op, inputs, [("float32", shape)])[0]

    def switch(
        self, data: int, condition: int, shape: Sequence[int | None] = (2, 3)
    ) -> tuple[int, int]:
        """Return (false, true) of a Switch."""
        false, true = self.node("Switch", [data, condition], [("float32", shape)] * 2)
        return false, true


def run(builder: ModelBuilder, *, c: bool = True, d: bool = True) -> dict[str, Array]:
    """Return one run on a fresh device."""
    return run_model(builder.build(), {"x": X, "c": np.array(c), "d": np.array(d)})


@pytest.mark.parametrize("c", [True, False])
def test_one_way_is_taken(c: bool) -> None:
    builder = Branches()
    false, true = builder.switch(builder.x, builder.c)
    builder.output("y", builder.one("Merge", builder.one("Neg", false), builder.one("Exp", true)))
    np.testing.assert_allclose(run(builder, c=c)["y"], np.exp(X) if c else -X, rtol=1e-6)


@pytest.mark.parametrize("c", [True, False])
def test_in_place_kernels_of_both_branches_leave_the_captured_value_alone(c: bool) -> None:
    """Check views of one slot in both branches, which a node after them reads again."""
    builder = Branches()
    shared = builder.one("Neg", builder.x)
    false, true = builder.switch(shared, builder.c)
    left = builder.one("Abs", builder.one("Relu", false))
    right = builder.one("Neg", builder.one("Neg", true))
    merged = builder.one("Merge", left, right)
    builder.output("y", builder.one("Add", merged, shared))
    model = SimModel(builder.build())
    for turn in (c, not c, c):
        found = model.run({"x": X, "c": np.array(turn), "d": np.array(turn)})["y"]
        np.testing.assert_array_equal(found, (-X if turn else np.maximum(-X, 0)) - X)
    model.close()


def test_last_reader_of_a_captured_value_may_work_in_place() -> None:
    """Check that the slot is reused by one branch only, whichever runs."""
    builder = Branches()
    shared = builder.one("Exp", builder.x)
    false, true = builder.switch(shared, builder.c)
    left = builder.one("Neg", false)
    right = builder.one("Relu", builder.one("Neg", true))
    builder.output("y", builder.one("Merge", left, right))
    for c in (True, False):
        wanted = np.zeros((2, 3)) if c else -np.exp(X)
        np.testing.assert_allclose(run(builder, c=c)["y"], wanted, rtol=1e-6)


def test_returned_views_are_not_overwritten() -> None:
    """Check both ways of a Switch, one memory with its data; what is merged is a copy of it."""
    builder = Branches()
    shared = builder.one("Neg", builder.x)
    false, true = builder.switch(shared, builder.c)
    merged = builder.one("Merge", false, true)
    builder.output("changed", builder.one("Relu", shared))
    builder.output("y", merged)
    found = run(builder)
    np.testing.assert_array_equal(found["y"], -X)
    np.testing.assert_array_equal(found["changed"], np.maximum(-X, 0))


# What is dead -------------------------------------------------------------------------------------


def test_what_reads_a_dead_value_is_dead() -> None:
    """Check a chain and a live operand; the profile has every node, the dead at nothing."""
    builder = Branches()
    false, true = builder.switch(builder.x, builder.c)
    dead = builder.one("Exp", builder.one("Neg", false))
    beside = builder.one("Add", dead, builder.x)
    builder.output("y", builder.one("Merge", beside, builder.one("Abs", true)))
    device = SimBackend()
    device.open()
    handle = device.load(builder.build())
    found = device.run(handle, {"x": X, "c": YES, "d": YES})
    np.testing.assert_array_equal(found["y"], np.abs(X))
    cost = {row.op: row.output_bytes for row in device.profile(handle)}
    device.close()
    assert len(cost) == len(builder.nodes)
    assert [op for op, nbytes in cost.items() if not nbytes] == ["Neg", "Exp", "Add"]
    assert cost["Switch"] == X.nbytes


@pytest.mark.parametrize(("c", "d"), FOUR_WAYS)
def test_switch_of_a_dead_value_is_dead_both_ways(c: bool, d: bool) -> None:
    builder = Branches()
    false, true = builder.switch(builder.x, builder.c)
    deep_false, deep_true = builder.switch(true, builder.d)
    inner = builder.one("Merge", builder.one("Neg", deep_false), builder.one("Exp", deep_true))
    builder.output("y", builder.one("Merge", builder.one("Abs", false), inner))
    wanted = (np.exp(X) if d else -X) if c else np.abs(X)
    np.testing.assert_allclose(run(builder, c=c, d=d)["y"], wanted, rtol=1e-6)


@pytest.mark.parametrize("c", [True, False])
def test_switch_by_a_dead_condition_is_dead_both_ways(c: bool) -> None:
    builder = Branches()
    false, _ = builder.switch(builder.x, builder.c)
    _, condition = builder.node("Switch", [builder.d, builder.c], [("bool", [])] * 2)
    inner = builder.one("Merge", *builder.switch(builder.x, condition))
    builder.output("y", builder.one("Merge", builder.one("Neg", false), inner))
    np.testing.assert_array_equal(run(builder, c=c)["y"], X if c else -X)


def test_merge_of_dead_values_is_dead_and_an_output_of_it_is_missed() -> None:
    builder = Branches()
    false, true = builder.switch(builder.x, builder.c)
    negated = builder.one("Neg", true)
    merged = builder.one("Merge", negated, negated)
    builder.output("y", builder.one("Abs", merged))
    builder.output("other", builder.one("Merge", false, true))
    with pytest.raises(AtcError, match="nothing computed the output 'y'") as caught:
        run(builder, c=False)
    assert caught.value.diagnostics[0].code.name == "device-run-failed"
    np.testing.assert_array_equal(run(builder, c=True)["y"], np.abs(X))


def test_kernel_that_would_fail_does_not_run_on_dead_data() -> None:
    builder = Branches()
    count = builder.input("count", "int64", [1])
    false, true = builder.switch(builder.x, builder.c)
    (broken,) = builder.node("Reshape", [true, count], [("float32", [None])])
    (flat,) = builder.node("Reshape", [false, builder.constant(np.array([6]))], [("float32", [6])])
    builder.output("y", builder.one("Merge", flat, broken, shape=[None]))
    feeds = {"x": X, "d": YES, "count": np.array([5])}
    model = builder.build()
    found = run_model(model, {**feeds, "c": NO})["y"]
    np.testing.assert_array_equal(found, X.reshape(-1))
    with pytest.raises(AtcError, match="cannot be reshaped"):
        run_model(model, {**feeds, "c": YES})


# Types --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right"), [([2, 3], [3, 2]), ([2, 3], [2, None]), ([0, 3], [4, 3])]
)
def test_merge_of_other_dims_is_as_what_is_alive(
    left: list[int | None], right: list[int | None]
) -> None:
    builder = Branches()
    shapes = [[extent if extent is not None else 3 for extent in each] for each in (left, right)]
    a, b = (builder.constant(np.full(shape, at, np.float32)) for at, shape in enumerate(shapes))
    ways = builder.switch(a, builder.c, left)[0], builder.switch(b, builder.c, right)[1]
    dims = [x if x == y else None for x, y in zip(left, right, strict=True)]
    builder.output("y", builder.one("Merge", *ways, shape=dims))
    for c in (True, False):
        found = run(builder, c=c)["y"]
        np.testing.assert_array_equal(found, np.full(shapes[c], int(c), np.float32))


def test_merge_is_held_to_what_it_declares() -> None:
    builder = Branches()
    a = builder.constant(np.ones((2, 3), np.float32))
    b = builder.constant(np.ones((4, 3), np.float32))
    ways = builder.switch(a, builder.c)[0], builder.switch(b, builder.c, [4, 3])[1]
    builder.output("y", builder.one("Merge", *ways, shape=[2, 3]))
    with pytest.raises(AtcError) as caught:
        run(builder, c=True)
    assert caught.value.diagnostics[0].code.name == "offline-model-content"


@pytest.mark.parametrize(
    ("condition", "part"), [(("bool", [2]), "one truth value"), (("int64", []), "one truth value")]
)
def test_condition_is_one_truth_value(condition: tuple[str, list[int]], part: str) -> None:
    builder = Branches()
    wrong = builder.input("wrong", *condition)
    builder.output("y", builder.one("Merge", *builder.switch(builder.x, wrong)))
    with pytest.raises(AtcError, match=part) as caught:
        run(builder)
    assert caught.value.diagnostics[0].code.name == "offline-model-content"


@pytest.mark.parametrize("count", [1, 2, 0])
def test_open_condition_is_looked_at_in_the_run(count: int) -> None:
    builder = Branches()
    ends = builder.input("ends", "int64", [1])
    flags = builder.input("flags", "bool", [2])
    zero = builder.constant(np.zeros(1, np.int64))
    (some,) = builder.node("StridedSliceV2", [flags, zero, ends], [("bool", [None])])
    false, true = builder.switch(builder.x, some)
    builder.output("y", builder.one("Merge", builder.one("Neg", false), true))
    feeds = {
        "x": X, "c": YES, "d": YES,
        "flags": np.array([False, True]), "ends": np.array([count]),
    }  # fmt: skip
    if count == 1:
        np.testing.assert_array_equal(run_model(builder.build(), feeds)["y"], -X)
        return
    with pytest.raises(AtcError, match="one truth value") as caught:
        run_model(builder.build(), feeds)
    assert caught.value.diagnostics[0].code.name == "device-run-failed"


@pytest.mark.parametrize(
    ("other", "part"), [(("int32", [2, 3]), "same dtype"), (("float32", [6]), "same rank")]
)
def test_merge_needs_one_dtype_and_one_rank(other: tuple[str, list[int]], part: str) -> None:
    builder = Branches()
    wrong = builder.input("wrong", *other)
    builder.output("y", builder.one("Merge", builder.x, wrong))
    with pytest.raises(AtcError, match=part) as caught:
        run(builder)
    assert caught.value.diagnostics[0].code.name == "offline-model-content"


def test_hundred_ifs_in_a_row_run_many_times() -> None:
    """Check Ifs that add 1 or take 2 away, in turns by one condition and another."""
    builder = Branches()
    one, two = (builder.constant(np.array([n], np.float32)) for n in (1, 2))
    value = builder.x
    for turn in range(100):
        false, true = builder.switch(value, builder.d if turn % 2 else builder.c)
        value = builder.one("Merge", builder.one("Sub", false, two), builder.one("Add", true, one))
    builder.output("y", value)
    model = SimModel(builder.build())
    for c, d in FOUR_WAYS:
        found = model.run({"x": X, "c": np.array(c), "d": np.array(d)})["y"]
        np.testing.assert_array_equal(found, X + 50 * (1 if c else -2) + 50 * (1 if d else -2))
    model.close()
