"""Kernel stubs of int8 layers: types, accumulator, blocks of 32."""

import json

import pytest

from atc_py.ir import Graph, Phase, TensorType
from atc_py.kernels.kernels import emit_kernels
from atc_py.target import find_operator, find_soc, operators, socs
from atc_py.tensor.dtypes import DType
from tests.failures import in_one_item
from tests.kernels.conftest import AddNode

SHAPES = {
    "conv": [(2, 32, 10, 12), (32, 32, 3, 3), (32,), (32,)],
    "matmul": [(48, 80), (80, 100), (100,), (100,)],
}
RESULTS = {"conv": (2, 32, 10, 12), "matmul": (48, 100)}
INTEGER = [
    row.name
    for row in operators()
    if row.family in SHAPES
    and len(row.inputs) == 4
    and any(column.inputs[0] is DType.INT8 for column in row.columns)
]


def test_integer_layers_are_the_cube_operators_with_offsets() -> None:
    assert set(INTEGER) == {
        *("Conv2D", "Conv3D", "DepthwiseConv2D", "Conv2DTransposeD"),
        *("MatMulV2", "BatchMatMulV2"),
    }


@pytest.mark.parametrize("op", INTEGER)
@in_one_item("soc", [row.name for row in socs()])
@in_one_item("count", [2, 3, 4])
def test_stub_of_an_int8_layer_accumulates_in_int32(
    add_node: AddNode, op: str, count: int, soc: str
) -> None:
    graph = Graph("test", Phase.TYPED)
    row = find_operator(op)
    assert row is not None
    column = next(column for column in row.columns if column.inputs[0] is DType.INT8)
    shapes = zip(column.inputs, SHAPES[row.family], strict=True)
    inputs = [TensorType(dtype, shape) for dtype, shape in shapes][:count]
    add_node(graph, op, inputs, [TensorType(DType.INT32, RESULTS[row.family])])
    files = emit_kernels(graph, find_soc(soc)).files
    (source,) = [text for path, text in files.items() if path.endswith(".cpp") and "/" in path]
    (description,) = [
        text for path, text in files.items() if path.endswith(".json") and "/" in path
    ]
    by_scalars = find_soc(soc).vector_cores > find_soc(soc).aicores and (
        row.family == "conv" or count > 3
    )
    assert f"{'Global' if by_scalars else 'Local'}Tensor<int8_t>" in source
    assert "LocalTensor<int32_t>" in source
    assert "LocalTensor<float>" not in source
    assert ("biasGm_" in source) is (count > 2)
    types = [operand["type"] for operand in json.loads(description)[0]["input_desc"]]
    assert types == [["int8"], ["int8"], ["int32"], ["int8"]][:count]
