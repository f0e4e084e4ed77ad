"""Nodes of one scope are one launch; what does not fit together is launched node by node."""

import msgspec
import numpy as np
import pytest

from atc_py.device.sim.execution.session import SimModel
from tests.device.models import Array, MemoryModel, ModelBuilder

SHAPE = [3, 70, 33]


def _model(scopes: list[int], ops: tuple[str, ...] = ("Mul", "Tanh", "Add")) -> MemoryModel:
    """Return three nodes in a row, the outer ones of x and y, in float16."""
    builder = ModelBuilder()
    x, y = (builder.input(name, "float16", SHAPE) for name in ("x", "y"))
    types = [("float16", SHAPE)]
    (first,) = builder.node(ops[0], [x, y], types)
    (second,) = builder.node(ops[1], [first], types)
    (third,) = builder.node(ops[2], [x, second], types)
    builder.output("z", third)
    built = builder.build()
    nodes = [
        msgspec.structs.replace(node, scope=scope)
        for node, scope in zip(built.description.nodes, scopes, strict=True)
    ]
    return MemoryModel(msgspec.structs.replace(built.description, nodes=nodes), built.arrays)


def _run(model: MemoryModel, *, merged: bool = True) -> tuple[Array, list[str], list[int]]:
    """Return the result, the launches, and the tensors that an observer saw."""
    device = SimModel(model, merged=merged)
    made = np.random.default_rng(2)
    feeds = {name: made.normal(size=SHAPE).astype(np.float16) for name in ("x", "y")}
    seen: list[int] = []
    for _ in range(2):  # the second run has its memory from the first
        seen.clear()
        found = device.run(feeds, lambda tensor, _array: seen.append(tensor))["z"]
    launches = [row.op for row in device.profile]
    device.close()
    return found, launches, seen


@pytest.mark.parametrize(
    ("scopes", "launches"),
    [
        ([0, 0, 0], ["Mul", "Tanh", "Add"]),
        ([1, 1, 1], ["Mul+Tanh+Add"]),
        ([1, 1, 0], ["Mul+Tanh", "Add"]),
        ([0, 2, 2], ["Mul", "Tanh+Add"]),
    ],
)
def test_scope_is_one_launch_with_the_same_bits(scopes: list[int], launches: list[str]) -> None:
    found, made, _ = _run(_model(scopes))
    assert made == launches
    wanted, _, _ = _run(_model([0, 0, 0]))
    assert found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("op", ["Maximum", "RealDiv", "Pow"])
def test_node_that_is_alone_in_its_scope_is_rounded(op: str) -> None:
    found, made, _ = _run(_model([1, 0, 0], (op, "Tanh", "Add")))
    assert made[0] == op
    wanted, _, _ = _run(_model([0, 0, 0], (op, "Tanh", "Add")))
    assert found.tobytes() == wanted.tobytes()


def test_scope_whose_nodes_do_not_follow_one_another_is_launched_apart() -> None:
    found, launches, _ = _run(_model([1, 0, 1]))
    assert launches == ["Mul", "Tanh", "Add"]
    assert found.tobytes() == _run(_model([0, 0, 0]))[0].tobytes()


def test_scope_with_what_is_no_function_of_each_element_is_launched_apart() -> None:
    _, launches, _ = _run(_model([1, 1, 1], ("Mul", "SoftmaxV2", "Add")))
    assert launches == ["Mul", "SoftmaxV2", "Add"]


def test_observer_sees_every_node_where_launches_are_not_merged() -> None:
    assert len(_run(_model([1, 1, 1]))[2]) == 1
    found, launches, seen = _run(_model([1, 1, 1]), merged=False)
    assert len(launches) == len(seen) == 3
    assert found.tobytes() == _run(_model([1, 1, 1]))[0].tobytes()


def test_repeated_operand_is_read_anew_in_every_run() -> None:
    """Check a tensor that is stored where it was before, so the first run's launch is used again."""
    builder = ModelBuilder()
    x, w, m = (
        builder.input(name, "float16", shape)
        for name, shape in (("x", [2, 3, 8, 8]), ("w", [2, 3, 8, 8]), ("m", [1, 1, 8, 8]))
    )
    (mask,) = builder.node("Neg", [m], [("float16", [1, 1, 8, 8])])
    (product,) = builder.node("BatchMatMulV2", [x, w], [("float16", [2, 3, 8, 8])])
    (y,) = builder.node("Add", [product, mask], [("float16", [2, 3, 8, 8])])
    builder.output("y", y)
    built = builder.build()
    nodes = [msgspec.structs.replace(node, scope=1) for node in built.description.nodes[1:]]
    nodes.insert(0, built.description.nodes[0])
    model = MemoryModel(msgspec.structs.replace(built.description, nodes=nodes), built.arrays)
    device, results = SimModel(model), []
    for number in (1, 2):
        zeros = np.zeros((2, 3, 8, 8), np.float16)
        mask_of_run = np.full((1, 1, 8, 8), number, np.float16)
        results.append(device.run({"x": zeros, "w": zeros, "m": mask_of_run})["y"])
    device.close()
    assert [set(found.reshape(-1).tolist()) for found in results] == [{-1.0}, {-2.0}]


def test_result_that_is_also_an_output_ends_a_step() -> None:
    model = _model([1, 1, 1])
    (output,), (inside,) = model.description.outputs, model.description.nodes[1].outputs
    outputs = [output, msgspec.structs.replace(output, name="inside", tensor=inside)]
    both = MemoryModel(msgspec.structs.replace(model.description, outputs=outputs), model.arrays)
    found, launches, _ = _run(both)
    assert launches == ["Mul+Tanh", "Add"]
    assert found.tobytes() == _run(model)[0].tobytes()
