"""Models with gears: each gear is the model of its shapes alone, and what they share is stored once."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import atc_py
from atc_py.diag import AtcError
from atc_py.diag.codes import BAD_INPUT_SHAPE, GEAR_NOT_COMPILED, INT8_IN_HIGH_PRECISION
from tests.gears.models import differences, image_model, two_inputs
from tests.onnx_graph.onnx_files import Ports, model, save

BATCH = {"input_shape": "x:-1,3,16,24", "batch_sizes": "1,2,4"}
IMAGE = {"input_shape": "x:2,3,-1,-1", "image_sizes": "16,24;32,16;24,24"}
DIMS = {"input_shape": "x:-1,3,16,-1", "dims": "1,16;2,24"}


@pytest.mark.parametrize("gears", [BATCH, IMAGE, DIMS], ids=["batch", "image", "dims"])
@pytest.mark.parametrize("mode", ["force_fp16", "must_keep_origin_dtype"])
def test_each_gear_is_the_model_of_its_shapes(
    tmp_path: Path, gears: dict[str, str], mode: str
) -> None:
    source = image_model(tmp_path / "net.onnx")
    done = atc_py.convert(source, tmp_path / "net.om", precision_mode=mode, **gears)  # type: ignore[arg-type]
    assert differences(tmp_path / "net.om", source, tmp_path, precision_mode=mode) == []
    assert len(done.gears) == len(gears[[*gears][1]].split(";" if gears is not BATCH else ","))


def test_several_inputs_take_numbers_in_order(tmp_path: Path) -> None:
    source = two_inputs(tmp_path / "net.onnx")
    shapes = "b:-1,-1;a:-1,4;s:"
    done = atc_py.convert(source, tmp_path / "net.om", input_shape=shapes, dims="2,8,3;4,16,5")
    assert [dict(each.shapes) for each in done.gears] == [
        {"b": (2, 8), "a": (3, 4), "s": ()},
        {"b": (4, 16), "a": (5, 4), "s": ()},
    ]
    assert differences(tmp_path / "net.om", source, tmp_path) == []


def test_dims_that_the_file_fixes_may_be_open(tmp_path: Path) -> None:
    open_, fixed = tmp_path / "open.onnx", tmp_path / "fixed.onnx"
    image_model(open_)
    image_model(fixed, (1, 3, 16, 24))
    atc_py.convert(fixed, tmp_path / "net.om", **BATCH)  # type: ignore[arg-type]
    assert differences(tmp_path / "net.om", open_, tmp_path) == []


def test_equal_weights_are_stored_once(tmp_path: Path) -> None:
    weights = np.arange(64, dtype=np.float32).reshape(8, 8)
    nodes = [
        helper.make_node("MatMul", ["x", "a"], ["m"]),
        helper.make_node("Relu", ["m"], ["r"]),
        helper.make_node("MatMul", ["r", "b"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "twins",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(weights, name) for name in ("a", "b")],
    )
    opsets = [helper.make_opsetid("", 13)]
    source = tmp_path / "net.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), source)
    atc_py.convert(source, tmp_path / "net.om", input_shape="x:-1,8", batch_sizes="1,2")
    assert sum(name.startswith("weights/") for name in _sizes(tmp_path / "net.om")) == 1
    assert differences(tmp_path / "net.om", source, tmp_path) == []


def test_conversion_is_reproducible(tmp_path: Path) -> None:
    source = image_model(tmp_path / "net.onnx")
    for name in ("a.om", "b.om"):
        atc_py.convert(source, tmp_path / name, **IMAGE)  # type: ignore[arg-type]
    assert (tmp_path / "a.om").read_bytes() == (tmp_path / "b.om").read_bytes()


def test_weights_and_kernels_are_stored_once(tmp_path: Path) -> None:
    source = image_model(tmp_path / "net.onnx")
    atc_py.convert(source, tmp_path / "one.om", input_shape="x:1,3,16,24")
    atc_py.convert(
        source, tmp_path / "net.om", input_shape="x:-1,3,16,24", batch_sizes=range(1, 11)
    )
    one, many = (_sizes(tmp_path / name) for name in ("one.om", "net.om"))
    assert _total(many, "weights/") <= _total(one, "weights/")
    sources = [name for name in many if name.endswith(".cpp") and "host_kernels" not in name]
    assert len(sources) == sum(name.endswith(".cpp") and "host_" not in name for name in one)


def _sizes(path: Path) -> dict[str, int]:
    """Return the sizes of an archive's members."""
    with zipfile.ZipFile(path) as archive:
        return {each.filename: each.file_size for each in archive.infolist()}


def _total(sizes: dict[str, int], folder: str) -> int:
    """Return the bytes of the members of a folder."""
    return sum(size for name, size in sizes.items() if name.startswith(folder))


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"input_shape": "y:-1,3,16,24", "batch_sizes": "1,2"}, "E10016"),
        ({"input_shape": "x:-1,3,16", "batch_sizes": "1,2"}, "E10001"),
        ({"input_shape": "x:-1,4,16,24", "batch_sizes": "1,2"}, "E10001"),
    ],
)
def test_inputs_of_the_model_are_checked(
    tmp_path: Path, options: dict[str, Any], code: str
) -> None:
    source = image_model(tmp_path / "net.onnx")
    with pytest.raises(AtcError) as refused:
        atc_py.convert(source, tmp_path / "net.om", **options)
    found = refused.value.diagnostics[0]
    assert found.code is BAD_INPUT_SHAPE
    assert found.atc is not None
    assert found.atc.code == code
    assert not (tmp_path / "net.om").exists()


def test_every_input_is_listed(tmp_path: Path) -> None:
    source = two_inputs(tmp_path / "net.onnx")
    with pytest.raises(AtcError) as refused:
        atc_py.convert(source, tmp_path / "net.om", input_shape="a:-1,4;b:2,2", batch_sizes="1,2")
    (found,) = refused.value.diagnostics
    assert "leaves out 's'" in found.message
    assert found.atc is not None
    assert found.atc.code == "E10001"


def test_gear_that_breaks_a_rule_is_named(tmp_path: Path) -> None:
    source = image_model(tmp_path / "net.onnx")
    (tmp_path / "net.om").write_bytes(b"as it was")
    with pytest.raises(AtcError) as refused:
        atc_py.convert(
            source, tmp_path / "net.om", input_shape="x:1,3,-1,-1", image_sizes="16,16;1,1"
        )
    *findings, note = refused.value.diagnostics
    assert note.code is GEAR_NOT_COMPILED
    assert "gear 1,1 of --image-sizes (x:1,3,1,1)" in note.message
    assert findings
    assert refused.value.exit_code != 0
    assert (tmp_path / "net.om").read_bytes() == b"as it was"


def test_layers_on_int8_and_a_mode_of_float32_are_warned_of(tmp_path: Path) -> None:
    quant = helper.make_node("AscendQuant", ["x"], ["q"], "quant", scale=4.0, offset=0.0)
    back = helper.make_node("AscendAntiQuant", ["q"], ["y"], scale=0.25, offset=0.0)
    source = save(model([quant, back], {"x": (TensorProto.FLOAT, [1, 3])}, ["y"]), tmp_path)
    for soc, mode, count in (
        ("Ascend910B3", "force_fp32", 1),
        ("Ascend910B3", "must_keep_origin_dtype", 1),
        ("Ascend910B3", "force_fp16", 0),
        ("sim", "must_keep_origin_dtype", 0),
    ):
        done = atc_py.convert(source, tmp_path / "net.om", soc=soc, precision_mode=mode)
        codes = [each.code for each in done.warnings]
        assert codes == [INT8_IN_HIGH_PRECISION] * count, (soc, mode)


def test_layers_on_int8_have_no_gears_on_socs_of_cann(tmp_path: Path) -> None:
    quant = helper.make_node("AscendQuant", ["x"], ["q"], "quant", scale=4.0, offset=0.0)
    back = helper.make_node("AscendAntiQuant", ["q"], ["y"], scale=0.25, offset=0.0)
    ports: Ports = {"x": (TensorProto.FLOAT, ["n", 3, 16, 24])}
    source = save(model([quant, back], ports, ["y"]), tmp_path)
    atc_py.convert(source, tmp_path / "net.om", **BATCH)  # type: ignore[arg-type]
    for shapes in (BATCH, {"input_shape": "x:1~4,3,16,24"}):
        with pytest.raises(AtcError, match="cannot have gears or ranges"):
            atc_py.convert(source, tmp_path / "net.om", soc="Ascend310P3", **shapes)  # type: ignore[arg-type]


def test_output_whose_rank_follows_the_gear_is_refused(tmp_path: Path) -> None:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 1, 4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([helper.make_node("Squeeze", ["x"], ["y"])], "g", [x], [y])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=7)
    onnx.save(proto, tmp_path / "m.onnx")
    with pytest.raises(
        AtcError, match="output 'y' has 2 dims in gear 1, but 3 in gear 2"
    ) as caught:
        atc_py.convert(
            tmp_path / "m.onnx", tmp_path / "m.om", input_shape="x:-1,3,1,4", batch_sizes="1,2"
        )
    assert caught.value.exit_code == 1
    assert not (tmp_path / "m.om").exists()
