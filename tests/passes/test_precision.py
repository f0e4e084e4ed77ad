"""Dtype and engine assignment, and the casts it makes."""

import numpy as np
import pytest

from atc_py.diag import AtcError
from atc_py.ir import CastConst, Engine, Graph
from atc_py.passes.precision.assign_precision import AssignPrecisionPass
from atc_py.passes.precision.fold_constant_casts import FoldConstantCastsPass
from atc_py.tensor.dtypes import DType
from tests.passes.conftest import RunPass

CONV = """
graph @g phase lowered {
  input %x : float32[1,1,4,4] ND
  const %w : float32[1,1,1,1] ND = dense [100000.0]
  %y = Conv2D(%x, %w) {pads=[0,0,0,0], strides=[1,1,1,1]} : float32[1,1,4,4] ND from [7 "conv" Conv]
  %z = MaxPoolV3(%y) {ksize=[1,1,2,2], strides=[1,1,2,2]} : float32[1,1,2,2] ND from [8 "" MaxPool]
  output %z
}
"""


def ops(graph: Graph) -> list[str]:
    return [node.op for node in graph.nodes]


def test_force_fp16_computes_in_float16_and_keeps_the_interface(run_pass: RunPass) -> None:
    graph, casts = run_pass(AssignPrecisionPass, CONV)
    assert ops(graph) == ["Cast", "Cast", "Conv2D", "MaxPoolV3", "Cast"]
    assert casts == 3
    assert graph.inputs[0].type.dtype is DType.FLOAT32
    assert graph.outputs[0].type.dtype is DType.FLOAT32
    conv = next(node for node in graph.nodes if node.op == "Conv2D")
    assert {value.type.dtype for value in (*conv.present_inputs, conv.output)} == {DType.FLOAT16}
    assert all(node.engine is Engine.AICORE for node in graph.nodes)


def test_must_keep_stays_in_float32_and_pools_on_the_ai_cpu(run_pass: RunPass) -> None:
    graph, casts = run_pass(AssignPrecisionPass, CONV, mode="must_keep_origin_dtype")
    assert (ops(graph), casts) == (["Conv2D", "MaxPoolV3"], 0)
    assert [node.engine for node in graph.nodes] == [Engine.AICORE, Engine.AICPU]


def test_allow_narrows_the_cube_and_what_has_nothing_better(run_pass: RunPass) -> None:
    relu = '  %r = Relu(%z) : float32[1,1,2,2] ND from [9 "" Relu]\n  output %r'
    text = CONV.replace("  output %z", relu)
    graph, _ = run_pass(AssignPrecisionPass, text, mode="allow_fp32_to_fp16")
    found = {node.op: node for node in graph.nodes if node.op != "Cast"}
    assert {op: node.output.type.dtype for op, node in found.items()} == {
        "Conv2D": DType.FLOAT16,  # the cube: float16 first
        "MaxPoolV3": DType.FLOAT16,  # the AI Core has float16 only; before the AI CPU
        "Relu": DType.FLOAT32,  # stays as it is
    }
    assert all(node.engine is Engine.AICORE for node in graph.nodes)


def test_allow_never_narrows_on_the_ai_cpu(run_pass: RunPass) -> None:
    text = CONV.replace("ksize=[1,1,2,2]", "ksize=[1,1,300,1]").replace(
        "{ksize", "{pads=[150,150,0,0], ksize"
    )
    graph, _ = run_pass(AssignPrecisionPass, text, mode="allow_fp32_to_fp16")
    pool = next(node for node in graph.nodes if node.op == "MaxPoolV3")
    assert (pool.engine, pool.output.type.dtype) == (Engine.AICPU, DType.FLOAT32)


def test_float32_convolution_without_a_float32_cube_is_refused_with_its_node(
    run_pass: RunPass,
) -> None:
    with pytest.raises(AtcError) as caught:
        run_pass(AssignPrecisionPass, CONV, mode="must_keep_origin_dtype", soc="Ascend310P3")
    (found,) = caught.value.diagnostics
    assert found.code.name == "no-kernel-for-dtype"
    assert found.place is not None
    assert (found.place.node, found.place.node_name) == (7, "conv")
    assert "float32 on Ascend310P3 with must_keep_origin_dtype" in found.message
    assert found.help is not None
    assert "it takes float16 here" in found.help


def test_big_window_moves_to_the_ai_cpu_in_float32(run_pass: RunPass) -> None:
    text = CONV.replace("ksize=[1,1,2,2]", "ksize=[1,1,300,1]").replace(
        "{ksize", "{pads=[150,150,0,0], ksize"
    )
    graph, _ = run_pass(AssignPrecisionPass, text)
    pool = next(node for node in graph.nodes if node.op == "MaxPoolV3")
    assert pool.engine is Engine.AICPU
    assert pool.output.type.dtype is DType.FLOAT32


GRID = """
graph @g phase lowered {
  input %x : float32[1,1,4,4] ND
  input %g : float32[1,2,2,2] ND
  %y = GridSampler2D(%x, %g) {interpolation_mode="bilinear"} : float32[1,1,2,2] ND
  output %y
}
"""


def test_mode_that_the_ai_core_lacks_moves_to_the_ai_cpu(run_pass: RunPass) -> None:
    for text, engine in (
        (GRID, Engine.AICORE),
        (GRID.replace("bilinear", "nearest"), Engine.AICPU),
        (GRID.replace(' {interpolation_mode="bilinear"}', ""), Engine.AICORE),
    ):
        graph, _ = run_pass(AssignPrecisionPass, text, mode="must_keep_origin_dtype")
        (node,) = graph.nodes
        assert node.engine is engine


def test_hint_names_the_mode_that_the_ai_core_takes(run_pass: RunPass) -> None:
    text = GRID.replace("bilinear", "nearest").replace("float32", "int32")
    with pytest.raises(AtcError) as caught:
        run_pass(AssignPrecisionPass, text)
    (found,) = caught.value.diagnostics
    assert found.help is not None
    assert "the AI Core takes interpolation_mode bilinear, bicubic only" in found.help


def test_one_cast_serves_all_users(run_pass: RunPass) -> None:
    text = """
graph @g phase lowered {
  input %x : float32[2] ND
  %a = Relu(%x) : float32[2] ND
  %b = Add(%x, %x) : float32[2] ND
  output %a
  output %b
}
"""
    graph, casts = run_pass(AssignPrecisionPass, text)
    assert casts == 3
    assert ops(graph).count("Cast") == 3


def test_integers_and_shapes_keep_their_dtype(run_pass: RunPass) -> None:
    text = """
graph @g phase lowered {
  input %x : int32[2,2] ND
  const %shape : int64[1] ND = dense [4]
  %a = Add(%x, %x) : int32[2,2] ND
  %b = Reshape(%a, %shape) : int32[4] ND
  output %b
}
"""
    graph, casts = run_pass(AssignPrecisionPass, text)
    assert casts == 0
    assert [node.engine for node in graph.nodes] == [Engine.AICORE, Engine.LOCAL]


def test_double_runs_in_double_on_the_ai_cpu(run_pass: RunPass) -> None:
    text = """
graph @g phase lowered {
  input %x : float64[2] ND
  %a = Add(%x, %x) : float64[2] ND
  output %a
}
"""
    graph, casts = run_pass(AssignPrecisionPass, text)
    assert (casts, graph.nodes[0].engine) == (0, Engine.AICPU)


def test_statistics_stay_in_float32_beside_float16_data(run_pass: RunPass) -> None:
    text = """
graph @g phase lowered {
  input %x : float32[1,2] ND
  const %s : float32[2] ND = splat 1.0
  %y = BNInfer(%x, %s, %s, %s, %s) {epsilon=0.0} : float32[1,2] ND
  output %y
}
"""
    graph, _ = run_pass(AssignPrecisionPass, text)
    norm = next(node for node in graph.nodes if node.op == "BNInfer")
    dtypes = [value.type.dtype for value in norm.present_inputs]
    assert dtypes == [DType.FLOAT16, *[DType.FLOAT32] * 4]


def test_cast_of_the_model_keeps_its_dtypes(run_pass: RunPass) -> None:
    text = """
graph @g phase lowered {
  input %x : uint16[2] ND
  %y = Cast(%x) {dst_type=float32} : float32[2] ND
  output %y
}
"""
    graph, casts = run_pass(AssignPrecisionPass, text)
    assert (casts, graph.nodes[0].engine) == (0, Engine.AICPU)


def test_output_that_is_an_input_is_not_cast(run_pass: RunPass) -> None:
    text = """
graph @g phase lowered {
  input %x : float32[2] ND
  %a = Relu(%x) : float32[2] ND
  output %x
  output %a
}
"""
    graph, _ = run_pass(AssignPrecisionPass, text)
    assert graph.outputs[0] is graph.inputs[0]


def test_cast_of_a_constant_folds_and_clamps(run_pass: RunPass) -> None:
    text = """
graph @g phase typed {
  input %x : float16[1] ND
  const %w : float32[1] ND = dense [100000.0]
  %c = Cast(%w) {dst_type=float16} : float16[1] ND engine=aicore
  %y = Add(%x, %c) : float16[1] ND engine=aicore
  output %y
}
"""
    graph, changes = run_pass(FoldConstantCastsPass, text)
    assert (changes, ops(graph)) == (1, ["Add"])
    weight = graph.nodes[0].inputs[1]
    assert weight is not None
    assert isinstance(weight.const, CastConst)
    np.testing.assert_array_equal(weight.const.numpy(), np.array([65504], np.float16))


def test_cast_of_a_computed_value_stays(run_pass: RunPass) -> None:
    text = """
graph @g phase typed {
  input %x : float32[1] ND
  %c = Cast(%x) {dst_type=float16} : float16[1] ND engine=aicore
  output %c
}
"""
    assert run_pass(FoldConstantCastsPass, text)[1] == 0
