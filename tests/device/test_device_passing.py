"""Constants of large models pass through memory; results are those of constants that are kept."""

from itertools import pairwise

import numpy as np
import pytest

from atc_py.device.sim.execution.session import SimModel
from atc_py.device.sim.memory import memory_budget
from tests.device.models import Array, MemoryModel, ModelBuilder

WIDTH = 96
PRODUCTS = 4


def weights(generator: np.random.Generator, *shape: int) -> Array:
    return generator.standard_normal(shape).astype(np.float16)


def products() -> MemoryModel:
    """Return products whose weights pass one after the other, and a constant read again."""
    generator = np.random.default_rng(7)
    builder = ModelBuilder()
    value = builder.input("x", "float16", [3, WIDTH])
    shape = ("float16", [3, WIDTH])
    attributes = {"transpose_x1": False, "transpose_x2": False}
    matrices = [builder.constant(weights(generator, WIDTH, WIDTH)) for _ in range(PRODUCTS)]
    for matrix in [*matrices, matrices[0]]:
        (value,) = builder.node("MatMulV2", [value, matrix], [shape], attributes)
        (value,) = builder.node("Tanh", [value], [shape])
    both = ("float16", [WIDTH, WIDTH])
    (product,) = builder.node("MatMulV2", matrices[:2], [both], attributes)
    (square,) = builder.node("MatMulV2", [matrices[2]] * 2, [both], attributes)
    (flat,) = builder.node("Flatten", [matrices[3]], [both], {"axis": 1})
    for name, tensor in (("y", value), ("product", product), ("square", square), ("flat", flat)):
        builder.output(name, tensor)
    return builder.build()


def integer_products() -> MemoryModel:
    """Return products of int8, whose float32 forms are kept where the weights are."""
    generator = np.random.default_rng(8)
    builder = ModelBuilder()
    x = builder.input("x", "int8", [3, WIDTH])
    attributes = {"transpose_x1": False, "transpose_x2": False}
    for number in range(PRODUCTS):
        matrix = builder.constant(generator.integers(-127, 127, (WIDTH, WIDTH)).astype(np.int8))
        (y,) = builder.node("MatMulV2", [x, matrix], [("int32", [3, WIDTH])], attributes)
        builder.output(f"y{number}", y)
    return builder.build()


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every constant that may pass do so."""
    monkeypatch.setattr(memory_budget, "HELD_WHOLE", 0)
    monkeypatch.setattr(memory_budget, "HELD_OF_LARGE", 0)


@pytest.mark.parametrize("model", [products(), integer_products()])
def test_results_are_those_of_kept_constants(
    model: MemoryModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = np.random.default_rng(9)
    dtype = model.description.tensors[model.description.inputs[0].tensor].dtype
    feeds = [{"x": (8 * generator.standard_normal((3, WIDTH))).astype(dtype)} for _ in range(3)]
    kept = SimModel(model)
    wanted = [kept.run(feed) for feed in feeds]
    monkeypatch.setattr(memory_budget, "HELD_WHOLE", 0)
    monkeypatch.setattr(memory_budget, "HELD_OF_LARGE", 0)
    passed = SimModel(model)
    for feed, expected in zip(feeds, wanted, strict=True):
        found = passed.run(feed)
        for name, array in expected.items():
            np.testing.assert_array_equal(found[name], array)
    kept.close()
    passed.close()


@pytest.mark.usefixtures("small_limits")
def test_constants_of_one_step_have_slots_of_their_own() -> None:
    program = SimModel(products())._program
    slots = memory_budget.passing_slots(program)
    assert slots
    for step in program.steps:
        used = [slots[tensor] for tensor in {*step.inputs} if tensor in slots]
        assert len(used) == len(set(used))
    assert len(memory_budget.slot_sizes(program, slots)) == 2


def test_passing_constants_share_their_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    planned = []
    for limit in (memory_budget.HELD_WHOLE, 0):
        monkeypatch.setattr(memory_budget, "HELD_WHOLE", limit)
        monkeypatch.setattr(memory_budget, "HELD_OF_LARGE", limit)
        planned.append(SimModel(products()).room.planned)
    more, less = planned
    carrier = 4 * WIDTH * WIDTH
    assert more - less == (PRODUCTS - 1 - 2) * carrier  # the one seen through a view stays
    assert [low < high for high, low in pairwise(planned)] == [True]


def test_smallest_constants_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_budget, "HELD_WHOLE", 0)
    monkeypatch.setattr(memory_budget, "HELD_OF_LARGE", 3 * 4 * WIDTH * WIDTH)
    assert len(memory_budget.passing_slots(SimModel(products())._program)) == 1
