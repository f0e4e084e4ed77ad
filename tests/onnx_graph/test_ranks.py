"""Ranks that inputs tell where onnx's inference does not."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from atc_py.diag.codes import UNKNOWN_SHAPE
from atc_py.onnx_graph.source import SourceTensor
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import MAX_RANK
from tests.onnx_graph.onnx_files import FLOAT, INT64, fails, model, source

Dims = tuple[int | None, ...]


def of_x(
    op_type: str, shape: list[int], count: int, opset: int = 13, **attributes: Any
) -> onnx.ModelProto:
    """Return one operator on x and `count` numbers that are fed."""
    node = helper.make_node(op_type, ["x", "numbers"], ["y"], **attributes)
    inputs = {"x": (FLOAT, shape), "numbers": (INT64, [count])}
    return model([node], inputs, ["y"], opsets={"": opset})


def result(proto: onnx.ModelProto, folder: Path) -> SourceTensor:
    """Return the only output."""
    (value,) = source(proto, folder).outputs
    return value


@pytest.mark.parametrize(
    ("op_type", "shape", "count", "attributes", "rank"),
    [
        ("Reshape", [2, 3], 4, {}, 4),
        ("Reshape", [1, 1], 0, {}, 0),
        ("Reshape", [], 1, {}, 1),
        ("Expand", [2, 3], 1, {}, 2),
        ("Expand", [2, 3], 4, {}, 4),
        ("Squeeze", [1, 2, 1], 2, {}, 1),
        ("Squeeze", [1], 1, {}, 0),
        ("Unsqueeze", [2, 3], 2, {}, 4),
        ("Unsqueeze", [], 1, {}, 1),
        ("ReduceSum", [2, 3, 4], 2, {"keepdims": 0}, 1),
        ("ReduceSum", [2, 3, 4], 2, {"keepdims": 1}, 3),
        ("ReduceSum", [2, 3, 4], 2, {}, 3),
        ("ReduceSum", [2, 3, 4], 0, {"keepdims": 0}, 0),
        ("ReduceSum", [2, 3, 4], 0, {"keepdims": 1}, 3),
        ("ReduceSum", [2, 3, 4], 0, {"keepdims": 0, "noop_with_empty_axes": 1}, 3),
    ],
)
def test_rank_follows_from_how_many_numbers_there_are(
    op_type: str,
    shape: list[int],
    count: int,
    attributes: dict[str, Any],
    rank: int,
    tmp_path: Path,
) -> None:
    found = result(of_x(op_type, shape, count, **attributes), tmp_path)
    assert (found.dtype, found.rank) == (DType.FLOAT32, rank)
    known = [dim for dim in found.required_dims if dim is not None]
    assert all(dim in {*shape, 1} for dim in known)


def test_ranks_are_inferred_one_after_the_other(tmp_path: Path) -> None:
    """Check that each is known only when the one before it is."""
    nodes = [
        helper.make_node("Reshape", ["x", "three"], ["a"]),
        helper.make_node("Squeeze", ["a", "one"], ["b"]),
        helper.make_node("Relu", ["b"], ["c"]),
        helper.make_node("Unsqueeze", ["c", "two"], ["d"]),
        helper.make_node("ReduceSum", ["d", "one"], ["e"], keepdims=0),
        helper.make_node("Expand", ["e", "four"], ["f"]),
        helper.make_node("Shape", ["f"], ["y"]),
    ]
    counts = {"one": 1, "two": 2, "three": 3, "four": 4}
    inputs: dict[str, Any] = {name: (INT64, [count]) for name, count in counts.items()}
    found = source(model(nodes, {"x": (FLOAT, [6]), **inputs}, ["y"]), tmp_path)
    ranks = [node.outputs[0].rank for node in found.nodes if node.outputs[0] is not None]
    assert ranks == [3, 2, 2, 4, 3, 4, 1]
    assert found.outputs[0].dims == (4,)


def test_scalars_that_onnx_drops_have_rank_0(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("GatherND", ["x", "place"], ["a"]),
        helper.make_node("Transpose", ["a"], ["b"]),
        helper.make_node("Unsqueeze", ["b", "axis"], ["y"]),
    ]
    weights = {"axis": np.zeros(1, np.int64)}
    inputs = {"x": (FLOAT, [2, 3]), "place": (INT64, [2])}
    found = source(model(nodes, inputs, ["y"], weights), tmp_path)
    assert [node.outputs[0].dims for node in found.nodes if node.outputs[0]] == [(), (), (1,)]


def test_hard_sigmoid_of_opset_1_is_as_its_input(tmp_path: Path) -> None:
    nodes = [helper.make_node("HardSigmoid", ["x"], ["y"])]
    found = result(model(nodes, {"x": (FLOAT, [2, 3])}, ["y"], opsets={"": 5}), tmp_path)
    assert found.dims == (2, 3)


@pytest.mark.parametrize(
    ("op_type", "shape", "count", "attributes"),
    [
        ("Reshape", [2, 3], MAX_RANK + 1, {}),
        ("Unsqueeze", [2, 3], MAX_RANK, {}),
        ("Squeeze", [1], 2, {}),
        ("ReduceSum", [2, 3], 3, {"keepdims": 0}),
    ],
)
def test_rank_that_no_tensor_has_is_not_inferred(
    op_type: str, shape: list[int], count: int, attributes: dict[str, Any], tmp_path: Path
) -> None:
    proto = of_x(op_type, shape, count, **attributes)
    fails(lambda: source(proto, tmp_path), UNKNOWN_SHAPE)


@pytest.mark.parametrize("op_type", ["Reshape", "Squeeze", "Unsqueeze", "Expand", "ReduceSum"])
def test_nothing_is_inferred_where_the_count_of_numbers_is_unknown(
    op_type: str, tmp_path: Path
) -> None:
    attributes: dict[str, Any] = {"keepdims": 0} if op_type == "ReduceSum" else {}
    nodes = [
        helper.make_node("NonZero", ["mask"], ["places"]),
        helper.make_node("Reshape", ["places", "flat"], ["numbers"]),
        helper.make_node(op_type, ["x", "numbers"], ["y"], **attributes),
    ]
    weights = {"flat": np.array([-1])}
    proto = model(nodes, {"x": (FLOAT, [2, 3]), "mask": (FLOAT, [4])}, ["y"], weights)
    error = fails(lambda: source(proto, tmp_path), UNKNOWN_SHAPE)
    place = error.diagnostics[0].place
    assert place is not None
    assert place.op_type == op_type


def test_operators_of_other_domains_are_left_alone(tmp_path: Path) -> None:
    node = helper.make_node("Reshape", ["x", "numbers"], ["y"], domain="own")
    inputs = {"x": (FLOAT, [2, 3]), "numbers": (INT64, [2])}
    proto = model([node], inputs, ["y"], opsets={"": 13, "own": 1})
    fails(lambda: source(proto, tmp_path), UNKNOWN_SHAPE)


def test_known_shape_is_not_made_open(tmp_path: Path) -> None:
    """Check that a shape that folds has dims, whatever its number of elements tells."""
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Reshape", ["x", "shape"], ["y"]),
    ]
    assert result(model(nodes, {"x": (FLOAT, [2, 3])}, ["y"]), tmp_path).dims == (2, 3)
