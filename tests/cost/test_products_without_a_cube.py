"""Float32 where the AI Core has no kernel, or its cube no products of it.

A product of float32 on a SoC whose cube has none is work of the vector unit, an assumption.
"""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import atc_py
from atc_py.cost.network import _formats, network_cost
from atc_py.system.structs import replace


@pytest.mark.parametrize(
    ("soc", "bound"), [("Ascend310P3", "vector"), ("sim", "cube"), ("Ascend310B1", "cube")]
)
def test_float32_product_keeps_the_unit_busy_that_computes_it(
    soc: str, bound: str, tmp_path: Path
) -> None:
    weights = numpy_helper.from_array(np.ones((1024, 1024), np.float32), "w")
    x = helper.make_tensor_value_info("x", 1, [1024, 1024])
    y = helper.make_tensor_value_info("y", 1, [1024, 1024])
    node = helper.make_node("Gemm", ["x", "w"], ["y"], name="product")
    graph = helper.make_graph([node], "gemm", [x], [y], [weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, tmp_path / "gemm.onnx")
    atc_py.convert(
        tmp_path / "gemm.onnx",
        tmp_path / "gemm.om",
        soc=soc,
        precision_mode="must_keep_origin_dtype",
    )
    with atc_py.load(tmp_path / "gemm.om") as compiled:
        cost = network_cost(compiled.description)
    (kernel,) = [each for each in cost.kernels if each.cost.macs]
    pipes = kernel.cost.pipes.as_json()
    assert pipes[bound] > 0
    other = {"vector": "cube", "cube": "vector"}[bound]
    if bound == "vector":
        assert pipes[other] == 0
        terms = 1024**3
        cycles = 2 * terms * 4 / 256 / 8  # two instructions a term, 256 bytes a cycle, 8 cores
        assert pipes[bound] >= cycles / 1060e6


@pytest.mark.parametrize(
    ("soc", "mode", "engine"),
    [
        ("Ascend950PR_9599", "must_keep_origin_dtype", "aicore"),
        ("Ascend910B2", "must_keep_origin_dtype", "aicpu"),
        ("Ascend910B2", "allow_fp32_to_fp16", "aicore"),
    ],
)
def test_float32_pool_is_on_the_aicpu_where_no_kernel_takes_it(
    soc: str, mode: str, engine: str, tmp_path: Path
) -> None:
    """AvgPoolV2 of CANN 8.1 takes float16 and int8 on A2, that of Ascend950 float32, too."""
    x = helper.make_tensor_value_info("x", 1, [1, 16, 8, 8])
    y = helper.make_tensor_value_info("y", 1, [1, 16, 4, 4])
    node = helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[2, 2], strides=[2, 2])
    graph = helper.make_graph([node], "pool", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, tmp_path / "pool.onnx")
    atc_py.convert(tmp_path / "pool.onnx", tmp_path / "pool.om", soc=soc, precision_mode=mode)
    with atc_py.load(tmp_path / "pool.om") as compiled:
        cost = network_cost(compiled.description)
    assert {each.engine for each in cost.kernels} == {engine}


def test_absent_operands_have_no_format(tmp_path: Path) -> None:
    x = helper.make_tensor_value_info("x", 1, [2, 3])
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])], "relu", [x], [onnx.ValueInfoProto(name="y")]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, tmp_path / "relu.onnx")
    atc_py.convert(tmp_path / "relu.onnx", tmp_path / "relu.om")
    with atc_py.load(tmp_path / "relu.om") as compiled:
        description = compiled.description
    node = description.nodes[0]
    head = replace(node, inputs=[*node.inputs, -1])
    assert _formats(description, head, node) == "ND -> ND"
