"""Models of Huawei's atc in the target's operators: what is opened, run, assumed and left out."""

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from numpy.typing import NDArray
from onnx import numpy_helper

import atc_py
from atc_py.diag import AtcError
from atc_py.package.reader import OfflineModel
from atc_py.pipeline.huawei import open_offline
from tests.package.ge.om_files import om_file
from tests.pipeline.huawei.example_models import (
    PIPE_KERNEL,
    chained,
    images,
    partly_known,
    piped,
)
from tests.pipeline.huawei.small_models import FILTERS, IMAGES, SmallModel, Tensor, halves

onnxruntime = pytest.importorskip("onnxruntime")

Arrays = Mapping[str, NDArray[Any]]
_HEAD = '<ir_version: 8, opset_import: ["" : 13]> net'


def expected(text: str, feeds: Arrays, weights: Arrays) -> dict[str, NDArray[Any]]:
    """Outputs of a network in float32, in onnxruntime."""
    model = network(text, weights)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    names = [value.name for value in session.get_outputs()]
    wide = {name: array.astype(np.float32) for name, array in feeds.items()}
    return dict(zip(names, session.run(None, wide), strict=True))


def network(text: str, weights: Arrays) -> onnx.ModelProto:
    model = onnx.parser.parse_model(f"{_HEAD} {text}")
    for name, array in weights.items():
        model.graph.initializer.append(numpy_helper.from_array(array.astype(np.float32), name))
    for node in model.graph.node:
        node.name = node.output[0]
    return model


def run(path: Path, feeds: Arrays, like: Path | None = None) -> dict[str, NDArray[Any]]:
    with atc_py.load(path, like=like) as model:
        return model.run(feeds)


def operators(model: OfflineModel) -> list[str]:
    return [node.op for node in model.description.nodes]


W = halves(1, 16, 16, 3, 3) * np.float16(0.1)
X, OTHER = halves(2, 1, 16, 6, 6), halves(3, 1, 16, 6, 6)
SLOPE = np.full((1, 1, 1), 0.3, np.float32)
CONV = "c = Conv <pads = [1, 1, 1, 1]> (x, w)"
_PORTS = "(float[1, 16, 6, 6] x, float[1, 16, 6, 6] other) => (float[1, 16, 6, 6] y)"


@pytest.mark.parametrize(
    ("types", "slots", "after", "last"),
    [
        (["Relu"], {}, "y = Relu (c)", "out"),
        (["PRelu"], {6: "s"}, "y = PRelu (c, s)", "out"),
        (["Relu", "Add"], {4: "other"}, "r = Relu (c) y = Add (r, other)", "out"),
        (["Add", "Relu"], {4: "other"}, "r = Add (c, other) y = Relu (r)", "out"),
        (
            ["PRelu", "Add", "PRelu"],
            {4: "other", 6: "s", 9: "t"},
            "p = PRelu (c, s) a = Add (p, other) y = PRelu (a, t)",
            "out",
        ),
        (
            ["Relu", "Add", "Relu"],
            {4: "other"},
            "p = Relu (c) a = Add (p, other) y = Relu (a)",
            "out",
        ),
        (["PRelu", "Add"], {4: "other", 9: "t"}, "a = Add (c, other) y = PRelu (a, t)", "n0"),
    ],
)
def test_fix_pipe_is_opened_into_its_operators(
    tmp_path: Path, types: list[str], slots: dict[int, str], after: str, last: str
) -> None:
    arrays = {"w": W, "s": SLOPE, "t": SLOPE * 2}
    arrays = {name: each for name, each in arrays.items() if name == "w" or name in slots.values()}
    path = piped(tmp_path / "m.om", types, slots, arrays, last)
    feeds = {"x": X, "other": OTHER} if "other" in slots.values() else {"x": X}
    wanted = expected(f"{_PORTS} {{ {CONV} {after} }}", {"x": X, "other": OTHER}, arrays)
    found = run(path, feeds)
    np.testing.assert_allclose(found["y"].astype(np.float32), wanted["y"], rtol=4e-3, atol=4e-3)
    with open_offline(path) as model:
        assert len({node.scope for node in model.description.nodes}) == 1


def test_launches_formats_places_and_cores_are_those_of_the_file(tmp_path: Path) -> None:
    path = piped(tmp_path / "m.om", ["PRelu"], {6: "s"}, {"w": W, "s": SLOPE})
    with open_offline(path) as model:
        conv, prelu = model.description.nodes
        assert (conv.op, prelu.op) == ("Conv2D", "PRelu")
        assert [origin.name for origin in conv.origins] == ["conv"]
        assert model.description.soc == "Ascend310B4"
        storages = [tensor.storage.format for tensor in model.description.tensors if tensor.storage]
        assert set(storages) == {IMAGES, FILTERS}
        assert model.cores == {conv.name: 1}
        record = model.report["huawei"]
        assert isinstance(record, dict)
        assert record["memory_plan"] == "of the file"
        weights = next(t for t in model.description.tensors if t.name == "w")
        np.testing.assert_array_equal(model.array(weights.member or ""), W)


def load_setting(height: int, width: int, stride: int, dilation: int, pad: int) -> bytes:
    """Moves that set the loads of windows, and what stands around them in a kernel."""
    value = stride | stride << 6 | width << 12 | height << 20 | dilation << 28 | dilation << 36
    quarters = [value >> 16 * at & 0xFFFF for at in range(4)]
    pads = [64, 64, pad | pad << 8, pad | 0xFF00]
    words = [0x40A01180]
    for register, values in ((0x0A, quarters), (0x04, pads)):
        words += [
            0x07 << 24 | at << 22 | register << 16 | bool(at) << 16 | each
            for at, each in enumerate(values)
        ]
    return b"\x7fELF" + struct.pack(f"<{len(words)}I", *words)


@pytest.mark.parametrize(("stride", "dilation", "pad"), [(1, 2, 2), (2, 1, 1), (1, 1, 1)])
def test_window_is_read_from_the_kernel(
    tmp_path: Path, stride: int, dilation: int, pad: int
) -> None:
    side = (8 + 2 * pad - 2 * dilation - 1) // stride + 1
    made = SmallModel()
    made.input("x", images(1, 16, 8, 8))
    made.constant("w", W, FILTERS)
    made.launch(
        "conv+", "Conv2D", ["x", "w", *[""] * 11], images(1, 16, side, side),
        {"dilations": [1, 1, 1, 1]}, ["conv", "relu"], types=["Relu"], kernel_name=PIPE_KERNEL,
        binary=load_setting(3, 3, stride, dilation, pad), last="relu",
    )  # fmt: skip
    made.output("conv+", "y")
    path = made.write(tmp_path / "m.om")
    with open_offline(path) as model:
        attributes = model.description.nodes[0].attributes
        assert not model.findings
    assert attributes["strides"] == [1, 1, stride, stride]
    assert attributes["dilations"] == [1, 1, dilation, dilation]
    assert attributes["pads"] == [pad] * 4


def test_solved_window_is_said_to_be_assumed_and_the_network_knows_better(tmp_path: Path) -> None:
    path = piped(tmp_path / "m.om", ["Relu"], {}, {"w": W})
    with open_offline(path) as model:
        (finding,) = model.findings
        assert finding.code.id == "ATC5009"
        assert "strides 1,1" in finding.message
        assert model.description.nodes[0].attributes["pads"] == [1, 1, 1, 1]
    dilated = f"{_PORTS} {{ conv = Conv <pads = [2, 2, 2, 2], dilations = [2, 2]> (x, w)"
    like = tmp_path / "net.onnx"
    onnx.save(network(f"{dilated} y = Relu (conv) }}", {"w": W}), like)
    with open_offline(path, like) as model:
        assert not model.findings
        conv = model.description.nodes[0]
        assert conv.attributes["dilations"] == [1, 1, 2, 2]
        assert conv.attributes["pads"] == [2, 2, 2, 2]
        shown = {name for tensor in model.description.tensors for name in tensor.stands_for}
        assert "conv" in shown
    wanted = expected(f"{dilated} y = Relu (conv) }}", {"x": X, "other": OTHER}, {"w": W})
    found = run(path, {"x": X}, like)
    np.testing.assert_allclose(found["y"].astype(np.float32), wanted["y"], rtol=4e-3, atol=4e-3)


CHAIN = (
    "(float[2, 3, 8, 8] x) => (float[2, 10] y) { c = Conv (x, w, b) t = Tanh (c) "
    "p = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (t) f = Flatten (p) "
    "y = Gemm <transB = 1> (f, m, b2) }"
)


def chain_weights() -> dict[str, NDArray[Any]]:
    return {
        "w": halves(4, 16, 3, 3, 3),
        "b": halves(5, 16),
        "m": halves(6, 10, 16, 3, 3).reshape(10, -1),
        "b2": halves(7, 10),
    }


def test_chain_of_the_unified_buffer_and_caffe_operators(tmp_path: Path) -> None:
    path = chained(tmp_path / "m.om")
    x = np.random.default_rng(8).standard_normal((2, 3, 8, 8)).astype(np.float32)
    wanted = expected(CHAIN, {"x": x}, chain_weights())["y"]
    found = run(path, {"x": x})["y"]
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wanted, rtol=1e-2, atol=3e-2)
    with atc_py.load(path, storage="exact") as model:
        np.testing.assert_array_equal(model.run({"x": x})["y"], found)
    with atc_py.load(path, timeout=0) as model:  # in a process of its own
        np.testing.assert_array_equal(model.run({"x": x})["y"], found)


@pytest.mark.parametrize("wide", [False, True])
def test_plain_export_is_the_network(tmp_path: Path, wide: bool) -> None:
    path, output = chained(tmp_path / "m.om"), tmp_path / "net.onnx"
    atc_py.export_model(path, output, plain=True, float32=wide)
    model = onnx.load(output)
    onnx.checker.check_model(model, full_check=True)
    names = [node.op_type for node in model.graph.node]
    assert names == ["Conv", "Tanh", "MaxPool", "Reshape", "Gemm"]
    kinds = {each.data_type for each in model.graph.initializer if each.data_type != 7}
    assert kinds == {onnx.TensorProto.FLOAT if wide else onnx.TensorProto.FLOAT16}
    kept = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    np.testing.assert_array_equal(kept["w"].astype(np.float16), chain_weights()["w"])
    if wide:
        x = np.random.default_rng(8).standard_normal((2, 3, 8, 8)).astype(np.float32)
        session = onnxruntime.InferenceSession(output)
        wanted = expected(CHAIN, {"x": x}, chain_weights())["y"]
        np.testing.assert_allclose(session.run(None, {"x": x})[0], wanted, rtol=1e-4, atol=1e-4)


def test_emulation_gives_the_bits_of_a_run_in_onnxruntime(tmp_path: Path) -> None:
    path, output = chained(tmp_path / "m.om"), tmp_path / "net.onnx"
    x = np.random.default_rng(8).standard_normal((2, 3, 8, 8)).astype(np.float32)
    atc_py.export_model(path, output)
    onnx.checker.check_model(onnx.load(output), full_check=True)
    with atc_py.load(path, device="ort") as model:
        wanted = model.run({"x": x})["y"]
    session = onnxruntime.InferenceSession(output)
    np.testing.assert_array_equal(session.run(None, {"x": x})[0], wanted)


def test_compare_names_the_nodes_of_the_network(tmp_path: Path) -> None:
    path, like = chained(tmp_path / "m.om"), tmp_path / "net.onnx"
    model = network(CHAIN, chain_weights())
    for node, name in zip(model.graph.node, ("conv", "tanh", "pool", "flat", "dense"), strict=True):
        node.name = name
    onnx.save(model, like)
    done = atc_py.compare_model(path, reference=like)
    assert done.model == path
    assert {"y"} == set(done.outputs)
    assert {"conv", "tanh", "pool", "dense"} <= {layer.source for layer in done.layers}
    assert done.layers[done.outputs["y"]].figures.cosine > 0.9999
    with pytest.raises(AtcError) as raised:
        atc_py.compare_model(path)
    assert "--reference" in (raised.value.diagnostics[0].help or "")
    with pytest.raises(AtcError, match="is already compiled"):
        atc_py.compare_model(path, reference=like, suggest={})


def test_folded_normalization_and_slopes_on_the_vector_core(tmp_path: Path) -> None:
    made = SmallModel()
    made.input("x", images(1, 16, 4, 4))
    shift, scale = halves(9, 16), halves(10, 16)
    made.constant("m", shift, IMAGES)
    made.constant("v", scale, IMAGES)
    made.constant("s", np.full((1, 1, 1), 0.25, np.float16))
    made.launch(
        "bnprelu", "AutomaticBufferFusionOp", ["x", "m", "v", "s"], images(1, 16, 4, 4), {},
        ["bn", "prelu"], types=["BatchNorm", "PRelu"], last="prelu",
        kernel_name="te_fused_op_bninference_d_prelu_0123456789abcdef__kernel0",
    )  # fmt: skip
    made.output("bnprelu", "y")
    path = made.write(tmp_path / "m.om")
    x = halves(11, 1, 16, 4, 4)
    column = (1, 16, 1, 1)
    moved = (x + shift.reshape(column)) * scale.reshape(column)  # rounded twice, in float16
    wanted = np.where(moved >= 0, moved, moved * np.float16(0.25))
    np.testing.assert_array_equal(run(path, {"x": x})["y"], wanted)


@pytest.mark.parametrize(
    ("flags", "mode"),
    [
        ({}, "asymmetric"),
        ({"align_corners": True}, "align_corners"),
        ({"half_pixel_centers": True}, "half_pixel"),
    ],
)
def test_bilinear_resize(tmp_path: Path, flags: dict[str, bool], mode: str) -> None:
    made = SmallModel()
    made.input("x", images(1, 16, 4, 4))
    made.constant("size", np.array([8, 8], np.int32))
    made.launch(
        "r", "ResizeBilinearV2", ["x", "size"], images(1, 16, 8, 8),
        {"align_corners": False, "half_pixel_centers": False, **flags}, ["r"],
        operands=["x", "size"],
    )  # fmt: skip
    made.output("r", "y")
    path = made.write(tmp_path / "m.om")
    x = halves(12, 1, 16, 4, 4)
    text = (
        "(float[1, 16, 4, 4] x) => (float[1, 16, 8, 8] y) { sizes = Constant <value = int64[4] "
        f'{{1, 16, 8, 8}}> () y = Resize <mode = "linear", coordinate_transformation_mode = "{mode}"'
        "> (x, , , sizes) }"
    )
    wanted = expected(text, {"x": x}, {})["y"]
    found = run(path, {"x": x})["y"].astype(np.float32)
    np.testing.assert_allclose(found, wanted, rtol=2e-3, atol=2e-3)


def test_comparison_names_what_cann_makes_of_the_network(tmp_path: Path) -> None:
    made = SmallModel()
    made.input("x", images(1, 16, 4, 4))
    made.constant("size", np.array([8, 8], np.int32))
    flags = {"align_corners": False, "half_pixel_centers": False}
    made.launch(
        "r", "ResizeBilinearV2", ["x", "size"], images(1, 16, 8, 8), flags, ["y"],
        operands=["x", "size"],
    )  # fmt: skip
    made.output("r", "y")
    path, like = made.write(tmp_path / "m.om"), tmp_path / "net.onnx"
    text = (
        "(float[1, 16, 4, 4] x) => (float[1, 16, 8, 8] y) { sizes = Constant <value = int64[4] "
        '{1, 16, 8, 8}> () y = Resize <mode = "linear", coordinate_transformation_mode = '
        '"half_pixel"> (x, , , sizes) }'
    )
    onnx.save(network(text, {}), like)
    done = atc_py.compare_model(path, reference=like)
    layer = done.layers[done.outputs["y"]]
    assert layer.figures.distance > 0.05
    assert [each.operator for each in layer.deviating] == ["Resize"]
    (warning,) = done.warnings
    assert (warning.code.id, warning.place and warning.place.node_name) == ("ATC3017", "y")
    assert "CANN 8 computes this node differently from ONNX" in warning.message
    assert "asymmetric" in warning.message


def test_gemm_of_a_single_operator(tmp_path: Path) -> None:
    made = SmallModel("Ascend310")
    for name in ("a", "b", "c"):
        made.input(name, Tensor((16, 16)))
    for name in ("alpha", "beta"):
        made.input(name, Tensor(()))
    names = ["a", "b", "c", "alpha", "beta"]
    flags = {"transpose_a": False, "transpose_b": True}
    made.launch("gemm", "GEMM", names, Tensor((16, 16)), flags, operands=names)
    made.output("gemm", "y")
    path = made.write(tmp_path / "m.om")
    a, b, c = (halves(at, 16, 16) for at in (1, 2, 3))
    feeds = {"a": a, "b": b, "c": c, "alpha": np.float16(2), "beta": np.float16(0.5)}
    wide = [each.astype(np.float32) for each in (a, b, c)]
    wanted = 2 * wide[0] @ wide[1].T + 0.5 * wide[2]
    found = run(path, {name: np.asarray(each) for name, each in feeds.items()})["y"]
    np.testing.assert_allclose(found.astype(np.float32), wanted, rtol=2e-3, atol=2e-2)


def test_groups_of_a_fused_convolution_follow_from_its_filter(tmp_path: Path) -> None:
    made = SmallModel()
    made.input("x", images(1, 4, 6, 6))
    made.constant("w", halves(13, 8, 2, 1, 1))
    made.launch(
        "conv+", "Conv2D", ["x", "w", *[""] * 11], images(1, 8, 6, 6),
        {"groups": 1, "dilations": [1, 1, 1, 1]}, ["conv", "relu"], types=["Relu"],
        kernel_name=PIPE_KERNEL, last="relu",
    )  # fmt: skip
    made.output("conv+", "y")
    path = made.write(tmp_path / "m.om")
    x = halves(14, 1, 4, 6, 6)
    text = "(float[1, 4, 6, 6] x) => (float[1, 8, 6, 6] y) { c = Conv <group = 2> (x, w) y = Relu (c) }"
    wanted = expected(text, {"x": x}, {"w": halves(13, 8, 2, 1, 1)})["y"]
    found = run(path, {"x": x})["y"].astype(np.float32)
    np.testing.assert_allclose(found, wanted, rtol=2e-3, atol=2e-3)


def test_operator_without_arithmetic_stops_what_needs_it_alone(tmp_path: Path) -> None:
    path = partly_known(tmp_path / "m.om")
    x = halves(15, 2, 4)
    with atc_py.load(path) as model:
        outputs = model.run({"x": x})
        first, second = model.findings
    np.testing.assert_array_equal(outputs["y"], np.maximum(x, 0))
    assert set(outputs) == {"y"}
    assert (first.code.id, second.code.id) == ("ATC5008", "ATC5008")
    assert "NeverHeardOf" in first.message
    assert "z" in second.message


def test_model_without_any_output_is_refused_by_its_operators(tmp_path: Path) -> None:
    made = SmallModel()
    made.input("x", Tensor((2, 4)))
    made.launch("odd", "NeverHeardOf", ["x"], Tensor((2, 4)), operands=["x"])
    made.output("odd", "z")
    with pytest.raises(AtcError) as raised:
        open_offline(made.write(tmp_path / "m.om"))
    (found,) = raised.value.diagnostics
    assert found.code.id == "ATC5007"
    assert "NeverHeardOf" in found.message
    assert found.place is not None
    assert found.help


@pytest.mark.parametrize(
    ("types", "operands", "reason"),
    [
        (["LeakyRelu"], 2, "--like"),
        (["Add"], 2, "do not fit"),
        (["Nonsense"], 2, "computes"),
    ],
)
def test_launch_that_cannot_be_opened_says_why(
    tmp_path: Path, types: list[str], operands: int, reason: str
) -> None:
    words = {"LeakyRelu": "leaky_relu", "Add": "add", "Nonsense": "nonsense"}
    made = SmallModel()
    made.input("x", images(1, 16, 6, 6))
    made.constant("w", W, FILTERS)
    made.launch(
        "conv+", "Conv2D", ["x", "w"][:operands], images(1, 16, 6, 6), {}, ["conv", "f"],
        types=types, kernel_name=f"te_fused_op_conv2d_{words[types[0]]}_0123456789abcdef__kernel0",
    )  # fmt: skip
    made.output("conv+", "y")
    with pytest.raises(AtcError) as raised:
        open_offline(made.write(tmp_path / "m.om"))
    assert reason in raised.value.diagnostics[0].message


@pytest.mark.parametrize(
    ("kind", "reason"),
    [({"encrypted": True}, "encrypted"), ({}, "no model with a graph")],
)
def test_file_without_a_graph_is_refused(
    tmp_path: Path, kind: dict[str, bool], reason: str
) -> None:
    path = tmp_path / "m.om"
    path.write_bytes(om_file([(1, bytes(512))], **kind))
    with pytest.raises(AtcError, match=reason) as raised:
        open_offline(path)
    assert raised.value.diagnostics[0].code.id == "ATC5007"


def test_temporary_archive_is_gone_when_the_model_is_closed(tmp_path: Path) -> None:
    path = partly_known(tmp_path / "m.om")
    model = open_offline(path)
    archive = model.archive
    assert archive != path
    assert archive.is_file()
    model.close()
    assert not archive.exists()
