"""What `convert` refuses of a node's geometry, `check` refuses with the same words and place."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper, shape_inference

from atc_py import api
from atc_py.check.findings import Standing
from atc_py.diag import AtcError
from atc_py.diag.codes import BAD_NODE
from tests.check.checks import checked, only
from tests.onnx_graph import onnx_files

FLOAT, DOUBLE, INT64 = onnx_files.FLOAT, TensorProto.DOUBLE, onnx_files.INT64
MAP = {"x": (FLOAT, [1, 1, 4, 4])}


def one(
    op: str,
    inputs: onnx_files.Ports,
    weights: Mapping[str, npt.NDArray[Any]] | None = None,
    **attributes: Any,
) -> onnx.ModelProto:
    """Return a model of one node."""
    node = helper.make_node(op, [*inputs, *(weights or {})], ["y"], "bad", **attributes)
    return onnx_files.model([node], inputs, ["y"], weights)


def ints(*numbers: int) -> npt.NDArray[np.int64]:
    return np.array(numbers, np.int64)


def floats(*shape: int) -> npt.NDArray[np.float32]:
    return np.ones(shape, np.float32)


MATRIX = {"x": (FLOAT, [3, 4])}
REFUSED = {
    "conv": one("Conv", MAP, {"w": floats(2, 1, 5, 5)}),
    "max-pool": one("MaxPool", MAP, kernel_shape=[5, 5]),
    "average-pool": one("AveragePool", MAP, kernel_shape=[5, 5]),
    "gather": one("Gather", MATRIX, {"i": ints(5)}),
    "gather-negative": one("Gather", MATRIX, {"i": ints(-5)}, axis=1),
    "gather-elements": one("GatherElements", MATRIX, {"i": ints(3).reshape(1, 1)}),
    "gather-nd": one("GatherND", MATRIX, {"i": ints(0, 4).reshape(1, 2)}),
    "scatter-nd": one("ScatterND", MATRIX, {"i": ints(5).reshape(1, 1), "u": floats(1, 4)}),
    "reflect": one("Pad", MAP, {"p": ints(0, 0, 4, 0, 0, 0, 0, 0)}, mode="reflect"),
    "reflect-and-crop": one("Pad", MAP, {"p": ints(0, 0, 3, 0, 0, 0, -1, 0)}, mode="reflect"),
    "transposed": one("ConvTranspose", MAP, {"w": floats(1, 1, 2, 2)}, pads=[3, 0, 2, 0]),
}
"""Models that break no rule of the list and that do not compile."""


def said_by_convert(path: Path, **options: Any) -> list[tuple[str, str, object, str | None]]:
    """Return code, message, place and help of what `convert` refuses."""
    with pytest.raises(AtcError) as caught:
        api.convert(path, path.with_suffix(".om"), **options)
    return [
        (each.code.id, each.message, each.place, each.help) for each in caught.value.diagnostics
    ]


@pytest.mark.parametrize("mode", ["force_fp16", "must_keep_origin_dtype", "allow_mix_precision"])
@pytest.mark.parametrize("name", REFUSED)
def test_check_refuses_what_convert_refuses_in_the_same_words(
    name: str, mode: str, tmp_path: Path
) -> None:
    path = onnx_files.save(REFUSED[name], tmp_path)
    (model,) = api.check_models(path, precision_mode=mode).models
    found = [each for each in model.findings if each.standing is Standing.ERROR]
    assert model.faults == ()
    assert model.standing is Standing.ERROR
    assert [row.standing for row in model.rows] == [Standing.ERROR]
    assert [(each.code.id, each.message.en, each.place) for each in found] == [
        (code, message, place)
        for code, message, place, _ in said_by_convert(path, precision_mode=mode)
    ]
    assert {each.code for each in found} == {BAD_NODE}
    assert all(each.message.zh.startswith("无法编译：") for each in found)
    assert all(each.help.en for each in found)


def test_finding_is_named_by_operator_and_field(tmp_path: Path) -> None:
    found = only(checked(REFUSED["gather"], tmp_path))
    assert (found.rule, found.source, found.place.field) == (
        "Gather/compiled/indices",
        "",
        "input indices",
    )
    findings = checked(REFUSED["gather-negative"], tmp_path).findings
    (other,) = [each for each in findings if each.standing is Standing.ERROR]
    assert other.message != found.message
    assert other.fingerprint == found.fingerprint


def test_every_node_is_reported_however_many_are_alike(tmp_path: Path) -> None:
    indices = {"i": ints(9), "j": ints(8)}
    nodes = [
        helper.make_node("Gather", ["x", "i"], ["a"], "first"),
        helper.make_node("Relu", ["x"], ["r"], "sound"),
        helper.make_node("Gather", ["r", "i"], ["b"], "alike"),
        helper.make_node("Gather", ["r", "j"], ["c"], "other"),
    ]
    model = checked(onnx_files.model(nodes, MATRIX, ["a", "b", "c"], indices), tmp_path)
    assert {each.place.node_name for each in model.findings} == {"first", "alike", "other"}
    assert [row.standing for row in model.rows].count(Standing.ERROR) == 3
    assert model.operators[0].counts == {Standing.ERROR: 3}
    assert len(said_by_convert(tmp_path / "model.onnx")) == 3


def test_nodes_that_do_not_depend_on_open_dims_are_tried(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Gather", ["x", "i"], ["a"], "fixed"),
        helper.make_node("Relu", ["n"], ["b"], "open"),
    ]
    inputs: onnx_files.Ports = {**MATRIX, "n": (FLOAT, ["n", 3])}
    model = checked(onnx_files.model(nodes, inputs, ["a", "b"], {"i": ints(9)}), tmp_path)
    assert only(model).place.node_name == "fixed"
    fits = onnx_files.model(nodes, inputs, ["a", "b"], {"i": ints(2)})
    assert checked(fits, tmp_path).standing is Standing.SUPPORTED


def test_nodes_whose_own_dims_are_known_are_tried(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Reshape", ["x", "s"], ["r"], "shaped"),
        helper.make_node("MaxPool", ["r"], ["y"], "pool", kernel_shape=[9, 9]),
    ]
    inputs: onnx_files.Ports = {"x": (FLOAT, ["n", 4])}
    model = checked(onnx_files.model(nodes, inputs, ["y"], {"s": ints(1, 1, 8, 8)}), tmp_path)
    assert only(model).place.node_name == "pool"


def test_shape_arithmetic_of_open_dims_is_not_an_error(tmp_path: Path) -> None:
    # It folds away with fixed dims, which one choice tries: the index is beyond the shape there.
    nodes = [
        helper.make_node("Shape", ["x"], ["s"], "shape"),
        helper.make_node("Cast", ["s"], ["d"], "wide", to=DOUBLE),
        helper.make_node("Pow", ["d", "two"], ["p"], "power"),
        helper.make_node("Gather", ["s", "i"], ["g"], "beyond"),
        helper.make_node("Relu", ["x"], ["y"], "relu"),
    ]
    weights = {"two": np.full(2, 2.0), "i": ints(7)}
    inputs: onnx_files.Ports = {"x": (FLOAT, ["n", 3])}
    model = checked(onnx_files.model(nodes, inputs, ["p", "g", "y"], weights), tmp_path)
    (found,) = model.findings
    assert (found.place.node_name, found.standing) == ("beyond", Standing.UNKNOWN)


def branches(index: int) -> onnx.ModelProto:
    """Return an If of which one branch picks an element."""
    kept = helper.make_node("Identity", ["x"], ["b0"], "kept")
    gathered = helper.make_node("Gather", ["x", "i"], ["b1"], "gathered")
    graphs = [
        helper.make_graph([node], name, [], [helper.make_tensor_value_info(out, FLOAT, None)])
        for node, name, out in ((kept, "then", "b0"), (gathered, "else", "b1"))
    ]
    nodes = [
        helper.make_node("If", ["c"], ["y"], "if", then_branch=graphs[0], else_branch=graphs[1])
    ]
    inputs: onnx_files.Ports = {"c": (TensorProto.BOOL, []), **MATRIX}
    return onnx_files.model(nodes, inputs, ["y"], {"i": ints(0, 1, index)})


def test_nodes_of_branches_are_tried(tmp_path: Path) -> None:
    assert checked(branches(2), tmp_path).standing is Standing.SUPPORTED
    found = only(checked(branches(9), tmp_path))
    assert (found.place.node_name, found.scope) == ("gathered", 'else_branch of "if"')
    assert [row.standing for row in checked(branches(9), tmp_path).rows] == [
        Standing.SUPPORTED,
        Standing.ERROR,
        Standing.SUPPORTED,
    ]


def test_branches_that_differ_are_two_kinds(tmp_path: Path) -> None:
    first, second = branches(2), branches(9)
    other = second.graph.node[0]
    other.input[0], other.output[0], other.name = "c", "z", "other"
    for attribute in other.attribute:
        for node in attribute.g.node:
            node.output[0] = attribute.g.output[0].name = f"{node.output[0]}z"
            node.input[:] = [name.replace("i", "j") for name in node.input]
    second.graph.initializer[0].name = "j"
    first.graph.node.append(other)
    first.graph.initializer.append(second.graph.initializer[0])
    first.graph.output.append(onnx.ValueInfoProto(name="z"))
    assert only(checked(first, tmp_path)).scope == 'else_branch of "other"'


@pytest.mark.parametrize("mode", ["force_fp16", "must_keep_origin_dtype"])
def test_mean_of_float64_tensors_compiles(mode: str, tmp_path: Path) -> None:
    inputs: onnx_files.Ports = {"a": (DOUBLE, [3, 4]), "b": (DOUBLE, [3, 4])}
    path = onnx_files.save(one("Mean", inputs), tmp_path)
    (model,) = api.check_models(path, precision_mode=mode).models
    assert model.standing is Standing.SUPPORTED
    api.convert(path, tmp_path / "model.om", precision_mode=mode)
    feeds = {name: np.full((3, 4), value) for name, value in (("a", 1e-9), ("b", 3.0))}
    with api.load(tmp_path / "model.om") as loaded:
        np.testing.assert_array_equal(loaded.run(feeds)["y"], np.full((3, 4), (3.0 + 1e-9) / 2))


def test_input_of_a_type_that_no_device_has_is_refused(tmp_path: Path) -> None:
    node = helper.make_node("Relu", ["x"], ["y"], "relu")
    inputs: onnx_files.Ports = {**MATRIX, "unused": (TensorProto.STRING, [2])}
    path = onnx_files.save(onnx_files.model([node], inputs, ["y"]), tmp_path)
    found = only(checked(onnx_files.model([node], inputs, ["y"]), tmp_path))
    assert [(found.code.id, found.message.en, found.place)] == [
        each[:3] for each in said_by_convert(path)
    ]


def test_result_of_unknown_rank_is_refused(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("NonZero", ["x"], ["z"], "found"),
        helper.make_node("Reshape", ["x", "s"], ["y"], "shaped"),
    ]
    inputs: onnx_files.Ports = {**MATRIX, "s": (INT64, None)}
    proto = onnx_files.model(nodes, inputs, ["y", "z"])
    path = onnx_files.save(proto, tmp_path)
    (model,) = api.check_models(path, input_shape="s:2").models
    assert model.standing is not Standing.ERROR
    api.convert(path, tmp_path / "model.om", input_shape="s:2")


def test_shape_that_the_file_states_wrongly_does_not_count(tmp_path: Path) -> None:
    node = helper.make_node(
        "MaxPool", ["x"], ["y"], "pool", auto_pad="SAME_UPPER", ceil_mode=1, kernel_shape=[1, 1], strides=[3, 3]
    )  # fmt: skip
    proto = shape_inference.infer_shapes(
        onnx_files.model([node], {"x": (FLOAT, [1, 1, 5, 5])}, ["y"])
    )
    stated = proto.graph.output[0].type.tensor_type.shape.dim
    assert [each.dim_value for each in stated] == [1, 1, 3, 3]  # there are 2 x 2
    assert checked(proto, tmp_path).standing is not Standing.ERROR
    api.convert(tmp_path / "model.onnx", tmp_path / "model.om")
