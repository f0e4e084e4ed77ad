"""Sparse constants fold like others; positions that do not fit are refused."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import atc_py
from atc_py.onnx_graph.reading.tensors import dense_array

WANTED = np.array([[1, 0, 0], [0, 2, 0]], np.float32)


def sparse(positions: list[int], dims: list[int], shape: tuple[int, ...]) -> onnx.SparseTensorProto:
    """Return a tensor that has 1 and 2 at the positions, in a list of dims `shape`."""
    values = helper.make_tensor("v", TensorProto.FLOAT, [2], [1.0, 2.0])
    where = helper.make_tensor("i", TensorProto.INT64, shape, positions)
    return helper.make_sparse_tensor(values, where, dims)


@pytest.mark.parametrize(
    ("positions", "shape"), [([0, 4], (2,)), ([0, 0, 1, 1], (2, 2))], ids=["linear", "by-axis"]
)
def test_sparse_constant_is_one_with_zeros(
    positions: list[int], shape: tuple[int, ...], tmp_path: Path
) -> None:
    value = sparse(positions, [2, 3], shape)
    np.testing.assert_array_equal(dense_array(value), WANTED)
    nodes = [
        helper.make_node("Constant", [], ["c"], sparse_value=value),
        helper.make_node("Add", ["x", "c"], ["y"]),
    ]
    types = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in "xy"]
    model = helper.make_model(helper.make_graph(nodes, "g", types[:1], types[1:]))
    del model.opset_import[:]
    model.opset_import.append(helper.make_opsetid("", 13))
    onnx.save(model, tmp_path / "model.onnx")
    (checked,) = atc_py.check_models(tmp_path / "model.onnx").models
    assert {each.rule for each in checked.findings} == {"parser/constant-without-value"}


@pytest.mark.parametrize(
    ("positions", "dims", "shape"),
    [([0, 6], [2, 3], (2,)), ([0, -1], [2, 3], (2,)), ([0], [2, 3], (1,)), ([0, 1], [2**40], (2,))],
    ids=["beyond", "negative", "too-few", "too-large"],
)
def test_sparse_tensor_that_cannot_be_is_refused(
    positions: list[int], dims: list[int], shape: tuple[int, ...]
) -> None:
    with pytest.raises(ValueError, match=r"positions|no tensor"):
        dense_array(sparse(positions, dims, shape))
