"""A description that contradicts itself is refused when it is loaded, with the node at fault."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from atc_py.device.sim.backend import SimBackend
from atc_py.diag import AtcError, Diagnostic
from atc_py.diag.codes import OM_CONTENT
from atc_py.package.schema import OmAttribute, OmPort, OmTensor
from tests.device.models import MemoryModel, ModelBuilder
from tests.failures import in_one_item


def findings(model: MemoryModel) -> Sequence[Diagnostic]:
    """Return the findings of loading `model`, all of it OM_CONTENT."""
    device = SimBackend()
    device.open()
    with pytest.raises(AtcError) as caught:
        device.load(model)
    assert {finding.code for finding in caught.value.diagnostics} == {OM_CONTENT}
    return caught.value.diagnostics


def relu_model() -> tuple[ModelBuilder, int, int]:
    """Return input -> Relu -> output."""
    builder = ModelBuilder()
    x = builder.input("x", "float16", [2, 3])
    (y,) = builder.node("Relu", [x], [("float16", [2, 3])])
    builder.output("y", y)
    return builder, x, y


def load(model: MemoryModel) -> None:
    """Load, and find nothing."""
    device = SimBackend()
    device.open()
    device.load(model)


def test_loading_accepts_the_sound_model() -> None:
    load(relu_model()[0].build())


def test_loading_refuses_an_unknown_operator() -> None:
    builder, x, _ = relu_model()
    builder.node("Gelu", [x], [("float16", [2, 3])])
    (finding,) = findings(builder.build())
    assert "no operator 'Gelu'" in finding.message
    assert str(finding.place) == 'node 1 "Gelu_1" (Gelu)'


def test_loading_reports_every_finding() -> None:
    builder, x, _ = relu_model()
    builder.node("Gelu", [x], [("float16", [2, 3])])
    builder.node("Relu", [x], [("float16", [3, 2])])
    builder.node("Relu", [77], [("float16", [2, 3])])
    messages = [finding.message for finding in findings(builder.build())]
    assert len(messages) == 3
    assert "the result is float16 2x3, but float16 3x2 is declared" in messages[1]
    assert "tensors [77] do not exist; there are 5" in messages[2]


@pytest.mark.parametrize(("inputs", "outputs"), [([-2], [1]), ([0], [-1]), ([0], [9]), ([2], [1])])
def test_loading_refuses_tensors_out_of_range(inputs: list[int], outputs: list[int]) -> None:
    builder, _, _ = relu_model()
    builder.nodes[0].inputs[:] = inputs
    builder.nodes[0].outputs[:] = outputs
    assert "do not exist" in findings(builder.build())[0].message


def test_loading_refuses_nodes_out_of_order_and_cycles() -> None:
    builder, x, y = relu_model()
    (z,) = builder.node("Add", [x, y], [("float16", [2, 3])])
    builder.nodes.reverse()
    (finding,) = findings(builder.build())
    assert "'t1' is read before a node computes it" in finding.message
    builder.nodes.reverse()
    builder.nodes[0].inputs[:] = [z]
    assert "'t2' is read before" in findings(builder.build())[0].message


def test_loading_refuses_a_tensor_with_two_producers() -> None:
    builder, x, y = relu_model()
    builder.node("Relu", [x], [("float16", [2, 3])])
    builder.nodes[1].outputs[:] = [y]
    assert "tensor 't1' is defined twice" in findings(builder.build())[0].message


@pytest.mark.parametrize("target", ["input", "constant"])
def test_loading_refuses_to_compute_what_is_given(target: str) -> None:
    builder, x, _ = relu_model()
    given = x if target == "input" else builder.constant(np.zeros((2, 3), np.float16))
    builder.nodes[0].outputs[:] = [given]
    builder.outputs[:] = [OmPort("y", given)]
    assert "is defined twice" in findings(builder.build())[0].message


def test_loading_refuses_an_output_that_nothing_computes() -> None:
    builder, _, _ = relu_model()
    builder.output("z", builder.tensor("float16", [1]))
    assert "output 'z'" in findings(builder.build())[0].message


def test_loading_refuses_ports_without_tensor_or_of_one_name() -> None:
    builder, x, _ = relu_model()
    builder.outputs.append(OmPort("far", 99))
    builder.inputs.append(OmPort("x", x))
    messages = [finding.message for finding in findings(builder.build())]
    assert messages == [
        "two inputs are called 'x'",
        "output 'far' is tensor 99, but there are 2 tensors",
    ]


@pytest.mark.parametrize(
    ("dtype", "shape", "message"),
    [("float13", [1], "unknown dtype 'float13'"), ("int8", [2, -1], "has shape [2, -1]")],
)
def test_loading_refuses_tensors_that_make_no_sense(
    dtype: str, shape: list[int | None], message: str
) -> None:
    builder, _, _ = relu_model()
    builder.tensors.append(OmTensor("odd", dtype, shape, "ND"))
    assert message in findings(builder.build())[0].message


@pytest.mark.parametrize("array", [np.zeros((2, 3), np.float32), np.zeros((3, 2), np.float16)])
def test_loading_holds_constants_to_their_declaration(array: np.ndarray[Any, Any]) -> None:
    builder, _, _ = relu_model()
    position = builder.constant(array)
    tensor = builder.tensors[position]
    builder.tensors[position] = OmTensor(tensor.name, "float16", [2, 3], "ND", tensor.member)
    (finding,) = findings(builder.build())
    assert "constant 't2' must be float16 2x3, found" in finding.message
    assert finding.place is not None
    assert finding.place.field == "weights/0.npy"


WINDOW: dict[str, OmAttribute] = {"ksize": [1, 1, 2, 2], "strides": [1, 1, 1, 1]}
CONV: dict[str, OmAttribute] = {"strides": [1, 1, 1, 1], "pads": [0, 0, 0, 0]}
IMAGE = [1, 4, 5, 5]
TRANSPOSED: dict[str, OmAttribute] = {**CONV, "input_size": [1, 2, 7, 7]}
STATISTICS = [[4]] * 4

BAD_NODES: list[tuple[str, list[list[int]], dict[str, OmAttribute], str]] = [
    ("Relu", [[2]], {"alpha": 1.0}, "Relu has no attribute alpha"),
    ("Muls", [[2]], {}, "attribute value is missing"),
    ("Muls", [[2]], {"value": "2"}, "attribute value must be float, found '2'"),
    ("Muls", [[2]], {"value": True}, "attribute value must be float, found True"),
    ("TransposeD", [[2]], {"perm": 0}, "attribute perm must be ints, found 0"),
    ("TransposeD", [[2]], {"perm": [0.5]}, "attribute perm must be ints, found [0.5]"),
    ("TransposeD", [[2]], {"perm": [0, 1]}, "perm must have 1 elements, found [0, 1]"),
    ("TransposeD", [[2, 3]], {"perm": [1, 1]}, "axes must differ"),
    ("TransposeD", [[2, 3]], {"perm": [0, 2]}, "axis must be in [-2, 1], found 2"),
    ("Cast", [[2]], {"dst_type": "float13"}, "unknown dtype 'float13'"),
    ("Add", [[2]], {}, "input 'x2' is absent"),
    ("Add", [[2], [3]], {}, "do not broadcast"),
    ("Relu", [[2], [2]], {}, "at most 1 inputs are allowed, found 2"),
    ("AccumulateNV2", [[2], [2]], {"N": 3}, "N is 3, but there are 2 inputs"),
    ("AccumulateNV2", [[2], [1]], {"N": 2}, "inputs must be float16 2 like the first"),
    ("ConcatD", [[2, 3], [2, 4]], {"concat_dim": 0, "N": 2}, "differ on an axis other than 0"),
    ("ConcatD", [[2, 3]], {"concat_dim": 2, "N": 1}, "axis must be in [-2, 1], found 2"),
    ("ConcatD", [[2, 3]], {"concat_dim": 0, "N": 2}, "N is 2, but there are 1"),
    ("ClipByValue", [[2], [2], [1]], {}, "clip_value_min must be one element"),
    ("SplitVD", [[4]], {"size_splits": [1, 2], "split_dim": 0, "num_split": 2}, "add up to 4"),
    ("SplitVD", [[4]], {"size_splits": [4], "split_dim": 0, "num_split": 2}, "num_split is 2"),
    ("StridedSliceD", [[4]], {"begin": [0], "end": [4], "strides": [0]}, "must not be 0"),
    ("StridedSliceD", [[4]], {"begin": [0], "end": [4], "strides": []}, "1 elements"),
    ("PadV3D", [[4]], {"paddings": [1]}, "paddings must have 2 elements"),
    ("PadV3D", [[4]], {"paddings": [1, 1], "mode": "wrap"}, "constant, edge or reflect"),
    ("PadV3D", [[4]], {"paddings": [4, 0], "mode": "reflect"}, "cannot be mirrored by 4"),
    ("PadV3D", [[4]], {"paddings": [-5, 3]}, "cannot have borders [-5, 3]"),
    ("Flatten", [[2, 3]], {"axis": 3}, "axis must be in [-2, 2], found 3"),
    ("Unsqueeze", [[2, 3]], {"axes": [4]}, "axis must be in [-3, 2], found 4"),
    ("SoftmaxV2", [[2, 3]], {"axes": [2]}, "axis must be in [-2, 1], found 2"),
    ("ReduceMeanD", [[2, 3]], {"axes": [0, -2]}, "axes must differ"),
    ("LRN", [[2]], {}, "a channel axis"),
    ("LRN", [IMAGE], {"norm_region": "WITHIN"}, "norm_region must be 'ACROSS_CHANNELS'"),
    ("BNInfer", [[4], *STATISTICS], {"epsilon": 0.1}, "x must have a channel axis"),
    ("BNInfer", [[2, 3], *STATISTICS], {"epsilon": 0.1}, "scale must have shape 3"),
    ("BatchNorm", [IMAGE, *STATISTICS], {"is_training": True}, "is_training must be False"),
    ("BatchNorm", [IMAGE, [4], [4]], {}, "input 3 is absent"),
    ("MatMulV2", [[2, 3], [2, 3]], {}, "inner dims must be equal, found 3 and 2"),
    ("MatMulV2", [[2, 3], [3, 4], [3]], {}, "bias must have shape 4, found float16 3"),
    ("MatMulV2", [[2, 3, 4], [3, 4]], {}, "x1 must have 2 axes"),
    ("MatMulV2", [[2, 3], [3, 4], [4], [1]], {}, "offset_w is for quantized"),
    ("MaxPoolV3", [[4, 5]], WINDOW, "x must have 4 axes"),
    ("MaxPoolV3", [IMAGE], {**WINDOW, "ksize": [1, 1, 6, 2]}, "a window of 6 does not fit in 5"),
    ("MaxPoolV3", [IMAGE], {**WINDOW, "ksize": [2, 2]}, "ksize must have 4 elements"),
    ("MaxPoolV3", [IMAGE], {**WINDOW, "ksize": [1, 2, 2, 2]}, "must start with 1, 1"),
    ("MaxPoolV3", [IMAGE], {**WINDOW, "strides": [1, 1, 0, 1]}, "stride and dilation must be"),
    ("AvgPoolV2", [IMAGE], {**WINDOW, "padding_mode": "FULL"}, "CALCULATED, SAME or VALID"),
    ("AvgPoolV2", [IMAGE], {**WINDOW, "data_format": "NHWC"}, "data_format must be 'NCHW'"),
    ("Conv2D", [IMAGE, [2, 3, 1, 1]], CONV, "4 channels, 1 groups and filter"),
    ("Conv2D", [IMAGE, [3, 2, 1, 1]], {**CONV, "groups": 2}, "4 channels, 2 groups and filter"),
    ("Conv2D", [IMAGE, [2, 4, 1, 1], [3]], CONV, "bias must have shape 2, found float16 3"),
    ("Conv2D", [IMAGE, [2, 4, 1, 1]], {**CONV, "pads": [0, 0]}, "pads must have 4 elements"),
    ("Conv2D", [IMAGE, [2, 4, 1, 1]], {**CONV, "offset_x": 3}, "offset_x must be 0"),
    ("Conv2D", [IMAGE, [2, 4, 6, 1]], CONV, "a window of 6 does not fit in 5"),
    ("Conv2D", [IMAGE, [2, 4, 0, 1]], CONV, "filter must have elements"),
    ("Conv2D", [IMAGE, [2, 4, 1, 1], [2], [1]], CONV, "offset_w is for quantized"),
    ("DepthwiseConv2D", [IMAGE, [6, 1, 1, 1]], CONV, "4 channels, 4 groups and filter"),
    ("Conv2DTransposeD", [IMAGE, [4, 2, 3, 3]], {**TRANSPOSED, "groups": 3}, "3 groups"),
    ("Conv2DTransposeD", [IMAGE, [4, 2, 4, 3]], TRANSPOSED, "input_size must be [1, 2, 8, 7]"),
]  # fmt: skip


@in_one_item(
    ("op", "shapes", "attributes", "message"),
    [pytest.param(*row, id=f"{row[0]}-{row[3]}") for row in BAD_NODES],
)
def test_loading_refuses_a_bad_node(
    op: str, shapes: list[list[int]], attributes: Mapping[str, OmAttribute], message: str
) -> None:
    builder = ModelBuilder()
    inputs = [builder.input(f"x{i}", "float16", shape) for i, shape in enumerate(shapes)]
    builder.node(op, inputs, [("float16", shapes[0])], attributes)
    (finding,) = findings(builder.build())
    assert message in finding.message
    assert finding.place is not None
    assert finding.place.op_type == op


@pytest.mark.parametrize("op", ["Add", "Mul", "MatMulV2", "ConcatD"])
def test_loading_refuses_mixed_dtypes(op: str) -> None:
    builder = ModelBuilder()
    inputs = [builder.input(name, name, [2, 2]) for name in ("float16", "float32")]
    attributes: dict[str, OmAttribute] = {"concat_dim": 0, "N": 2} if op == "ConcatD" else {}
    builder.node(op, inputs, [("float16", [2, 2])], attributes)
    assert "same dtype, found float16, float32" in findings(builder.build())[0].message


@pytest.mark.parametrize("op", ["SoftmaxV2", "LRN"])
def test_loading_refuses_integers_where_floats_are_computed(op: str) -> None:
    builder = ModelBuilder()
    builder.node(op, [builder.input("x", "int32", [2, 2])], [("int32", [2, 2])])
    assert "the kernel computes floats, found int32" in findings(builder.build())[0].message


@pytest.mark.parametrize("wanted", [[4, 2], [-1, 4], [-1, -1], [-2, -3]])
def test_loading_refuses_a_reshape_to_another_size(wanted: list[int]) -> None:
    builder = ModelBuilder()
    x = builder.input("x", "float16", [2, 3])
    builder.node("Reshape", [x, builder.constant(np.array(wanted))], [("float16", [2, 3])])
    assert "cannot be reshaped to" in findings(builder.build())[0].message


@pytest.mark.parametrize(
    ("op", "shape", "numbers", "attributes"),
    [
        ("Reshape", [2, 3], [2, 3], {}),
        ("TopK", [2, 3], [1], {"dim": -1}),
        ("ResizeNearestNeighborV2", [1, 1, 2, 2], [4, 4], {}),
        ("ReduceLogSumExp", [2, 3], [0], {}),
        ("Multinomial", [2, 3], [4], {"dtype": "int32"}),
    ],
)
@pytest.mark.parametrize("odd", [np.inf, np.nan, 0])
def test_loading_refuses_fractions_for_sizes_and_places(
    op: str, shape: list[int], numbers: Any, attributes: dict[str, Any], odd: float
) -> None:
    builder = ModelBuilder()
    given = builder.constant(np.array(numbers, np.float32) + np.float32(odd))
    outputs = [("float32", [2, 3]), ("int32", [2, 3])][: 2 if op == "TopK" else 1]
    builder.node(op, [builder.input("x", "float32", shape), given], outputs, attributes)
    assert "input 1 must hold integers, found float32" in findings(builder.build())[0].message


def test_loading_refuses_an_absent_variadic_input() -> None:
    builder = ModelBuilder()
    x = builder.input("x", "float16", [2])
    builder.node("ConcatD", [x, -1], [("float16", [2])], {"concat_dim": 0, "N": 2})
    assert "must all be given" in findings(builder.build())[0].message


def test_loading_needs_no_data_of_results() -> None:
    builder = ModelBuilder()
    x = builder.input("x", "float32", [2**20, 2**10])
    (y,) = builder.node("Relu", [x], [("float32", [2**20, 2**10])])
    builder.output("y", y)
    load(builder.build())
