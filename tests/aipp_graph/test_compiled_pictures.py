"""Networks that take pictures: what AIPP and the network compute is what both compute apart."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import TensorProto

import atc_py
from atc_py.diag import AtcError
from atc_py.package.reader import open_model
from tests.aipp_graph.networks import (
    DYNAMIC,
    NV12,
    RGB,
    config,
    network,
    nv12_features,
    rgb_features,
)
from tests.networks.test_shared_models import MODELS

Array = NDArray[Any]

SHAPE = (1, 3, 8, 12)


def pictures(*shape: int) -> Array:
    """Return random bytes."""
    return np.random.default_rng(11).integers(0, 256, shape).astype(np.uint8)


def run(om: Path, **feeds: Array) -> dict[str, Array]:
    """Return the outputs of one run."""
    with atc_py.load(om) as model:
        return {**model.run(feeds)}


def test_real_network_gives_what_its_parts_give(tmp_path: Path) -> None:
    model = MODELS / "resnet_mini_opset9" / "model.onnx"
    if not model.is_file():
        pytest.skip("the shared models are not here")
    file, om, plain = config(tmp_path, NV12), tmp_path / "aipp.om", tmp_path / "plain.om"
    atc_py.convert(model, om, aipp=file, verify=True)
    atc_py.convert(model, plain, input_fp16_nodes="pixel_values")
    data = pictures(1, 336, 224, 1)
    (found,) = run(om, pixel_values=data).values()
    (expected,) = run(plain, pixel_values=nv12_features(data)).values()
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "mode",
    [
        "force_fp16",
        "force_fp32",
        "must_keep_origin_dtype",
        "cube_fp16in_fp32out",
        "allow_fp32_to_fp16",
        "allow_mix_precision_fp16",
    ],
)
def test_every_precision_mode_takes_pictures(mode: str, tmp_path: Path) -> None:
    model = network(tmp_path / "m.onnx")
    atc_py.convert(model, tmp_path / "a.om", aipp=config(tmp_path, NV12), precision_mode=mode)
    atc_py.convert(model, tmp_path / "p.om", precision_mode=mode)
    data = pictures(1, 12, 12, 1)
    found = run(tmp_path / "a.om", x0=data)["y"]
    features = nv12_features(data).astype(np.float32)
    np.testing.assert_array_equal(found, run(tmp_path / "p.om", x0=features)["y"])


def test_half_floats_and_bytes_need_no_conversion(tmp_path: Path) -> None:
    data = pictures(2, 8, 12, 3)
    given = {
        TensorProto.FLOAT16: rgb_features(data),
        TensorProto.UINT8: data.transpose(0, 3, 1, 2),
    }
    for dtype, features in given.items():
        model = network(tmp_path / "m.onnx", [(2, 3, 8, 12)], dtype)
        done = atc_py.convert(model, tmp_path / "a.om", aipp=config(tmp_path, RGB))
        atc_py.convert(model, tmp_path / "p.om")
        found = run(tmp_path / "a.om", x0=data)["y"]
        expected = run(tmp_path / "p.om", x0=np.ascontiguousarray(features))["y"]
        np.testing.assert_array_equal(found, expected)
        doubts = [each.code.name for each in done.warnings]
        assert ("doubtful-aipp-config" in doubts) is (dtype == TensorProto.UINT8)


def test_network_in_nhwc(tmp_path: Path) -> None:
    model = network(tmp_path / "m.onnx", [(2, 8, 12, 3)], nhwc=True)
    file, om = config(tmp_path, RGB), tmp_path / "a.om"
    done = atc_py.convert(model, om, aipp=file, input_format="NHWC", verify=True)
    assert "TransposeD" not in done.facts.target_operators
    atc_py.convert(model, tmp_path / "p.om")
    data = pictures(2, 8, 12, 3)
    features = rgb_features(data).transpose(0, 2, 3, 1).astype(np.float32)
    expected = run(tmp_path / "p.om", x0=np.ascontiguousarray(features))["y"]
    np.testing.assert_array_equal(run(om, x0=data)["y"], expected)


def test_one_input_of_several_and_both(tmp_path: Path) -> None:
    model, om = network(tmp_path / "m.onnx", [SHAPE, SHAPE]), tmp_path / "a.om"
    atc_py.convert(model, tmp_path / "p.om")
    first, second = pictures(1, 8, 12, 3), pictures(1, 12, 12, 1)
    features = rgb_features(first).astype(np.float32), nv12_features(second).astype(np.float32)
    expected = run(tmp_path / "p.om", x0=features[0], x1=features[1])["y"]

    atc_py.convert(model, om, aipp=config(tmp_path, "  related_input_rank: 1\n" + NV12))
    np.testing.assert_array_equal(run(om, x0=features[0], x1=second)["y"], expected)
    both = config(tmp_path, RGB, "  related_input_rank: 1\n" + NV12)
    atc_py.convert(model, om, aipp=both)
    np.testing.assert_array_equal(run(om, x0=first, x1=second)["y"], expected)


def test_inputs_and_record_of_an_offline_model(tmp_path: Path) -> None:
    model, om = network(tmp_path / "m.onnx", [SHAPE, SHAPE, SHAPE]), tmp_path / "a.om"
    later = [f"  related_input_rank: {rank}\n{DYNAMIC}" for rank in (1, 2)]
    atc_py.convert(model, om, aipp=config(tmp_path, NV12, *later))
    with open_model(om) as package:
        description = package.description
        inputs = [
            (each.name, description.tensors[each.tensor].shape) for each in description.inputs
        ]
        recorded = [node for node in description.nodes if node.op == "Aipp"]
    assert inputs == [
        ("x0", [1, 12, 12, 1]),
        ("x1", [1, 4000]),
        ("x2", [1, 4000]),
        ("ascend_dynamic_aipp_data", [160]),
        ("ascend_dynamic_aipp_data_x2_0_aipp", [160]),
    ]
    assert [node.name for node in recorded] == ["x0_0_aipp", "x1_0_aipp", "x2_0_aipp"]
    assert recorded[0].attributes["input_format"] == "YUV420SP_U8"
    assert recorded[0].attributes["src_image_size_w"] == 12
    assert recorded[1].attributes["max_src_image_size"] == 4000
    assert str(tmp_path) not in json.dumps([node.attributes for node in recorded])


@pytest.mark.parametrize(
    ("shapes", "dtype", "messages", "options", "refusal"),
    [
        ([(1, 8)], TensorProto.FLOAT, [RGB], {}, ("E10052", "AIPP needs an input with 4 dims")),
        ([SHAPE], TensorProto.INT32, [RGB], {}, ("E10052", "input 'x0' is int32")),
        ([SHAPE], TensorProto.FLOAT, [RGB, RGB], {}, ("E10052", "has a second configuration")),
        (
            [SHAPE],
            TensorProto.FLOAT,
            [RGB],
            {"input_fp16_nodes": "x0"},
            ("E10034", "is fed as float16"),
        ),
        (
            [("n", 3, 8, 12)],
            TensorProto.FLOAT,
            [RGB],
            {"dims": "1;2", "input_shape": "x0:-1,3,8,12"},
            ("E10001", "cannot be combined with gears of dims"),
        ),
    ],
)
def test_configuration_that_does_not_fit_the_model_is_refused(
    shapes: list[Any],
    dtype: int,
    messages: list[str],
    options: dict[str, Any],
    refusal: tuple[str, str],
    tmp_path: Path,
) -> None:
    model = tmp_path / "m.onnx"
    if len(shapes[0]) == 2:
        _product(model)
    else:
        network(model, shapes, dtype)
    with pytest.raises(AtcError) as caught:
        atc_py.convert(model, tmp_path / "a.om", aipp=config(tmp_path, *messages), **options)
    (found,) = caught.value.diagnostics
    assert found.atc is not None
    assert found.atc.code == refusal[0]
    assert refusal[1] in found.message
    assert not (tmp_path / "a.om").exists()


def _product(path: Path) -> None:
    """Write a network whose input is a matrix."""
    import onnx
    from onnx import helper

    graph = helper.make_graph(
        [helper.make_node("Relu", ["x0"], ["y"])],
        "matrix",
        [helper.make_tensor_value_info("x0", TensorProto.FLOAT, [1, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8])],
    )
    opset = [helper.make_opsetid("", 13)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)
