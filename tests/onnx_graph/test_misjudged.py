"""Nodes that onnx's inference misjudges: no contradiction is found where there is none."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from atc_py.onnx_graph.reading import onnx_file
from atc_py.onnx_graph.reading.read import read_model
from atc_py.onnx_graph.source import SourceModel
from tests.conformance.node_cases import node_cases
from tests.onnx_graph import onnx_files
from tests.sampling import some

node = helper.make_node
FLOAT, INT64 = onnx_files.FLOAT, onnx_files.INT64


def surveyed(proto: onnx.ModelProto, folder: Path) -> SourceModel:
    return onnx_file.surveyed(read_model(onnx_files.save(proto, folder), lenient=True), {}).source


def dims(view: SourceModel, name: str) -> tuple[int | None, ...] | None:
    (found,) = (
        each.dims
        for one in view.nodes
        for each in one.outputs
        if each is not None and each.name == name
    )
    return found


def spectrum(onesided: int | None, bins: int) -> onnx.ModelProto:
    """Return transform 128 samples in frames of 16, and reshape the result to `bins` bins."""
    attributes: dict[str, Any] = {} if onesided is None else {"onesided": onesided}
    nodes = [
        node("STFT", ["x", "step", "", "length"], ["s"], "stft", **attributes),
        node("Reshape", ["s", "shape"], ["r"]),
        node("Relu", ["r"], ["y"]),
    ]
    weights = {
        "step": np.array(8, np.int64),
        "length": np.array(16, np.int64),
        "shape": np.array([15 * bins * 2], np.int64),
    }
    return onnx_files.model(nodes, {"x": (FLOAT, [1, 128, 1])}, ["y"], weights, {"": 17})


@pytest.mark.parametrize(("onesided", "bins"), [(None, 9), (1, 9), (0, 16)])
def test_spectrum_is_one_sided_unless_stated_otherwise(
    onesided: int | None, bins: int, tmp_path: Path
) -> None:
    view = surveyed(spectrum(onesided, bins), tmp_path)
    assert view.faults == ()
    assert dims(view, "s") == (1, 15, bins, 2)
    wrong = surveyed(spectrum(onesided, bins + 1), tmp_path)
    assert len(wrong.faults) == 1


POOL: dict[str, Any] = {"kernel_shape": [1, 1], "strides": [2, 2], "ceil_mode": 1}
MERGED = {"w": np.ones((1, 1, 1, 1), np.float32)}
QKV: onnx_files.Ports = {name: (FLOAT, ["b", 4, 8, 16]) for name in "qkv"}
SIZES: onnx_files.Ports = {"x": (FLOAT, [1, 3, 4, 4]), "s": (INT64, ["k"])}
NEAREST = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric"}

SOUND = {
    "pool with ceil_mode behind an open batch": onnx_files.model(
        [node("MaxPool", ["x"], ["p"], **POOL), node("Concat", ["p", "w"], ["y"], axis=0)],
        {"x": (FLOAT, ["n", 1, 2, 2])},
        ["y"],
        MERGED,
    ),
    "average with ceil_mode behind an open width": onnx_files.model(
        [node("AveragePool", ["x"], ["p"], **POOL), node("Concat", ["p", "w"], ["y"], axis=3)],
        {"x": (FLOAT, [1, 1, 2, "width"])},
        ["y"],
        MERGED,
    ),
    "transposed convolution with SAME padding and an open batch": onnx_files.model(
        [
            node(
                "ConvTranspose",
                ["x", "f"],
                ["p"],
                auto_pad="SAME_UPPER",
                strides=[2, 2],
                output_padding=[1, 1],
            ),
            node("Concat", ["p", "w"], ["y"], axis=0),
        ],
        {"x": (FLOAT, ["n", 1, 4, 4])},
        ["y"],
        {"f": np.ones((1, 1, 3, 3), np.float32), "w": np.ones((1, 1, 8, 8), np.float32)},
    ),
    "attention with an open batch": onnx_files.model(
        [node("Attention", ["q", "k", "v"], ["a"]), node("Concat", ["a", "w"], ["y"], axis=0)],
        QKV,
        ["y"],
        {"w": np.ones((1, 4, 8, 16), np.float32)},
        {"": 23},
    ),
    "sizes of an open number": onnx_files.model(
        [node("Resize", ["x", "", "", "s"], ["y"], **NEAREST)], SIZES, ["y"]
    ),
    "text of an open dim": onnx_files.model(
        [node("StringNormalizer", ["x"], ["y"])], {"x": (TensorProto.STRING, ["n", 4])}, ["y"]
    ),
    "pads along axes that are fed": onnx_files.model(
        [node("Pad", ["x", "p", "", "a"], ["y"])],
        {"x": (FLOAT, [2, 3, 4, 4]), "a": (INT64, [2])},
        ["y"],
        {"p": np.array([1, 1, 1, 1], np.int64)},
        {"": 18},
    ),
}
"""Models that some choice of open dims, or some data, makes sound."""


@pytest.mark.parametrize("what", SOUND)
def test_what_may_be_sound_is_not_a_contradiction(what: str, tmp_path: Path) -> None:
    if what.startswith("attention") and onnx.defs.onnx_opset_version() < 23:
        pytest.skip("the installed onnx is too old")
    view = surveyed(SOUND[what], tmp_path)
    assert (view.faults, view.doubts) == ((), ())


def test_open_dims_stay_open_where_others_are_put_right(tmp_path: Path) -> None:
    inputs: onnx_files.Ports = {"x": (FLOAT, ["n", 1, 2, "w"])}
    proto = onnx_files.model([node("MaxPool", ["x"], ["y"], **POOL)], inputs, ["y"])
    assert dims(surveyed(proto, tmp_path), "y") == (None, 1, 1, None)


def test_inference_as_it_is_asked_agrees_with_every_conformance_case_that_has_open_dims(
    tmp_path: Path,
) -> None:
    wrong = []
    cases = [
        each
        for each in node_cases().values()
        if each.model is not None and len(each.model.graph.node) == 1
    ]
    for case in some(cases, 3):
        proto = onnx.ModelProto()
        proto.CopyFrom(case.model)
        if proto.graph.node[0].op_type in {"Loop", "Scan", "SequenceMap"}:
            continue
        for value in proto.graph.input:
            if value.type.WhichOneof("value") == "tensor_type":
                for at, dim in enumerate(value.type.tensor_type.shape.dim):
                    if at % 2 == 0:
                        dim.Clear()
        for value in proto.graph.output:
            value.ClearField("type")
        view = surveyed(proto, tmp_path)
        wrong += [f"{case.name}: {fault.message}" for fault in view.faults]
        if len(view.nodes) == 1 and case.data_sets:
            results = zip(view.nodes[0].outputs, case.data_sets[0][1], strict=False)
            wrong += [
                f"{case.name}: {seen.dims} of {array.shape}"
                for seen, array in results
                if seen is not None
                and seen.dims is not None
                and hasattr(array, "shape")
                and not _may_be(seen.dims, array.shape)
            ]
    assert not wrong, "\n".join(wrong)


def _may_be(dims: tuple[int | None, ...], shape: tuple[int, ...]) -> bool:
    """Tell whether dims that are known are those of a shape."""
    return len(dims) == len(shape) and all(
        one in {None, other} for one, other in zip(dims, shape, strict=True)
    )
