"""Precision of int8 layers: the int8 column in every mode, and no cast of an integer."""

import pytest

from atc_py.diag import AtcError
from atc_py.ir import Engine
from atc_py.options.compile_options import PrecisionMode
from atc_py.passes.precision.assign_precision import AssignPrecisionPass
from atc_py.target import Resource, find_operator, socs
from atc_py.tensor.dtypes import DType
from tests.failures import in_one_item
from tests.passes.conftest import RunPass

WINDOW = "pads=[0,0,0,0], strides=[1,1,1,1]"
LAYERS = {
    "Conv2D": ("1,4,5,5", "6,4,1,1", "1,6,5,5", WINDOW),
    "DepthwiseConv2D": ("1,4,5,5", "4,1,1,1", "1,4,5,5", WINDOW),
    "Conv2DTransposeD": ("1,4,5,5", "4,6,1,1", "1,6,5,5", f"input_size=[1,6,5,5], {WINDOW}"),
    "MatMulV2": ("5,4", "4,6", "5,6", "offset_x=0"),
    "BatchMatMulV2": ("2,5,4", "4,6", "2,5,6", "offset_x=0"),
}
"""Shapes of data, weights and result, and the attributes that are needed."""

OPERANDS = ["", ", %b", ", %b, %o", ", _, %o"]
MODES = [mode.value for mode in PrecisionMode]


def layer(op: str, operands: str = ", %b", weights: str = "int8", bias: str = "int32") -> str:
    """Return a graph of one layer between int8 data and an int32 result."""
    x, w, y, attributes = LAYERS[op]
    channels = w.split(",")[0 if op in {"Conv2D", "DepthwiseConv2D"} else 1]
    return f"""
graph @g phase lowered {{
  input %x : int8[{x}] ND
  const %w : {weights}[{w}] ND = splat 3
  const %b : {bias}[{channels}] ND = splat 7
  const %o : int8[{channels}] ND = splat 1
  %y = {op}(%x, %w{operands}) {{{attributes}}} : int32[{y}] ND from [7 "layer" {op}]
  output %y
}}
"""


@in_one_item("mode", MODES)
@in_one_item("operands", OPERANDS)
@in_one_item("op", LAYERS)
def test_int8_layer_takes_its_column_in_every_mode(
    run_pass: RunPass, op: str, operands: str, mode: str
) -> None:
    graph, casts = run_pass(AssignPrecisionPass, layer(op, operands), mode=mode)
    (node,) = graph.nodes
    assert (casts, node.engine) == (0, Engine.AICORE)
    dtypes = [value.type.dtype if value else None for value in node.inputs]
    assert dtypes[:2] == [DType.INT8] * 2
    assert set(dtypes[2:3]) <= {None, DType.INT32}
    assert set(dtypes[3:]) <= {DType.INT8}
    assert node.output.type.dtype is DType.INT32


@pytest.mark.parametrize("soc", [row.name for row in socs()])
def test_every_soc_multiplies_int8(run_pass: RunPass, soc: str) -> None:
    graph, casts = run_pass(AssignPrecisionPass, layer("Conv2D"), soc=soc)
    assert (casts, graph.nodes[0].engine) == (0, Engine.AICORE)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("weights", "bias"), [("float16", "int32"), ("float32", "int32"), ("int8", "float32")]
)
def test_mixed_operands_are_refused_rather_than_cast(
    run_pass: RunPass, weights: str, bias: str, mode: str
) -> None:
    text = layer("Conv2D", weights=weights, bias=bias)
    with pytest.raises(AtcError) as caught:
        run_pass(AssignPrecisionPass, text, mode=mode)
    (found,) = caught.value.diagnostics
    assert found.code.name == "no-kernel-for-dtype"
    assert found.place is not None
    assert (found.place.node, found.place.node_name) == (7, "layer")


def test_float_neighbors_of_an_int8_layer_are_narrowed_alone(run_pass: RunPass) -> None:
    text = layer("Conv2D").replace(
        "  output %y",
        """  input %f : float32[1,6,5,5] ND
  %r = Relu(%f) : float32[1,6,5,5] ND from [8 "" Relu]
  output %y
  output %r""",
    )
    graph, casts = run_pass(AssignPrecisionPass, text)
    assert casts == 2
    cast = {
        node.inputs[0].type.dtype for node in graph.nodes if node.op == "Cast" and node.inputs[0]
    }
    assert cast == {DType.FLOAT32, DType.FLOAT16}


def test_what_a_float_layer_takes_instead_does_not_name_integers(run_pass: RunPass) -> None:
    text = layer("Conv2D", "").replace("int8[", "float32[").replace("int32[", "float32[")
    with pytest.raises(AtcError) as caught:
        run_pass(AssignPrecisionPass, text, mode="must_keep_origin_dtype", soc="Ascend310P3")
    (found,) = caught.value.diagnostics
    assert found.help is not None
    assert "it takes float16 here" in found.help


@pytest.mark.parametrize("op", LAYERS)
def test_rows_declare_integers_beside_floats(op: str) -> None:
    row = find_operator(op)
    assert row is not None
    assert [operand.name for operand in row.inputs[2:]] == ["bias", "offset_w"]
    (column,) = [column for column in row.columns if DType.INT8 in column.inputs]
    assert column.inputs == (DType.INT8, DType.INT8, DType.INT32, DType.INT8)
    assert (column.outputs, column.needs) == ((DType.INT32,), None)
    assert [(c.inputs[0], c.outputs[0], c.needs) for c in row.columns if c is not column] == [
        (DType.FLOAT16, DType.FLOAT16, None),
        (DType.FLOAT32, DType.FLOAT32, Resource.CUBE_FLOAT32),
        (DType.FLOAT16, DType.FLOAT32, None),
        (DType.BFLOAT16, DType.BFLOAT16, Resource.BFLOAT16),
        (DType.BFLOAT16, DType.FLOAT32, Resource.BFLOAT16),
    ]
