"""Nodes that lowering refuses: the code, the place, and that all of them are found."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import helper

import atc_py
from atc_py.diag import AtcError, Diagnostic
from atc_py.diag.codes import BAD_SPEC
from atc_py.ir import Value
from atc_py.lowering.builder import Builder, find_lowering, lowering
from atc_py.system.cache_folders import op_specs_dir
from tests.end_to_end import one_node_model
from tests.relaxed_specs import relaxed_specs

Array = npt.NDArray[Any]

X = np.zeros((1, 4, 6, 6), np.float32)
W = np.zeros((4, 4, 3, 3), np.float32)
POOL: dict[str, Any] = {"kernel_shape": (2, 2)}


def refusals(model: onnx.ModelProto, folder: Path, **options: Any) -> Sequence[Diagnostic]:
    """Return the conversion's findings on `model`, the limits of the list apart."""
    path = folder / "model.onnx"
    onnx.save(model, path)
    with pytest.raises(AtcError) as caught:
        atc_py.convert(path, folder / "model.om", op_specs=relaxed_specs(model), **options)
    assert not (folder / "model.om").exists()
    return caught.value.diagnostics


@pytest.mark.parametrize("mode", ["force_fp16", "must_keep_origin_dtype"])
@pytest.mark.parametrize("op_type", ["MaxPool", "AveragePool"])
def test_window_that_leaves_no_row_is_refused(op_type: str, mode: str, tmp_path: Path) -> None:
    """Check a result with a dim of 0: its kernel stub is planned before the device refuses."""
    model = one_node_model(op_type, {"x": X[:, :, :2]}, 13, kernel_shape=(3, 3))
    (found,) = refusals(model, tmp_path, precision_mode=mode)
    assert found.code.id == "ATC4013"
    assert found.message.endswith("a window that reaches over 3 elements, its axis H has 2")
    assert found.message.in_language("zh").endswith("窗口跨越 3 个元素，而轴 H 有 2 个")


@pytest.mark.parametrize(
    ("op_type", "inputs", "opset", "attributes", "code", "field"),
    [
        ("Conv", {"x": X[0], "w": W[0]}, 13, {}, 4001, "input X"),
        ("Conv", {"x": X, "w": W[:, :3]}, 13, {}, 4013, "input W"),
        ("Conv", {"x": X, "w": W[:, :2]}, 13, {"group": 3}, 4013, "attribute group"),
        ("MaxPool", {"x": X[None, None]}, 13, {"kernel_shape": (2,) * 4}, 4001, "input X"),
        ("AveragePool", {"x": X[None, None]}, 13, {"kernel_shape": (2,) * 4}, 4001, "input X"),
        ("LRN", {"x": X}, 13, {"size": 4}, 4012, "attribute size"),
        ("LRN", {"x": X}, 13, {"size": 0}, 4012, "attribute size"),
        (
            "BatchNormalization",
            dict.fromkeys("abcde", X[0, :, 0, 0]),
            8,
            {"spatial": 0},
            4001,
            None,
        ),
        ("Concat", {"a": X, "b": X}, 13, {"axis": 7}, None, None),
        ("Transpose", {"x": X}, 13, {"perm": (0, 0, 1, 2)}, None, None),
        ("Pad", {"x": X}, 8, {"pads": (0, 0, 0, 0)}, None, None),
    ],
)
def test_node_is_refused_with_its_place(  # noqa: PLR0913  (one column a parameter)
    op_type: str,
    inputs: dict[str, Array],
    opset: int,
    attributes: dict[str, Any],
    code: int | None,
    field: str | None,
    tmp_path: Path,
) -> None:
    outputs = [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)]
    graph = helper.make_graph(
        [helper.make_node(op_type, list(inputs), ["y"], name="the node", **attributes)],
        "g",
        [
            helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, array.shape)
            for name, array in inputs.items()
        ],
        outputs,
    )
    opsets = [helper.make_opsetid("", opset)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    found = refusals(model, tmp_path)
    assert all(each.code.exit == 1 for each in found)
    assert all(each.place is not None for each in found)
    if code is not None:
        place = found[0].place
        assert place is not None
        assert (found[0].code.id, place.node, place.node_name) == (f"ATC{code}", 0, "the node")
        assert field is None or place.field == field


def test_indices_of_max_pool_are_refused(tmp_path: Path) -> None:
    model = one_node_model("MaxPool", {"x": X}, 12, outputs=2, **POOL)
    (found,) = refusals(model, tmp_path)
    assert (found.code.id, found.place and found.place.field) == ("ATC4001", "output Indices")


def test_statistics_of_batch_normalization_are_refused(tmp_path: Path) -> None:
    names = ["x", "s", "b", "m", "v"]
    inputs = {"x": X, **dict.fromkeys(names[1:], X[0, :, 0, 0])}
    model = one_node_model("BatchNormalization", inputs, 9, outputs=5)
    for output in model.graph.output:
        output.type.CopyFrom(model.graph.input[0].type)
    assert {found.code.id for found in refusals(model, tmp_path)} <= {"ATC4001", "ATC3005"}


def test_dropout_in_training_is_refused(tmp_path: Path) -> None:
    constants = {"ratio": np.array(0.5, np.float32), "training": np.ones((), bool)}
    model = one_node_model("Dropout", {"x": X}, 13, constants=constants)
    (found,) = refusals(model, tmp_path)
    assert found.code.id == "ATC4001"


def test_unknown_pad_mode_is_refused(tmp_path: Path) -> None:
    model = one_node_model(
        "Pad", {"x": X}, 13, constants={"pads": np.zeros(8, np.int64)}, mode="wrap"
    )
    (found,) = refusals(model, tmp_path)
    assert "constant, reflect, edge" in found.message


def test_every_bad_node_is_reported(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("LRN", ["x"], ["a"], name="first", size=2),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("LRN", ["b"], ["c"], name="second", size=4),
        helper.make_node("MaxPool", ["c"], ["y", "i"], name="third", kernel_shape=[2, 2]),
    ]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "g",
        [info("x", onnx.TensorProto.FLOAT, X.shape)],
        [info("y", onnx.TensorProto.FLOAT, None), info("i", onnx.TensorProto.INT64, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    found = refusals(model, tmp_path)
    assert [each.place.node_name for each in found if each.place] == ["first", "second", "third"]


def test_lowering_is_chosen_by_version() -> None:
    def name(version: int) -> str:
        found = find_lowering("Softmax", version)
        assert found is not None
        return getattr(found, "__name__", "")

    assert name(1) == name(11) == "lower_softmax_of_rows"
    assert name(13) == name(20) == "lower_softmax_of_axis"
    assert find_lowering("NoSuchOperator", 1) is None


def test_two_lowerings_of_one_version_clash() -> None:
    def lower_twice(b: Builder) -> Sequence[Value]:
        return [b.input(0)]

    assert find_lowering("Conv", 1) is not None
    with pytest.raises(
        ValueError, match=r"lowering of Conv 1 stands twice: in .*nn:\d+ and in .*refusals:"
    ):
        lowering("Conv")(lower_twice)


def test_inputs_that_do_not_broadcast_are_refused(tmp_path: Path) -> None:
    inputs = {"a": X[0, 0, 0, :3], "b": X[0, 0, 0, :2]}
    model = one_node_model("Max", inputs, 6)
    model.graph.output[0].type.CopyFrom(model.graph.input[0].type)
    (found,) = refusals(model, tmp_path)
    assert found.code.exit == 1


@pytest.mark.parametrize(
    ("target", "part"),
    [
        ("{op: Nonsense}", "the target has no operator Nonsense"),
        ("{op: Neg}", "at most 1 inputs"),
        ("{op: Pow, attributes: {alpha: scale}}", "no attribute alpha"),
    ],
)
def test_target_of_a_users_specification_must_fit(target: str, part: str, tmp_path: Path) -> None:
    specs = tmp_path / "specs"
    specs.mkdir()
    text = (op_specs_dir() / "base" / "math" / "pow.yaml").read_text(encoding="utf-8")
    attributes = "attributes:\n  - {name: scale, type: float, default: 1.0, listed: false}\n"
    text = text.replace("target: {op: Pow}", f"{attributes}target: {target}")
    (specs / "pow.yaml").write_text(text, encoding="utf-8")
    onnx.save(one_node_model("Pow", {"a": X, "b": X}, 13), tmp_path / "model.onnx")
    with pytest.raises(AtcError) as caught:
        atc_py.convert(tmp_path / "model.onnx", tmp_path / "model.om", op_specs=specs)
    (found,) = caught.value.diagnostics
    assert found.code is BAD_SPEC
    assert part in found.message


@pytest.mark.parametrize(("dims", "shown"), [((10,), "10"), ((1, 10), "1x10")])
def test_second_operand_that_does_not_fit_the_first_is_refused(
    dims: tuple[int, ...], shown: str, tmp_path: Path
) -> None:
    """Before opset 7, onnx infers the dims of the first operand for any second one."""
    node = helper.make_node("Sub", ["a", "b"], ["y"])
    a, b = (
        helper.make_tensor_value_info(name, 1, shape)
        for name, shape in (("a", dims), ("b", (10, 10)))
    )
    graph = helper.make_graph([node], "g", [a, b], [helper.make_tensor_value_info("y", 1, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 6)], ir_version=3)
    (found,) = refusals(model, tmp_path)
    assert found.code.id == "ATC4013"
    assert found.message.endswith(f"cannot broadcast 10x10 to {shown}")
