"""Exported models: names, functions, metadata, files, and what is refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from atc_py.device.ort import model as exported
from atc_py.device.ort.body import EMULATIONS, OPSET, find_emulation
from atc_py.device.ort.functions import DOMAIN
from atc_py.device.ort.metadata import annotate
from atc_py.device.ort.model import emulate
from atc_py.device.ort.writing import model_bytes, write_model
from atc_py.diag import AtcError
from atc_py.diag.codes import NO_ONNX_FORM
from atc_py.onnx_graph.rewriting import model_message
from tests.device.models import MemoryModel, ModelBuilder, random_array, run_model
from tests.device.ort.twin import differences, run_functions, run_on_ort

Arrays = dict[str, Any]

F16, F32, BF16 = "float16", "float32", "bfloat16"


def residual(dtype: str = F16) -> MemoryModel:
    """Return `y = relu(x + w) * (x + w)`, of which the sum is an output, too."""
    builder = ModelBuilder()
    x = builder.input("x", dtype, [4, 5])
    w = builder.constant(np.full(5, 0.5).astype(np.dtype(dtype) if dtype != BF16 else "f4"))
    if dtype == BF16:
        (w,) = builder.node("Cast", [w], [(BF16, [5])], {"dst_type": BF16})
    (total,) = builder.node("Add", [x, w], [(dtype, [4, 5])])
    (bounded,) = builder.node("Relu", [total], [(dtype, [4, 5])])
    (y,) = builder.node("Mul", [bounded, total], [(dtype, [4, 5])])
    builder.output("y", y)
    builder.output("total", total)
    return builder.build()


def written(model: MemoryModel, *, flat: bool = False) -> onnx.ModelProto:
    """Return the exported model, which the checker takes."""
    found: onnx.ModelProto = onnx.ModelProto.FromString(
        model_bytes(emulate(model, flat=flat), "model")
    )
    onnx.checker.check_model(found, full_check=True)
    return found


def run_file(model: onnx.ModelProto, feeds: Arrays) -> list[Any]:
    import onnxruntime

    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return list(session.run(None, feeds))


def feeds_of(dtype: str = F16) -> Arrays:
    return {"x": random_array(3, [4, 5]).astype(dtype)}


def test_graph_calls_a_function_for_each_operator_by_its_name() -> None:
    model = written(residual())
    assert [(node.op_type, node.domain, node.name) for node in model.graph.node] == [
        ("Add", DOMAIN, "Add_0"),
        ("Relu", DOMAIN, "Relu_1"),
        ("Mul", DOMAIN, "Mul_2"),
    ]
    assert {each.name for each in model.functions} == {"Add", "Relu", "Mul"}
    assert {(each.domain, each.version) for each in model.opset_import} == {
        ("", OPSET),
        (DOMAIN, 1),
    }
    add = next(each for each in model.functions if each.name == "Add")
    assert (list(add.input), list(add.output)) == (["x1", "x2"], ["y"])
    assert [node.op_type for node in add.node] == ["Cast", "Cast", "Add", "Cast"]


def test_flat_form_has_ai_onnx_operators_alone_and_gives_the_same_bits() -> None:
    flat, called = written(residual(), flat=True), written(residual())
    assert {node.domain for node in flat.graph.node} == {""}
    assert not flat.functions
    assert all(node.name.startswith(("Add_0/", "Relu_1/", "Mul_2/")) for node in flat.graph.node)
    for one, other in zip(run_file(flat, feeds_of()), run_file(called, feeds_of()), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", [F16, F32, BF16])
def test_result_is_that_of_the_simulator(dtype: str) -> None:
    model, feeds = residual(dtype), feeds_of(dtype)
    found = run_on_ort(model, feeds)
    expected = run_model(model, feeds)
    assert found is not None
    assert differences(model, found, expected) == []
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name].view(np.uint8), array.view(np.uint8))


def test_rounding_between_operators_survives_the_runtime() -> None:
    builder = ModelBuilder()
    x = builder.input("x", F16, [1])
    large = builder.constant(np.array([2048], np.float16))
    (total,) = builder.node("Add", [x, large], [(F16, [1])])
    (rest,) = builder.node("Sub", [total, large], [(F16, [1])])
    builder.output("y", rest)
    found = run_on_ort(builder.build(), {"x": np.array([1], np.float16)})
    assert found is not None
    assert found["y"] == [0]  # 2049 is not on the grid of float16


def test_input_constant_and_one_tensor_twice_are_outputs() -> None:
    builder = ModelBuilder()
    x = builder.input("x", F16, [2])
    w = builder.constant(np.array([1, 2], np.float16))
    (y,) = builder.node("Add", [x, w], [(F16, [2])])
    for name, tensor in (("same", x), ("constant", w), ("y", y), ("again", y)):
        builder.output(name, tensor)
    model, feeds = builder.build(), {"x": np.array([3, 4], np.float16)}
    found, expected = run_on_ort(model, feeds), run_model(model, feeds)
    assert found is not None
    assert {name: array.tolist() for name, array in found.items()} == {
        name: array.tolist() for name, array in expected.items()
    }


def test_values_whose_names_look_like_those_of_bodies_stay_apart() -> None:
    builder = ModelBuilder()
    x = builder.input("Add_0/Cast", F16, [2])
    (y,) = builder.node("Add", [x, x], [(F16, [2])])
    (z,) = builder.node("Add", [y, x], [(F16, [2])])
    builder.output("t1", z)  # the name of another tensor
    builder.output("Add_1/Cast", y)
    model, feeds = builder.build(), {"Add_0/Cast": np.array([3, 4], np.float16)}
    found = run_on_ort(model, feeds)
    assert found is not None
    assert {name: array.tolist() for name, array in found.items()} == {
        "t1": [9, 12],
        "Add_1/Cast": [6, 8],
    }


def test_nodes_with_the_same_body_share_a_function_and_others_are_overloads() -> None:
    builder = ModelBuilder()
    x, n = builder.input("x", F16, [2]), builder.input("n", "int32", [2])
    for index in range(2):
        (y,) = builder.node("Add", [x, x], [(F16, [2])])
        (m,) = builder.node("Add", [n, n], [("int32", [2])])
        builder.output(f"y{index}", y)
        builder.output(f"m{index}", m)
    model = written(builder.build())
    assert [(each.name, each.overload) for each in model.functions] == [("Add", ""), ("Add", "2")]
    assert [node.overload for node in model.graph.node] == ["", "2", "", "2"]


def test_metadata_has_the_facts_that_onnx_has_no_field_for() -> None:
    model = residual()
    emulated = emulate(model, flat=False)
    found = annotate(emulated, model.description)
    assert found["ascend.soc"] == "sim"
    assert float(found["ascend.estimated_us"]) > 0
    facts = {each.key: each.value for each in emulated.nodes[0].metadata_props}
    assert facts["ascend.op"] == "Add"
    assert facts["ascend.engine"] == "aicore"
    assert facts["ascend.inputs"] == "float16 4x5, float16 5"
    assert facts["ascend.launch"] == "Add_0"
    assert float(facts["ascend.estimated_us"]) > 0


def test_flat_nodes_that_make_results_have_the_facts_of_their_target_node() -> None:
    model = residual()
    emulated = emulate(model, flat=True)
    annotate(emulated, model.description)
    facts = [{each.key: each.value for each in node.metadata_props} for node in emulated.nodes]
    assert [each.get("ascend.op") for each in facts if each] == ["Add", "Relu", "Mul"]


def test_every_node_without_a_form_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        exported, "find_emulation", lambda op: None if op in {"Add", "Mul"} else find_emulation(op)
    )
    with pytest.raises(AtcError) as caught:
        emulate(residual(), flat=True)
    found = caught.value.diagnostics
    assert [each.code for each in found] == [NO_ONNX_FORM, NO_ONNX_FORM]
    assert [each.place.node_name for each in found if each.place] == ["Add_0", "Mul_2"]


@pytest.mark.parametrize("external", [False, True])
def test_file_has_constants_inside_or_beside_it(tmp_path: Path, external: bool) -> None:
    builder = ModelBuilder()
    x = builder.input("x", F32, [500])
    w = builder.constant(np.arange(500, dtype=np.float32))
    (y,) = builder.node("Add", [x, w], [(F32, [500])])
    builder.output("y", y)
    emulated, path = emulate(builder.build(), flat=False), tmp_path / "model.onnx"
    size, data = write_model(emulated, "model", path, {"key": "value"}, external=external)
    assert (data == tmp_path / "model.onnx.data") is external
    assert size == sum(each.stat().st_size for each in tmp_path.iterdir())
    onnx.checker.check_model(str(path), full_check=True)
    loaded = onnx.load(path)
    assert [(each.key, each.value) for each in loaded.metadata_props] == [("key", "value")]
    (found,) = run_file(loaded, {"x": np.ones(500, np.float32)})
    np.testing.assert_array_equal(found, np.arange(1, 501, dtype=np.float32))


def test_large_model_has_its_constants_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_message, "INLINE_LIMIT", 100)
    _, data = write_model(emulate(residual(), flat=True), "model", tmp_path / "m.onnx", {})
    assert data is not None


def test_every_operator_has_an_emulation() -> None:
    from atc_py.target import operators

    without = {row.name for row in operators() if find_emulation(row.name) is None}
    assert without == {"Switch", "Merge", "TransData"}, (
        "write a function with @emulates for the others, in a module of atc_py/device/ort/operators"
    )


def test_function_of_each_element_that_onnx_has_needs_no_emulation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Check that Relu and Mul are ONNX's, where they have no emulation, and LeakyRelu is not."""
    for op in ("Relu", "Mul", "LeakyRelu"):
        monkeypatch.delitem(EMULATIONS.all(), op)
    model = residual()
    feeds = feeds_of()
    assert differences(model, run_functions(model, feeds), run_model(model, feeds)) == []
    assert find_emulation("LeakyRelu") is None


def test_json_has_the_record(tmp_path: Path) -> None:
    from atc_py.results.conversion import Export

    record = Export(
        tmp_path / "m.onnx", tmp_path / "n.onnx", None, "sim", {}, OPSET, {"Add": 1}, 1, 1, 9
    )
    assert json.loads(json.dumps(record.as_json()))["operators"] == {"Add": 1}


def test_value_of_another_node_may_have_the_name_of_one_in_a_body() -> None:
    builder = ModelBuilder()
    x = builder.input("x", F16, [2])
    (y,) = builder.node("Add", [x, x], [(F16, [2])])
    (z,) = builder.node("Add", [x, x], [(F16, [2])])
    builder.output("Add_1/Add", y)
    builder.output("Add_0/Add", z)
    model, feeds = builder.build(), {"x": np.array([3, 4], np.float16)}
    found = run_on_ort(model, feeds)
    assert found is not None
    assert {name: array.tolist() for name, array in found.items()} == {
        "Add_1/Add": [6, 8],
        "Add_0/Add": [6, 8],
    }


def test_one_constant_has_a_form_for_each_layout() -> None:
    """Check a scale that one layer reads as channels of an image and one as columns of a matrix."""
    builder = ModelBuilder()
    image = builder.input("image", "int32", [1, 3, 2, 2])
    rows = builder.input("rows", "int32", [2, 3])
    scale = builder.constant(np.array([0.5, 0.25, 2], np.float16))
    for name, x, dims in (("a", image, [1, 3, 2, 2]), ("b", rows, [2, 3])):
        attributes: dict[str, Any] = {"sqrt_mode": False, "relu_flag": False, "dtype": F16}
        (y,) = builder.node("AscendDequant", [x, scale], [(F16, dims)], attributes)
        builder.output(name, y)
    model = builder.build()
    feeds = {
        "image": np.arange(12, dtype=np.int32).reshape(1, 3, 2, 2),
        "rows": np.arange(6, dtype=np.int32).reshape(2, 3),
    }
    expected = run_model(model, feeds)
    for found in (run_on_ort(model, feeds), run_functions(model, feeds)):
        assert found is not None
        assert differences(model, found, expected) == []
