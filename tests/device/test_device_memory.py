"""The memory plan: slots are shared where lifetimes allow, and only there."""

import tracemalloc
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from atc_py.device.sim.execution import launch, session
from atc_py.device.sim.execution.loading import build_program
from atc_py.device.sim.execution.program import SlotPlan
from atc_py.device.sim.kernel import Call, Kernel, Workspace
from atc_py.device.sim.memory.memory_budget import MemoryBudget
from atc_py.system.memory_limit import limited_memory
from atc_py.tensor.dtypes import DType
from tests.device.models import Array, ModelBuilder, random_array, run_operator


def plan(builder: ModelBuilder) -> SlotPlan:
    """Return the plan of a finished model."""
    return build_program(builder.build()).memory


def chain(builder: ModelBuilder, op: str, start: int, length: int) -> list[int]:
    """Return `length` nodes of `op` one after the other."""
    made = [start]
    shape = builder.tensors[start].shape
    perm = list(range(len(shape)))
    attributes = {"TransposeD": {"perm": perm}}.get(op, {})
    for _ in range(length):
        made += builder.node(op, [made[-1]], [("float16", shape)], attributes)
    return made[1:]


def test_chain_in_place_needs_one_slot() -> None:
    builder = ModelBuilder()
    values = chain(builder, "Relu", builder.input("x", "float16", [10]), 5)
    builder.output("y", values[-1])
    found = plan(builder)
    assert found.slots == (40,)  # float16 lives in float32
    assert set(found.slot_of.values()) == {0}


def test_chain_of_copies_needs_two_slots() -> None:
    builder = ModelBuilder()
    values = chain(builder, "TransposeD", builder.input("x", "float16", [10]), 5)
    builder.output("y", values[-1])
    assert plan(builder).slots == (40, 40)


def test_outputs_keep_their_slots() -> None:
    builder = ModelBuilder()
    values = chain(builder, "Relu", builder.input("x", "float16", [10]), 4)
    for value in values:
        builder.output(f"y{value}", value)
    assert len(plan(builder).slots) == 4


def test_value_read_later_is_not_reused() -> None:
    builder = ModelBuilder()
    first, second = chain(builder, "Relu", builder.input("x", "float16", [10]), 2)
    (third,) = builder.node("Add", [first, second], [("float16", [10])])
    builder.output("y", third)
    found = plan(builder)
    assert found.slot_of[first] != found.slot_of[second]
    assert found.slot_of[third] in {found.slot_of[first], found.slot_of[second]}


def test_alias_has_no_slot_and_hands_its_root_on() -> None:
    builder = ModelBuilder()
    (first,) = chain(builder, "Relu", builder.input("x", "float16", [10]), 1)
    (view,) = builder.node("Unsqueeze", [first], [("float16", [1, 10])], {"axes": [0]})
    (last,) = builder.node("Relu", [view], [("float16", [1, 10])])
    builder.output("y", last)
    found = plan(builder)
    assert view not in found.slot_of
    assert found.slot_of[last] == found.slot_of[first]


def test_free_slot_that_fits_best_is_taken() -> None:
    builder = ModelBuilder()
    x = builder.input("x", "float16", [100])
    small = builder.input("s", "float16", [10])
    (large_value,) = chain(builder, "Relu", x, 1)
    (small_value,) = chain(builder, "Relu", small, 1)
    (kept,) = builder.node("ConcatD", [large_value, small_value], [("float16", [110])], {
        "concat_dim": 0, "N": 2,
    })  # fmt: skip
    (again,) = chain(builder, "TransposeD", small, 1)
    builder.output("kept", kept)
    builder.output("again", again)
    found = plan(builder)
    assert found.slot_of[again] == found.slot_of[small_value]
    assert found.slots == (400, 40, 440)


def test_slot_that_is_too_small_grows() -> None:
    builder = ModelBuilder()
    small = builder.input("s", "float16", [10])
    large = builder.input("x", "float16", [100])
    dead = chain(builder, "Relu", small, 1)
    builder.output("y", chain(builder, "Relu", large, 1)[0])
    found = plan(builder)
    assert found.slots == (400,)
    assert found.slot_of[dead[0]] == 0


def test_scratch_of_one_name_is_returned_again_and_grows() -> None:
    workspace = Workspace()
    small = workspace.take("a", (4,), np.float32)
    assert np.shares_memory(small, workspace.take("a", (2, 2), np.int32))
    assert not np.shares_memory(small, workspace.take("b", (4,), np.float32))
    assert workspace.take("a", (5, 5), np.float64).shape == (5, 5)


def test_fed_arrays_count_and_what_is_left_is_for_scratch() -> None:
    builder = ModelBuilder()
    x = builder.input("x", "float16", [2**23])
    builder.output("y", chain(builder, "Relu", x, 1)[0])
    with limited_memory("160M"):
        room = MemoryBudget(build_program(builder.build()))
    assert room.planned == 2**23 * (2 + 4 + 4 + 2)  # fed, as carrier, result, returned
    assert room.scratch == 64 * 2**20
    with limited_memory("1G"):
        assert MemoryBudget(build_program(builder.build())).scratch == 2**30 - room.planned


def test_scratch_of_all_names_together_has_a_limit() -> None:
    workspace = Workspace(100)
    workspace.take("a", (60,), np.uint8)
    with pytest.raises(MemoryError, match="would take 110 bytes; the limit leaves 100 bytes"):
        workspace.take("b", (50,), np.uint8)
    workspace.take("a", (90,), np.uint8)


def test_scratch_of_each_thread_is_its_own() -> None:
    workspace = Workspace()
    mine = workspace.take("a", (4,), np.float32)
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(workspace.take, "a", (4,), np.float32).result()
    assert not np.shares_memory(mine, other)


SIDE = 256
X, FIRST = random_array(1, (SIDE, SIDE)), -np.ones((SIDE, SIDE), np.int32)
PAIRS, IMAGE = -np.ones((SIDE, SIDE, 2), np.int64), X.reshape(1, 1, SIDE, SIDE)
GRID, BOTH = random_array(2, (1, SIDE, SIDE, 2)), {"negative_index_support": True}
F32, I32, I64 = DType.FLOAT32, DType.INT32, DType.INT64
TEMPORARIES: dict[str, tuple[Sequence[Array | None], tuple[DType, list[int]], dict[str, Any]]] = {
    "Resize": (
        [X, None, None, np.array([SIDE, 2 * SIDE], np.int64)],
        (F32, [SIDE, 2 * SIDE]),
        {"mode": "linear", "coordinate_transformation_mode": "half_pixel"},
    ),
    "PadV3D": (
        [X],
        (F32, [SIDE + 2, SIDE + 2]),
        {"mode": "edge", "paddings": [1, 1, 1, 1]},
    ),
    "NonZero": ([X], (I64, [2, SIDE * SIDE]), {"transpose": True}),
    "GatherV2D": ([X[0], FIRST], (F32, [SIDE, SIDE]), {"axis": 0, **BOTH}),
    "GatherElements": ([X, FIRST], (F32, [SIDE, SIDE]), {"dim": 1}),
    "GatherNd": ([X, PAIRS], (F32, [SIDE, SIDE]), {"batch_dims": 0, **BOTH}),
    "TensorScatterUpdate": ([X, PAIRS, X], (F32, [SIDE, SIDE]), {}),
    "ScatterElements": ([X, FIRST, X], (F32, [SIDE, SIDE]), {"axis": 1, "reduction": "none"}),
    "ReverseSequence": ([X, 0 - FIRST[0]], (F32, [SIDE, SIDE]), {"batch_dim": 0, "seq_dim": 1}),
    "OneHotD": ([FIRST, X[0, :1], X[0, 1:2]], (F32, [SIDE, SIDE, 1]), {"axis": -1, "depth": 1}),
    "ArgMaxD": ([X], (I64, [SIDE]), {"dimension": 0}),
    "HardMax": ([X], (F32, [SIDE, SIDE]), {"axis": 0}),
    "MatrixDeterminant": ([X], (F32, []), {}),
    "RealDiv": ([FIRST, FIRST], (I32, [SIDE, SIDE]), {}),
    "GridSampler2D": ([IMAGE, GRID], (F32, [1, 1, SIDE, SIDE]), {}),
}


@pytest.mark.parametrize("op", TEMPORARIES)
def test_what_numpy_makes_for_a_moment_is_asked_for(
    op: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, taken = [0], [0]

    def compute(kernel: Kernel, call: Call) -> None:
        tracemalloc.start()
        launch.compute(kernel, call)
        taken.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()

    monkeypatch.setattr(session, "compute", compute)
    monkeypatch.setattr(Workspace, "require", lambda _self, nbytes, _what: asked.append(nbytes))
    inputs, output, attributes = TEMPORARIES[op]
    run_operator(op, inputs, [output], attributes, [3] if op == "Resize" else [])
    assert X.nbytes // 4 < max(taken) <= max(asked) + 2**14
