"""Every finding says under which conditions it holds, in every form of the report."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from atc_py import api
from atc_py.check.condition_words import when_words
from atc_py.check.findings import Finding, Standing
from atc_py.diag.codes import NO_KERNEL
from atc_py.options.compile_options import PrecisionMode
from atc_py.report.check.formats import render_check
from atc_py.report.check.json_document import check_document
from atc_py.spec import OpSpec, Rule
from atc_py.target import find_soc
from tests.check import (
    boundary_attributes,
    boundary_axes,
    boundary_operands,
    boundary_quantization,
    boundary_shapes,
)
from tests.check.boundaries import Expect, sides
from tests.check.checks import checked
from tests.check.one_node_checks import check_node
from tests.failures import in_one_item
from tests.onnx_graph import onnx_files
from tests.spec.every_list import each_spec, library_of, list_of

REGISTERING = (
    boundary_attributes,
    boundary_axes,
    boundary_operands,
    boundary_quantization,
    boundary_shapes,
)
"""The modules that register boundaries; who imports them has all."""

CONDITIONAL = [
    pytest.param(spec, rule, id=f"{list_of(spec)}-{spec.op}-{rule.name}-{rule.line}")
    for spec in each_spec()
    for rule in spec.constraints
    if rule.when is not None
]
FLOAT = onnx_files.FLOAT
KEEP = "must_keep_origin_dtype"


@in_one_item(("spec", "rule"), CONDITIONAL)
def test_finding_of_a_conditional_rule_states_the_rules_conditions(
    spec: OpSpec, rule: Rule, tmp_path: Path
) -> None:
    assert rule.when is not None
    wanted = when_words(rule.when)
    source = spec.place_of(rule.line)
    outside = [side for side in sides(spec, rule) if side.expect is Expect.OUTSIDE]
    found = [
        each
        for side in outside[:3]
        for each in check_node(
            side.change.model(spec, side.opset),
            tmp_path,
            mode=side.setting.mode,
            soc=side.setting.soc,
            specs=library_of(spec),
        ).findings
        if each.source == source and each.rule.startswith(f"{spec.op}/{rule.name}/")
    ]
    assert found
    for each in found:
        assert each.when == wanted
        # What becomes of a form is said without conditions.
        assert each.effect or f", when {wanted.en}" in each.message.en
        assert each.effect or f"（条件：{wanted.zh}）" in each.message.zh


def conv_of_width_one() -> onnx.ModelProto:
    """Make a convolution whose result is 6 high and 1 wide."""
    node = helper.make_node("Conv", ["x", "w"], ["y"], "conv", kernel_shape=[3, 3])
    weights = {"w": np.zeros((2, 3, 3, 3), np.float32)}
    return onnx_files.model([node], {"x": (FLOAT, [1, 3, 8, 3])}, ["y"], weights)


def test_text_and_json_and_csv_and_sarif_say_the_condition(tmp_path: Path) -> None:
    path = onnx_files.save(conv_of_width_one(), tmp_path)
    document = check_document(api.check_models(path, operator_list="base"))
    (found,) = document.models[0].findings
    assert found.when == "W of Y is 1"
    assert found.message.startswith(
        "Y of Conv must have dimension H exactly 1, when W of Y is 1, found"
    )
    headline = "Y of Conv must have dimension H exactly 1, when W of Y is 1"
    for form in ("text", "junit", "html"):
        assert headline in render_check(form, document, Standing.ERROR), form
    (model,) = json.loads(render_check("json", document, Standing.ERROR))["models"]
    assert model["findings"][0]["when"] == "W of Y is 1"
    rows = csv.DictReader(io.StringIO(render_check("csv", document, Standing.ERROR), newline=""))
    assert [row["when"] for row in rows] == ["W of Y is 1"]
    (result,) = json.loads(render_check("sarif", document, Standing.ERROR))["runs"][0]["results"]
    assert result["properties"]["when"] == "W of Y is 1"
    assert "when W of Y is 1" in result["message"]["text"]
    chinese = check_document(api.check_models(path, operator_list="base"), "zh")
    assert "（条件：Y 的 W 维为 1）" in render_check("text", chinese, Standing.ERROR)


def product(element: int, dtype: Any) -> onnx.ModelProto:
    """Make a product of matrices of one dtype."""
    weights = {"w": np.zeros((4, 4), dtype)}
    node = helper.make_node("MatMul", ["x", "w"], ["y"], "product")
    return onnx_files.model([node], {"x": (element, [4, 4])}, ["y"], weights)


def errors(proto: onnx.ModelProto, folder: Path, **options: Any) -> list[Finding]:
    found = checked(proto, folder, **options).findings
    return [each for each in found if each.standing is Standing.ERROR]


def test_dtype_that_only_the_precision_mode_keeps_from_being_legal_names_the_mode(
    tmp_path: Path,
) -> None:
    kept = errors(product(FLOAT, np.float32), tmp_path, precision_mode=KEEP)
    assert kept
    for found in kept:
        assert found.when.en == f"precision mode is {KEEP}"
        assert found.when.zh == f"精度模式为 {KEEP}"


def test_dtype_that_no_mode_makes_legal_has_no_condition(tmp_path: Path) -> None:
    for mode in PrecisionMode:
        soc = "Ascend910B3" if mode.is_bfloat16 else "sim"
        found = errors(
            product(onnx_files.INT64, np.int64), tmp_path, precision_mode=mode.value, soc=soc
        )
        assert {each.when.en for each in found} == {""}


def dense() -> onnx.ModelProto:
    """Make a layer that has no float32 kernel where the cube takes no float32."""
    weights = {"w": np.zeros((4, 4), np.float32), "b": np.zeros(4, np.float32)}
    node = helper.make_node("Gemm", ["x", "w", "b"], ["y"], "dense")
    return onnx_files.model([node], {"x": (FLOAT, [4, 4])}, ["y"], weights)


def test_missing_kernel_names_the_mode_and_the_soc_that_it_depends_on(tmp_path: Path) -> None:
    assert find_soc("sim").cube_float32
    (found,) = errors(dense(), tmp_path, precision_mode=KEEP, soc="Hi3796CV300CS")
    assert found.code is NO_KERNEL
    assert found.when.en == f"precision mode is {KEEP} and the SoC is Hi3796CV300CS"
    assert found.when.zh == f"精度模式为 {KEEP}，且SoC 为 Hi3796CV300CS"
    assert found.message.en == (
        "MatMulV2 has no kernel for float32, when precision mode is "
        f"{KEEP} and the SoC is Hi3796CV300CS"
    )


def test_missing_kernel_that_a_control_asks_for_names_the_control(tmp_path: Path) -> None:
    control = tmp_path / "types.txt"
    control.write_text("dense::InputDtype:float32,float32\n", encoding="utf-8")
    (found,) = errors(dense(), tmp_path, customize_dtypes=control, soc="Hi3796CV300CS")
    assert found.when.en == "--customize-dtypes names the node and the SoC is Hi3796CV300CS"
    assert found.when.zh.startswith("--customize-dtypes 指定了该节点")


def test_missing_kernel_that_no_soc_has_names_no_soc(tmp_path: Path) -> None:
    nodes = [helper.make_node("Relu", ["x"], ["y"], "relu")]
    proto = onnx_files.model(nodes, {"x": (FLOAT, [4])}, ["y"])
    control = tmp_path / "types.txt"
    control.write_text("relu::InputDtype:int8\n", encoding="utf-8")
    (found,) = errors(proto, tmp_path, customize_dtypes=control)
    assert found.when.en == "--customize-dtypes names the node"
