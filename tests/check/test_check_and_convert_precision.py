"""`check` and `convert` never contradict each other about precision: modes, SoCs, controls."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from atc_py import api
from atc_py.check.findings import Standing
from atc_py.diag import AtcError
from atc_py.diag.codes import (
    BAD_CONTROL_FILE,
    NO_BFLOAT16,
    NO_KERNEL,
    NOT_IN_MODEL,
    OPTIONS_EXCLUDE,
)
from atc_py.options.compile_options import PrecisionMode
from tests.check.checks import residual_network
from tests.failures import Failures
from tests.onnx_graph import onnx_files
from tests.sampling import alternating, some

FLOAT = onnx_files.FLOAT
SOCS = ("sim", "Ascend310P3", "Ascend910B3", "Ascend310B1", "Ascend910B")
MODES = [mode.value for mode in PrecisionMode]
LIGHT = ("squeezenet", "shufflenet")
"""Networks that compile in a moment: convolutions, pools, concatenations, groups, a softmax."""


def said_by_check(path: Path, **options: Any) -> set[str]:
    """Return codes of what `check` refuses the model or the call for; none where it passes."""
    try:
        (model,) = api.check_models(path, **options).models
    except AtcError as error:
        return {each.code.id for each in error.diagnostics}
    errors = [each for each in model.findings if each.standing is Standing.ERROR]
    assert bool(errors) == (model.standing is Standing.ERROR)
    return {each.code.id for each in errors}


def said_by_convert(path: Path, **options: Any) -> set[str]:
    """Return codes of what `convert` refuses likewise."""
    try:
        api.convert(path, path.with_suffix(".om"), **options)
    except AtcError as error:
        return {each.code.id for each in error.diagnostics}
    return set()


def dense() -> onnx.ModelProto:
    """Return a product with a bias: the list allows float32, and not every cube has it."""
    random = np.random.default_rng(1)
    weights = {
        name: random.standard_normal(shape).astype(np.float32)
        for name, shape in (("w", (3, 4)), ("b", (4,)))
    }
    node = helper.make_node("Gemm", ["x", "w", "b"], ["y"], "dense")
    return onnx_files.model([node], {"x": (FLOAT, [5, 3])}, ["y"], weights, {"": 11})


def attention() -> onnx.ModelProto:
    """Return products of which the list refuses some dtypes, and a softmax."""
    nodes = [
        helper.make_node("MatMul", ["x", "x"], ["s"], "scores"),
        helper.make_node("Softmax", ["s"], ["p"], "shares", axis=-1),
        helper.make_node("MatMul", ["p", "x"], ["y"], "mix"),
    ]
    return onnx_files.model(nodes, {"x": (FLOAT, [4, 4])}, ["y"])


MODELS = {
    "residual": lambda: residual_network(11),
    "dense": dense,
    "attention": attention,
}


@pytest.mark.parametrize("soc", SOCS)
@pytest.mark.parametrize("name", MODELS)
def test_check_and_convert_refuse_a_model_for_the_same_reasons(
    name: str, soc: str, tmp_path: Path
) -> None:
    path = onnx_files.save(MODELS[name](), tmp_path)
    with Failures() as failures:
        for mode in some(MODES, 2, len(name) % 2):
            with failures.of(mode):
                options = {"precision_mode": mode, "soc": soc}
                assert said_by_check(path, **options) == said_by_convert(path, **options)


@pytest.mark.parametrize("name", some(LIGHT, 3))
@pytest.mark.parametrize(("mode", "soc"), alternating(MODES, ["sim", "Ascend310P3", "Ascend910B3"]))
def test_check_and_convert_agree_on_light_networks(
    name: str, mode: str, soc: str, tmp_path: Path
) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes((onnx_files.LIGHT / f"light_{name}.onnx").read_bytes())
    options = {"precision_mode": mode, "soc": soc}
    assert said_by_check(path, **options) == said_by_convert(path, **options)


def test_reasons_come_from_both_the_list_and_the_kernels(tmp_path: Path) -> None:
    path = onnx_files.save(dense(), tmp_path)
    keep = "must_keep_origin_dtype"
    assert said_by_check(path, precision_mode=keep) == set()
    assert said_by_check(path, precision_mode=keep, soc="Hi3796CV300CS") == {NO_KERNEL.id}
    (model,) = api.check_models(path, precision_mode=keep, soc="Hi3796CV300CS").models
    (found,) = [each for each in model.findings if each.code is NO_KERNEL]
    assert (found.place.node_name, found.place.op_type) == ("dense", "Gemm")
    assert found.rule == "Gemm/kernel/MatMulV2"
    assert "MatMulV2" in found.allowed.en
    assert "MatMulV2" in found.allowed.zh
    assert "float16" in found.help.zh
    assert [row.standing for row in model.rows] == [Standing.ERROR]
    assert model.operators[0].counts == {Standing.ERROR: 1}


def dequantized(factor: float) -> onnx.ModelProto:
    """Return a deploy-form convolution of 32 channels whose sums are multiplied by `factor`."""
    nodes = [
        helper.make_node("AscendQuant", ["x"], ["q"], "quant", offset=0.0, scale=1.0),
        helper.make_node("Conv", ["q", "w"], ["s"], "conv", kernel_shape=[1, 1]),
        helper.make_node("AscendDequant", ["s", "d"], ["y"], "dequant"),
    ]
    words = np.asarray([factor], np.float32).view(np.uint32).astype(np.uint64)
    weights: dict[str, Any] = {"w": np.ones((32, 32, 1, 1), np.int8), "d": words}
    return onnx_files.model(nodes, {"x": (FLOAT, [1, 32, 4, 4])}, ["y"], weights, {"": 11})


@pytest.mark.parametrize(
    ("factor", "soc", "codes"),
    [
        (1e6, "Ascend310", set()),  # its root is a float16 number
        (65504.0**2, "Ascend310", set()),
        (6e9, "Ascend310", {NO_KERNEL.id}),  # beyond 65504 squared
        (6e9, "Ascend910A", {NO_KERNEL.id}),
        (6e9, "Ascend310P3", set()),  # takes 64-bit words
        (6e9, "sim", set()),
    ],
)
def test_factor_beyond_float16_is_refused_where_it_must_be_one(
    factor: float, soc: str, codes: set[str], tmp_path: Path
) -> None:
    path = onnx_files.save(dequantized(factor), tmp_path)
    assert said_by_check(path, soc=soc) == codes
    assert said_by_convert(path, soc=soc) == codes


@pytest.mark.parametrize("mode", ["force_fp16", "must_keep_origin_dtype"])
def test_numbers_of_another_dtype_are_constants_for_both(mode: str, tmp_path: Path) -> None:
    scales = np.asarray([1, 1, 2, 2], np.float16)
    weights = {"roi": np.zeros(0, np.float16), "scales": scales}
    node = helper.make_node("Resize", ["x", "roi", "scales"], ["y"], mode="nearest")
    proto = onnx_files.model([node], {"x": (FLOAT, [1, 2, 4, 4])}, ["y"], weights, {"": 11})
    path = onnx_files.save(proto, tmp_path)
    assert said_by_check(path, precision_mode=mode) == said_by_convert(path, precision_mode=mode)


@pytest.mark.parametrize("mode", [mode.value for mode in PrecisionMode if mode.is_bfloat16])
def test_bfloat16_is_refused_where_the_soc_has_none(mode: str, tmp_path: Path) -> None:
    path = onnx_files.save(residual_network(11), tmp_path)
    for soc in ("sim", "Ascend310P3", "Ascend910B"):
        assert said_by_check(path, precision_mode=mode, soc=soc) == {NO_BFLOAT16.id}
    api.check_models(path, precision_mode=mode, soc="Ascend310B1")


MIXED = {"precision_mode": "allow_mix_precision"}
WHITE = json.dumps({"white-list": {"to-add": ["Relu"]}})
BLACK = json.dumps({"black-list": {"to-add": ["Conv2D"]}})

CONTROLS: tuple[tuple[str, str, dict[str, str], set[str]], ...] = (
    ("keep_dtype", "OpType::Relu", {}, set()),
    ("keep_dtype", "relu3", {}, {NOT_IN_MODEL.id}),
    ("customize_dtypes", "conv1::InputDtype:float16", {}, set()),
    ("customize_dtypes", "conv1::InputDtype:float32", {}, {NO_KERNEL.id}),
    ("customize_dtypes", "relu1::InputDtype:bfloat16", {}, {NO_KERNEL.id}),
    ("customize_dtypes", "relu1::InputDtype:int8", {}, {NO_KERNEL.id}),
    ("customize_dtypes", "relu1", {}, {BAD_CONTROL_FILE.id}),
    ("modify_mixlist", WHITE, MIXED, set()),
    ("modify_mixlist", BLACK, MIXED, {NO_KERNEL.id}),
    ("modify_mixlist", WHITE, {}, {OPTIONS_EXCLUDE.id}),
    ("op_precision_mode", "Relu=fast", {}, {BAD_CONTROL_FILE.id}),
)
"""A control, its file, other options, and why a residual network is refused on Ascend310P3."""


@pytest.mark.parametrize(("control", "text", "others", "codes"), CONTROLS)
def test_controls_change_both_verdicts_alike(
    control: str, text: str, others: dict[str, str], codes: set[str], tmp_path: Path
) -> None:
    path = onnx_files.save(residual_network(11), tmp_path)
    file = tmp_path / "controls"
    file.write_text(text, encoding="utf-8")
    options = {"soc": "Ascend310P3", control: file, **others}
    assert said_by_check(path, **options) == codes
    assert said_by_convert(path, **options) == codes


@pytest.mark.parametrize(
    ("control", "text", "codes"),
    [
        ("input_fp16_nodes", "x", set()),
        ("input_fp16_nodes", "z", {NOT_IN_MODEL.id}),
        ("output_type", "FP16", set()),
        ("output_type", "fc:0:FP16", set()),
        ("output_type", "relu1:0:FP16", {NOT_IN_MODEL.id}),
    ],
)
def test_interface_controls_are_read_alike(
    control: str, text: str, codes: set[str], tmp_path: Path
) -> None:
    path = onnx_files.save(residual_network(11), tmp_path)
    assert said_by_check(path, **{control: text}) == codes
    assert said_by_convert(path, **{control: text}) == codes


def test_both_names_of_a_mode_are_refused_by_check(tmp_path: Path) -> None:
    path = onnx_files.save(residual_network(11), tmp_path)
    both = {"precision_mode": "force_fp16", "precision_mode_v2": "fp16"}
    assert said_by_check(path, **both) == said_by_convert(path, **both) == {OPTIONS_EXCLUDE.id}


def test_of_several_models_one_must_have_the_name(tmp_path: Path) -> None:
    paths = []
    for name, proto in (("a", residual_network(11)), ("b", dense())):
        (tmp_path / name).mkdir()
        paths.append(onnx_files.save(proto, tmp_path / name))
    keep = tmp_path / "keep"
    keep.write_text("dense\nconv1\n", encoding="utf-8")
    report = api.check_models(paths, keep_dtype=keep)
    assert [model.standing is Standing.ERROR for model in report.models] == [False, False]
    assert report.options == {"keep_dtype": str(keep)}
    keep.write_text("dense\nconv9\n", encoding="utf-8")
    found = onnx_files.fails(lambda: api.check_models(paths, keep_dtype=keep), NOT_IN_MODEL)
    assert "'conv9'" in str(found)


def test_model_that_breaks_rules_is_not_tried(tmp_path: Path) -> None:
    node = helper.make_node("Mish", ["x"], ["y"], "odd")
    path = onnx_files.save(onnx_files.model([node], {"x": (FLOAT, [2])}, ["y"]), tmp_path)
    (model,) = api.check_models(path, customize_dtypes=None).models
    assert {each.code for each in model.findings} != {NO_KERNEL}
    assert model.standing is Standing.ERROR


def test_model_with_open_dims_is_judged_by_the_list_alone(tmp_path: Path) -> None:
    node = helper.make_node("Relu", ["x"], ["y"], "relu")
    path = onnx_files.save(onnx_files.model([node], {"x": (FLOAT, ["n", 3])}, ["y"]), tmp_path)
    file = tmp_path / "custom"
    file.write_text("relu::InputDtype:int8", encoding="utf-8")
    assert said_by_check(path, customize_dtypes=file) == set()
    assert said_by_check(path, customize_dtypes=file, input_shape="x:2,3") == {NO_KERNEL.id}
