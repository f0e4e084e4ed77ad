"""What each mode makes of each class of operator, dtype and SoC, against a table with its sources.

Sources, by their letters in the table. They are sections of ATC's user guide and of CANN's graph
engine: D the documented rule of the mode, O the observed selection of columns, L the lists of the
mixed modes, C the cube list, M the products that each cube has, K the dtypes that the operator
information of CANN 8.1 and its kernels list for a SoC.

A row: mode, operator, SoC, dtype in the model, then dtype in and out of the compiled node, engine.
`!` stands for no kernel.
"""

import pytest

from atc_py.diag import AtcError
from atc_py.ir import Engine, Graph, Node
from atc_py.passes.precision.assign_precision import AssignPrecisionPass
from atc_py.passes.precision.mix_lists import CUBE_LIST
from atc_py.target import Unit, operators, socs
from atc_py.tensor.dtypes import DType
from tests.passes.conftest import RunPass

TABLE = """
D  force_fp16               MatMulV2         sim           f32   f16 f16  aicore
D  force_fp16               MatMulV2         Ascend310P3   f32   f16 f16  aicore
D  force_fp16               MatMulV2         Ascend910B3   bf16  f16 f16  aicore
D  force_fp16               Add              Ascend310P3   f32   f16 f16  aicore
D  force_fp16               Add              Ascend910B3   bf16  f16 f16  aicore
O  force_fp16               Add              sim           i32   i32 i32  aicore
O  force_fp16               Add              sim           f64   f64 f64  aicpu
D  force_fp16               MaxPoolV3        sim           f32   f16 f16  aicore
O  force_fp16               NonZero          sim           f32   f32 i64  aicore
D  must_keep_origin_dtype   MatMulV2         sim           f32   f32 f32  aicore
M  must_keep_origin_dtype   MatMulV2         Ascend910B3   f32   f32 f32  aicore
K  must_keep_origin_dtype   MatMulV2         Ascend310P3   f32   f32 f32  aicore
M  must_keep_origin_dtype   MatMulV2         Hi3796CV300CS f32   !
D  must_keep_origin_dtype   MatMulV2         Ascend310P3   f16   f16 f16  aicore
D  must_keep_origin_dtype   MatMulV2         Ascend910B3   bf16  bf16 bf16  aicore
O  must_keep_origin_dtype   MatMulV2         sim           bf16  f32 f32  aicore
OK must_keep_origin_dtype   MatMulV2         Ascend310P3   bf16  f32 f32  aicore
D  must_keep_origin_dtype   Add              sim           f32   f32 f32  aicore
O  must_keep_origin_dtype   Add              sim           f64   f64 f64  aicpu
D  must_keep_origin_dtype   MaxPoolV3        sim           f32   f32 f32  aicpu
D  must_keep_origin_dtype   MaxPoolV3        sim           f16   f16 f16  aicore
O  must_keep_origin_dtype   NonZero          sim           f16   f32 i64  aicore
D  force_fp32               MatMulV2         sim           f32   f16 f32  aicore
M  force_fp32               MatMulV2         Ascend310P3   f32   f16 f32  aicore
D  force_fp32               MatMulV2         Ascend310P3   f16   f16 f32  aicore
OK force_fp32               MatMulV2         Ascend910B3   bf16  f32 f32  aicore
K  force_fp32               Conv2D           Ascend910B3   bf16  bf16 f32  aicore
OK force_fp32               MatMulV2         Ascend310P3   bf16  f32 f32  aicore
O  force_fp32               MatMulV2         sim           i8    i8 i32  aicore
D  force_fp32               Add              sim           f16   f32 f32  aicore
D  force_fp32               Add              Ascend910B3   bf16  f32 f32  aicore
D  force_fp32               MaxPoolV3        sim           f16   f16 f16  aicore
D  force_fp32               MaxPoolV3        sim           f32   f16 f16  aicore
O  force_fp32               Add              sim           f64   f64 f64  aicpu
D  cube_fp16in_fp32out      MatMulV2         sim           f32   f16 f32  aicore
D  cube_fp16in_fp32out      Add              sim           f16   f32 f32  aicore
DC allow_fp32_to_fp16       MatMulV2         sim           f32   f16 f16  aicore
DC allow_fp32_to_fp16       MatMulV2         Ascend310P3   f32   f16 f16  aicore
D  allow_fp32_to_fp16       MatMulV2         Ascend910B3   bf16  bf16 bf16  aicore
D  allow_fp32_to_fp16       MatMulV2         sim           bf16  f32 f32  aicore
OK allow_fp32_to_fp16       MatMulV2         Ascend310P3   bf16  f32 f32  aicore
K  allow_fp32_to_fp16       Conv2D           Ascend310P3   bf16  f16 f16  aicore
D  allow_fp32_to_fp16       Add              sim           f32   f32 f32  aicore
D  allow_fp32_to_fp16       Add              sim           f16   f16 f16  aicore
D  allow_fp32_to_fp16       MaxPoolV3        sim           f32   f16 f16  aicore
O  allow_fp32_to_fp16       Add              sim           f64   f64 f64  aicpu
DL allow_mix_precision      MatMulV2         sim           f32   f16 f16  aicore
DL allow_mix_precision      MatMulV2         Ascend910B3   bf16  f16 f16  aicore
OL allow_mix_precision      MatMulV2         sim           i8    i8 i32  aicore
OL allow_mix_precision      Add              sim           f32   f32 f32  aicore
OL allow_mix_precision      MaxPoolV3        sim           f32   f16 f16  aicore
OL allow_mix_precision      ReverseSequence  sim           f32   f32 f32  aicpu
DL allow_mix_precision_fp16 MatMulV2         sim           f32   f16 f16  aicore
DL allow_mix_precision_bf16 MatMulV2         Ascend910B3   f32   bf16 bf16  aicore
DL allow_mix_precision_bf16 MatMulV2         Ascend310B1   f32   bf16 bf16  aicore
OL allow_mix_precision_bf16 Add              Ascend910B3   f32   f32 f32  aicore
OK allow_mix_precision_bf16 MaxPoolV3        Ascend910B3   f32   f32 f32  aicore
D  allow_fp32_to_bf16       MatMulV2         Ascend910B3   f32   f32 f32  aicore
DM allow_fp32_to_bf16       MatMulV2         Ascend310B1   f32   f32 f32  aicore
D  allow_fp32_to_bf16       Add              Ascend910B3   f32   f32 f32  aicore
K  allow_fp32_to_bf16       MaxPoolV3        Ascend910B3   f32   f32 f32  aicore
D  force_fp16               MatMulV2         Ascend310B1   f32   f16 f16  aicore
D  force_fp16               Add              sim           f16   f16 f16  aicore
D  must_keep_origin_dtype   Add              sim           f16   f16 f16  aicore
O  must_keep_origin_dtype   Add              sim           bf16  f32 f32  aicore
D  must_keep_origin_dtype   Add              Ascend910B3   bf16  bf16 bf16  aicore
K  must_keep_origin_dtype   MaxPoolV3        Ascend910B3   bf16  f32 f32  aicore
DM must_keep_origin_dtype   MatMulV2         Ascend310B1   f32   f32 f32  aicore
O  must_keep_origin_dtype   MatMulV2         sim           i8    i8 i32  aicore
D  force_fp32               MatMulV2         Ascend310B1   f32   f16 f32  aicore
DL force_fp32               ReverseSequence  sim           f32   f32 f32  aicpu
DL force_fp32               ReverseSequence  sim           f16   f32 f32  aicpu
D  allow_fp32_to_fp16       Add              Ascend910B3   bf16  bf16 bf16  aicore
D  allow_fp32_to_fp16       Add              sim           bf16  f32 f32  aicore
OK allow_fp32_to_fp16       MaxPoolV3        Ascend910B3   bf16  f32 f32  aicore
O  allow_fp32_to_fp16       MatMulV2         sim           i8    i8 i32  aicore
O  allow_mix_precision      Add              sim           f64   f64 f64  aicpu
OL allow_mix_precision      ReverseSequence  sim           f16   f16 f16  aicpu
DL allow_mix_precision      MatMulV2         Ascend310B1   f32   f16 f16  aicore
DL allow_mix_precision_fp16 MatMulV2         Ascend310P3   f32   f16 f16  aicore
OL allow_mix_precision_bf16 MatMulV2         Ascend910B3   i8    i8 i32  aicore
OL allow_mix_precision_bf16 ReverseSequence  Ascend910B3   f32   f32 f32  aicpu
D  allow_fp32_to_bf16       MatMulV2         Ascend910B3   bf16  bf16 bf16  aicore
D  allow_fp32_to_bf16       MatMulV2         Ascend910B3   f16   f16 f16  aicore
O  allow_fp32_to_bf16       Add              Ascend910B3   f64   f64 f64  aicpu
"""
ROWS = [line.split() for line in TABLE.strip().split("\n")]
DTYPES = {
    "f16": DType.FLOAT16,
    "bf16": DType.BFLOAT16,
    "f32": DType.FLOAT32,
    "f64": DType.FLOAT64,
    "i8": DType.INT8,
    "i32": DType.INT32,
    "i64": DType.INT64,
}
RESULTS = {("NonZero", "f16"): "i64", ("NonZero", "f32"): "i64", ("MatMulV2", "i8"): "i32"}
"""Dtypes of results that are not those of the operands."""

BODIES = {
    "MatMulV2": ("2,2", "(%x, %x) {}", "2,2"),
    "Add": ("2,2", "(%x, %x)", "2,2"),
    "Conv2D": ("1,1,4,4", "(%x, %x) {strides=[1,1,1,1], pads=[0,0,0,0]}", "1,1,1,1"),
    "MaxPoolV3": ("1,1,4,4", "(%x) {ksize=[1,1,2,2], strides=[1,1,2,2]}", "1,1,2,2"),
    "NonZero": ("2,2", "(%x)", "2,?"),
    "ReverseSequence": ("2,2", "(%x, %n) {seq_dim=0, batch_dim=1}", "2,2"),
}


def one_node(op: str, dtype: str) -> str:
    """Return a graph of one operator on data of one dtype."""
    x, body, y = BODIES[op]
    result = DTYPES[RESULTS.get((op, dtype), dtype)].value
    lengths = "  const %n : int64[2] ND = splat 2\n" if "%n" in body else ""
    return f"""
graph @g phase lowered {{
  input %x : {DTYPES[dtype].value}[{x}] ND
{lengths}  %y = {op}{body.replace(" {}", "")} : {result}[{y}] ND from [7 "node" {op}]
  output %y
}}
"""


def typed(graph: Graph, op: str) -> Node:
    """Return the one node of operator `op`."""
    (node,) = [node for node in graph.nodes if node.op == op]
    return node


@pytest.mark.parametrize("row", ROWS, ids=[" ".join(row[1:5]) for row in ROWS])
def test_mode_chooses_what_the_table_says(run_pass: RunPass, row: list[str]) -> None:
    _source, mode, op, soc, dtype, taken, *rest = row
    if taken == "!":
        with pytest.raises(AtcError) as caught:
            run_pass(AssignPrecisionPass, one_node(op, dtype), mode=mode, soc=soc)
        assert [found.code.name for found in caught.value.diagnostics] == ["no-kernel-for-dtype"]
        return
    graph, _ = run_pass(AssignPrecisionPass, one_node(op, dtype), mode=mode, soc=soc)
    node = typed(graph, op)
    found = (node.present_inputs[0].type.dtype, node.output.type.dtype, node.engine)
    assert found == (DTYPES[taken], DTYPES[rest[0]], Engine(rest[1]))
    assert graph.outputs[0].type.dtype is DTYPES[RESULTS.get((op, dtype), dtype)]


MIXED = """
graph @g phase lowered {
  input %x : float32[2,2] ND
  %a = Relu(%x) : float32[2,2] ND from [0 "first" Relu]
  %b = MatMulV2(%a, %a) : float32[2,2] ND from [1 "product" MatMul]
  %c = Cast(%b) {dst_type=float32} : float32[2,2] ND from [2 "cast" Cast]
  %d = Relu(%c) : float32[2,2] ND from [3 "second" Relu]
  %e = ReduceSumD(%d) {axes=[1], keep_dims=true} : float32[2,1] ND from [4 "sum" ReduceSum]
  output %e
}
"""


@pytest.mark.parametrize(
    ("mode", "narrow"),
    [
        ("allow_mix_precision", DType.FLOAT16),
        ("allow_mix_precision_fp16", DType.FLOAT16),
        ("allow_mix_precision_bf16", DType.BFLOAT16),
    ],
)
def test_gray_follows_the_node_before_it_looking_through_a_cast(
    run_pass: RunPass, mode: str, narrow: DType
) -> None:
    graph, _ = run_pass(AssignPrecisionPass, MIXED, mode=mode, soc="Ascend910B3")
    found = {node.origins[0].name: node for node in graph.nodes if node.op != "Cast"}
    assert {name: node.output.type.dtype for name, node in found.items()} == {
        "first": DType.FLOAT32,
        "product": narrow,
        "second": narrow,
        "sum": narrow,
    }


BIASED = """
graph @g phase lowered {
  input %x : float32[2,3] ND
  const %w : float32[3,2] ND = splat 2.0
  const %b : float32[2] ND = splat 1.0
  %y = MatMulV2(%x, %w, %b) : float32[2,2] ND from [0 "product" Gemm]
  output %y
}
"""


def test_bias_of_float32_sums_stays_in_float32(run_pass: RunPass) -> None:
    graph, casts = run_pass(AssignPrecisionPass, BIASED, mode="force_fp32")
    node = typed(graph, "MatMulV2")
    dtypes = [value.type.dtype for value in node.present_inputs]
    assert dtypes == [DType.FLOAT16, DType.FLOAT16, DType.FLOAT32]
    assert casts == 2


def test_table_names_every_mode() -> None:
    from atc_py.options.compile_options import PrecisionMode

    assert {row[1] for row in ROWS} == {mode.value for mode in PrecisionMode}, (
        "give each mode rows in TABLE above and a branch in `requests` of "
        "atc_py/passes/precision/requested_dtypes.py, where one without counts as mixed"
    )


def test_cube_list_is_that_of_the_reference() -> None:
    named = {
        "MatMul", "MatMulV2", "BatchMatMul", "BatchMatMulV2", "Conv2D", "Conv2DTranspose",
        "Conv2DTransposeD", "DepthwiseConv2D", "Conv2DCompress", "FullyConnection", "GEMM",
        "Conv3D", "Conv3DTranspose", "Conv3DTransposeD", "Deconvolution",
    }  # fmt: skip
    rows = {row.name: row for row in operators()}
    assert named & rows.keys() == CUBE_LIST
    assert {rows[name].unit for name in CUBE_LIST} == {Unit.CUBE}


def test_bfloat16_is_on_the_generations_that_the_guide_names() -> None:
    """Check A2, A3, 310B and 950: 910B1 to B4, 910_93xx, 310B1 and B4, and 950; 350 has its core."""
    having = {soc.name for soc in socs() if soc.bfloat16}
    named = {
        soc.name
        for soc in socs()
        if soc.name.startswith(("Ascend310B", "Ascend910_9", "Ascend950", "Ascend350"))
        or (soc.name.startswith("Ascend910B") and soc.name != "Ascend910B")
    }
    assert having == named


FOLLOWING = """
graph @g phase lowered {
  input %x : float32[1,1,4,4] ND
  const %to : int64[2] ND = dense [2, 2]
  %a = MaxPoolV3(%x) {ksize=[1,1,2,2], strides=[1,1,2,2]} : float32[1,1,2,2] ND from [0 "a" MaxPool]
  %b = Reshape(%a, %to) : float32[2,2] ND from [1 "b" Reshape]
  %c = Add(%b, %b) : float32[2,2] ND from [2 "c" Add]
  output %c
}
"""


def test_node_without_a_kernel_takes_what_comes_before_it(run_pass: RunPass) -> None:
    graph, casts = run_pass(AssignPrecisionPass, FOLLOWING, mode="allow_mix_precision")
    found = {node.op: node.output.type.dtype for node in graph.nodes if node.op != "Cast"}
    # MaxPoolV3 is gray and first, so it falls to float16; what is behind it follows.
    assert found["MaxPoolV3"] is found["Reshape"] is DType.FLOAT16
    assert casts == 2


def test_reduced_tensor_takes_the_later_ones_with_it(run_pass: RunPass) -> None:
    """Check that all operands of a node with kernels of float16 alone are reduced."""
    graph, _ = run_pass(
        AssignPrecisionPass, one_node("MaxPoolV3", "f32"), mode="allow_fp32_to_fp16"
    )
    node = typed(graph, "MaxPoolV3")
    assert {value.type.dtype for value in (*node.present_inputs, *node.outputs)} == {DType.FLOAT16}
