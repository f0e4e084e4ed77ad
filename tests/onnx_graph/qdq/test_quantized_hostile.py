"""Quantized models that are broken, or not known as far as they might be."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from atc_py.diag import AtcError
from atc_py.onnx_graph.reading.onnx_file import surveyed
from atc_py.onnx_graph.reading.read import read_model
from atc_py.onnx_graph.source import Outcome
from tests.onnx_graph.qdq import test_quantized_layers as layers
from tests.onnx_graph.qdq import test_quantized_operators as operators_
from tests.onnx_graph.qdq import test_quantized_tensors as tensors
from tests.onnx_graph.qdq.quantized_models import Sketch, node_of, operators

I8, U8, I64 = np.int8, np.uint8, np.int64

_ATTRIBUTES = ("axis", "perm", "pads", "group", "block_size", "output_dtype", "transB", "alpha")
_VALUES: tuple[Any, ...] = (-9, 0, 1, 7, [0, 1], [2, 1, 0], 1.5, "SAME_UPPER")


def sound() -> list[onnx.ModelProto]:
    """Return models of every kind."""
    scales = np.array([0.25, 0.5], np.float32)
    return [
        layers.convolution(5, U8, "int32", scales).model(),
        layers.gemm("whole", 2, beta=3.0).model(),
        tensors.moved(U8, 100).model(),
        operators_.linear_convolution(U8, 3, np.linspace(0.1, 0.2, 6)).model(),
        operators_.linear("QLinearConcat", U8, 3, 2, axis=1).model(),
        operators_.softmax(13).model(),
    ]


def mutate(model: onnx.ModelProto, choice: random.Random) -> None:
    """Break something."""
    graph = model.graph
    node = choice.choice(list(graph.node))
    names = [each.name for each in (*graph.initializer, *graph.input)]
    names += [name for each in graph.node for name in each.output]
    at = choice.randrange(len(node.input)) if node.input else 0
    match choice.randrange(6):
        case 0 if node.input:
            node.input.pop()
        case 1 if node.input:
            node.input[at] = choice.choice([*names, ""])
        case 2:
            node.op_type = choice.choice(["Conv", "MatMul", "Gemm", "Concat", "QuantizeLinear"])
        case 3 if node.attribute:
            node.attribute.pop()
        case 4:
            name, value = choice.choice(_ATTRIBUTES), choice.choice(_VALUES)
            node.attribute.append(helper.make_attribute(name, value))
        case _ if graph.initializer:
            tensor = choice.choice(list(graph.initializer))
            array = onnx.numpy_helper.to_array(tensor)
            changed = [array.reshape(-1), array[..., None], array * 0, array.astype(np.float32)]
            changed += [array.astype(np.int32), array.reshape(-1)[:1], array.reshape(-1)[:0]]
            changed += [array.astype(np.uint8)]
            found = np.ascontiguousarray(choice.choice(changed))
            tensor.CopyFrom(onnx.numpy_helper.from_array(found, tensor.name))
        case _:
            pass


@pytest.mark.parametrize("seed", range(8))
def test_broken_models_end_in_findings(tmp_path: Path, seed: int) -> None:
    choice, models, path = random.Random(seed), sound(), tmp_path / "model.onnx"  # noqa: S311
    survived = 0
    for _ in range(40):
        model = onnx.ModelProto()
        model.CopyFrom(choice.choice(models))
        for _ in range(choice.choice([1, 1, 2])):
            mutate(model, choice)
        path.write_bytes(model.SerializeToString())
        try:
            surveyed(read_model(path, lenient=True), {})
            read_model(path).fold({}).to_source()
        except AtcError:
            continue
        survived += 1
    assert survived > 2


def test_a_bias_of_another_length_does_not_belong_to_the_layer(tmp_path: Path) -> None:
    s = Sketch()
    x = s.qdq(s.input("x", [1, 1, 2, 2]), 0.5)
    w = s.dq(s.weight(np.ones((2, 1, 1, 1)), I8), [0.5, 0.25], [0, 0], axis=0)
    s.output(s.op("Conv", x, w, s.weight([1.0, 2.0, 3.0])))
    (reported,) = s.view(tmp_path).quantized
    assert reported.reason is not None
    assert reported.reason.en == "its bias does not fit its channels"


def test_weights_without_enough_axes_are_none(tmp_path: Path) -> None:
    s = Sketch()
    x = s.qdq(s.input("x", [1, 1, 2, 2]), 0.5)
    s.output(s.op("Conv", x, s.dq(s.weight(3, I8), 0.5)))
    (reported,) = s.view(tmp_path).quantized
    assert reported.reason is not None
    assert reported.reason.en == "its weights have too few axes"


@pytest.mark.parametrize(
    ("scale", "zero", "words"),
    [
        ([0.5, 0.25], [1, 2, 3], "3 zero points, 2 scales"),
        ([0.5, 0.25], [0, 0], "2 scales along axis 1"),
        (-0.5, 0, "its scale is -0.5; a positive float32 or float16 is needed"),
        (np.inf, 0, "its scale is inf; "),
        ([[0.5, 0.25, 1.0]] * 2, [[0] * 3] * 2, "its scale is of the shape [2, 3]; "),
    ],
)
def test_parameters_that_do_not_fit(tmp_path: Path, scale: Any, zero: Any, words: str) -> None:
    s = Sketch()
    s.output(s.q(s.input("x", [2, 3]), scale, zero), I8)
    (reported,) = s.view(tmp_path).quantized
    assert (reported.outcome, reported.op_type) == (Outcome.KEPT, "QuantizeLinear")
    assert reported.reason is not None
    assert words in reported.reason.en


def test_double_scales_are_none(tmp_path: Path) -> None:
    s = Sketch()
    scale = s.weight(0.5, np.float64)
    s.output(s.op("QuantizeLinear", s.input("x", [2, 3]), scale), U8)
    (reported,) = s.view(tmp_path).quantized
    assert reported.reason is not None
    assert "its scale is float64" in reported.reason.en


# Shapes that are not known ----------------------------------------------------------------------


def test_layers_need_no_shapes(tmp_path: Path) -> None:
    s = Sketch()
    x = s.qdq(s.input("x", ["n", 3, "h", "w"]), 0.5, 3)
    w = s.dq(s.weight(np.ones((4, 3, 3, 3)), I8), 0.5)
    s.output(s.op("Conv", x, w, pads=[1] * 4))
    view = s.view(tmp_path)
    assert [node.op_type for node in view.nodes] == ["AscendQuant", "Conv", "AscendDequant"]
    assert [each.outcome for each in view.quantized] == [Outcome.INTEGER]
    assert view.nodes[-1].outputs[0] is not None
    assert view.nodes[-1].outputs[0].dims == (None, 4, None, None)


def test_sums_over_an_open_dim_stay_in_floats_until_it_is_known(tmp_path: Path) -> None:
    s = Sketch()
    a = s.qdq(s.input("a", [2, 3, "k"]), 0.5, 3)
    b = s.qdq(s.input("b", [2, "k", 4]), 0.5)
    s.output(s.op("MatMul", a, b))
    (reported,) = s.view(tmp_path).quantized
    assert reported.outcome is Outcome.FLOAT
    assert reported.reason is not None
    assert "over a dim that is open" in reported.reason.en
    (reported,) = s.folded(tmp_path, a=(2, 3, 5), b=(2, 5, 4)).source.quantized
    assert reported.outcome is Outcome.INTEGER


def test_rows_of_open_number_keep_their_channels(tmp_path: Path) -> None:
    # Whether axis 1 has as many rows as there are channels is not known.
    s = Sketch()
    x = s.qdq(s.input("x", ["n", 5, 6]), 0.5)
    y = s.qdq(s.op("Transpose", x, perm=[1, 0, 2]), 0.5)
    w = s.dq(s.weight(np.ones((6, 4)), I8), [0.5] * 4, [0] * 4, axis=1)
    s.output(s.op("MatMul", y, w))
    names = ["AscendQuant", "Transpose", "Reshape", "MatMul", "AscendDequant", "Reshape"]
    view = s.view(tmp_path)
    assert [node.op_type for node in view.nodes] == names
    last = view.nodes[-1].outputs[0]
    assert last is not None
    assert last.dims == (5, None, 4)


def test_branches_get_real_numbers(tmp_path: Path) -> None:
    s = Sketch()
    x = s.qdq(s.input("x", [2, 3]), 0.5)
    branches = {}
    for name, op in (("then_branch", "Relu"), ("else_branch", "Neg")):
        info = helper.make_tensor_value_info(f"{name}_y", onnx.TensorProto.FLOAT, [2, 3])
        node = helper.make_node(op, [x], [info.name])
        branches[name] = helper.make_graph([node], name, [], [info])
    s.output(s.op("If", s.input("c", [], np.bool_), **branches))
    model = s.source(tmp_path)
    assert operators(model) == ["AscendQuant", "AscendAntiQuant", "If"]
    outputs = node_of(model, "If").outputs
    assert outputs[0] is not None
    assert outputs[0].dims == (2, 3)
