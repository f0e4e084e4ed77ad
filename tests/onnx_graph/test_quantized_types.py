"""Types of quantized nodes: Ascend's operators without stated types, and layers on int8."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from onnx import helper

import atc_py
from atc_py.onnx_graph.reading.onnx_file import surveyed
from atc_py.onnx_graph.reading.read import read_model
from atc_py.onnx_graph.typing import infer, inference_model
from atc_py.tensor.dtypes import DType
from tests.onnx_graph import onnx_files

node = helper.make_node
FLOAT = onnx_files.FLOAT
QUANT = node("AscendQuant", ["x"], ["q"], scale=20.0, offset=3.0)
DEQUANT = node("AscendDequant", ["sum", "d"], ["y"])


def layer(op: str, weights: tuple[int, ...], bias: int = 0, **attributes: Any) -> Any:
    """Return a quantized layer, by its operator and the shape of its weights."""
    names = ["q", "w", *(["b"] if bias else [])]
    consts = {"w": np.ones(weights, np.int8), "d": np.array([2**30], np.uint64)}
    if bias:
        consts["b"] = np.ones(bias, np.int32)
    return node(op, names, ["sum"], "layer", **attributes), consts


LAYERS = [
    ([1, 3, 8, 8], (4, 3, 3, 3), layer("Conv", (4, 3, 3, 3), 4), (1, 4, 6, 6)),
    ([1, 3, 8, 8], (3, 4, 2, 2), layer("ConvTranspose", (3, 4, 2, 2), 4), (1, 4, 9, 9)),
    (
        [1, 3, 8, 8],
        (3, 4, 2, 2),
        layer("ConvTranspose", (3, 4, 2, 2), 4, output_shape=[16, 16], strides=[2, 2]),
        (1, 4, 16, 16),
    ),
    ([2, 3], (3, 4), layer("Gemm", (3, 4), 4), (2, 4)),
    ([5, 2, 3], (3, 4), layer("MatMul", (3, 4)), (5, 2, 4)),
]


@pytest.mark.parametrize(("shape", "weights", "made", "result"), LAYERS)
def test_layers_on_int8_have_int32_sums(
    shape: list[int], weights: tuple[int, ...], made: Any, result: tuple[int, ...], tmp_path: Path
) -> None:
    middle, consts = made
    assert consts["w"].shape == weights
    proto = onnx_files.model([QUANT, middle, DEQUANT], {"x": (FLOAT, shape)}, ["y"], consts)
    model = onnx_files.source(proto, tmp_path)
    found = {
        value.name: (value.dtype, value.shape)
        for each in model.nodes
        for value in each.outputs
        if value is not None
    }
    assert found == {
        "q": (DType.INT8, tuple(shape)),
        "sum": (DType.INT32, result),
        "y": (DType.FLOAT32, result),
    }


def test_many_layers_are_typed_in_few_inferences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    runs: list[Any] = []
    original = inference_model.infer_shapes

    def counted(model: Any, **options: bool) -> Any:
        runs.append(model)
        return original(model, **options)

    monkeypatch.setattr(infer, "infer_shapes", counted)
    nodes = []
    consts: dict[str, npt.NDArray[Any]] = {
        "w": np.ones((3, 3), np.int8),
        "d": np.array([2**30], np.uint64),
    }
    for position in range(20):
        x, q, s, y = (f"{name}{position}" for name in "xqsy")
        nodes += [
            node("AscendQuant", [x if not position else f"y{position - 1}"], [q], scale=2.0),
            node("MatMul", [q, "w"], [s]),
            node("AscendDequant", [s, "d"], [y]),
        ]
    proto = onnx_files.model(nodes, {"x0": (FLOAT, [2, 3])}, ["y19"], consts)
    model = onnx_files.source(proto, tmp_path)
    assert model.outputs[0].shape == (2, 3)
    assert len(runs) <= 4


@pytest.mark.parametrize(
    ("made", "dtypes"),
    [
        (node("AscendQuant", ["x"], ["y"], scale=1.0, offset=0.0), ["int8"]),
        (node("AscendQuant", ["x"], ["y"], scale=1.0, dst_type="INT16"), ["int16"]),
        (node("AscendAntiQuant", ["x"], ["y"], scale=1.0, dtype=1), ["float16"]),
        (node("AscendAntiQuant", ["x"], ["y"], scale=1.0, domain="npu"), ["float32"]),
        (node("AscendDequant", ["x", "d"], ["y"], dtype=1), ["float16"]),
        (node("AscendRequant", ["x", "d"], ["y"]), ["int8"]),
        (node("AscendDequantS16", ["x", "d"], ["y"]), ["int16"]),
        (node("AscendRequantS16", ["x", "d"], ["y", "y1"], dual_output=1), ["int8", "int16"]),
    ],
)
def test_operators_of_ascend_keep_the_shape_of_their_input(
    made: Any, dtypes: list[str], tmp_path: Path
) -> None:
    names = list(made.output)
    proto = onnx_files.model(
        [made],
        {"x": (FLOAT, [2, "n", 3])},
        names,
        {"d": np.array([1], np.uint64)},
        opsets={"": 13, "npu": 1},
    )
    (view,) = surveyed(read_model(onnx_files.save(proto, tmp_path), lenient=True), {}).source.nodes
    assert [each.element for each in view.outputs if each] == dtypes
    assert [each.dims for each in view.outputs if each] == [(2, None, 3)] * len(names)


def test_odd_attribute_leaves_the_type_open(tmp_path: Path) -> None:
    proto = onnx_files.model(
        [node("AscendQuant", ["x"], ["y"], scale=1.0, dst_type="INT3")], {"x": (FLOAT, [2])}, ["y"]
    )
    (view,) = surveyed(read_model(onnx_files.save(proto, tmp_path), lenient=True), {}).source.nodes
    assert [each.element for each in view.outputs if each] == [""]


def test_layer_on_int8_after_a_slice_of_a_window_has_its_dims(tmp_path: Path) -> None:
    # Slices after windows are inferred a run later than the layers after them.
    consts: dict[str, npt.NDArray[Any]] = {
        "f": np.ones((1, 1, 1, 1), np.float32),
        "from": np.array([2], np.int64),
        "to": np.array([8], np.int64),
        "axis": np.array([2], np.int64),
        "w": np.ones((8, 4), np.int8),
        "d": np.array([2**30], np.uint64),
    }
    nodes = [
        node("Conv", ["x", "f"], ["seen"]),
        node("Slice", ["seen", "from", "to", "axis"], ["cut"]),
        node("AscendQuant", ["cut"], ["q"], scale=20.0, offset=3.0),
        node("MatMul", ["q", "w"], ["sum"]),
        DEQUANT,
    ]
    proto = onnx_files.model(nodes, {"x": (FLOAT, [1, 1, 10, 8])}, ["y"], consts)
    model = onnx_files.source(proto, tmp_path)
    found = {v.name: (v.dtype, v.shape) for each in model.nodes for v in each.outputs if v}
    assert found["sum"] == (DType.INT32, (1, 1, 6, 4))


PACKED = [
    ([1, 32, 8, 8], layer("Conv", (4, 16, 3, 3))),
    ([1, 32, 8, 8], layer("Conv", (4, 8, 3, 3), group=2)),
    ([1, 32, 8, 8], layer("ConvTranspose", (16, 4, 3, 3))),
    ([5, 32], layer("Gemm", (16, 4))),
    ([5, 32], layer("Gemm", (4, 16), transB=1)),
    ([5, 32], layer("MatMul", (16, 4))),
]


@pytest.mark.parametrize("target", ["INT8", "INT4"])
@pytest.mark.parametrize(("shape", "made"), PACKED)
def test_two_weights_in_a_byte_are_named(
    shape: list[int], made: Any, target: str, tmp_path: Path
) -> None:
    middle, consts = made
    quant = node("AscendQuant", ["x"], ["q"], scale=20.0, offset=0.0, dst_type=target)
    model = onnx_files.model([quant, middle, DEQUANT], {"x": (FLOAT, shape)}, ["y"], consts)
    (checked,) = atc_py.check_models(onnx_files.save(model, tmp_path)).models
    (fault,) = checked.faults
    assert "for 32 input channels" in fault.message
    assert "two 4-bit weights in a byte" in fault.message
