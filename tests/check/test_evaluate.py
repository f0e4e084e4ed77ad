"""Checks of whole models: every node, every rule, every reason, each once."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from atc_py import api
from atc_py.check.findings import NodeCount, Standing, ranked
from atc_py.diag.codes import (
    ATTR_NOT_LISTED,
    ATTR_OUT_OF_RANGE,
    BAD_INPUT_SHAPE,
    BAD_MODEL,
    BAD_OPTION,
    DIM_OUT_OF_RANGE,
    DTYPE_NOT_LISTED,
    FILE_NOT_FOUND,
    OPERAND_NOT_LISTED,
    OPERATOR_RESTATED,
    UNKNOWN_OPERATOR,
    UNKNOWN_SOC,
    UNSUPPORTED_OPSET,
)
from tests.check.checks import checked, only, residual_network
from tests.onnx_graph import onnx_files

node = helper.make_node
FLOAT = onnx_files.FLOAT
IMAGE = {"x": (FLOAT, [1, 3, 8, 8])}


def conv(name: str = "conv", x: str = "x", y: str = "y", **attributes: Any) -> Any:
    return node("Conv", [x, "w"], [y], name, **{"strides": [1, 1], **attributes})


def filters(channels: int = 3) -> dict[str, Any]:
    return {"w": np.zeros((4, channels, 3, 3), np.float32)}


def test_model_without_faults_is_supported(tmp_path: Path) -> None:
    proto = onnx_files.model([conv()], IMAGE, ["y"], filters())
    model = checked(proto, tmp_path)
    assert (model.standing, model.findings, model.faults) == (Standing.SUPPORTED, (), ())
    assert [(row.op, row.listed, row.counts) for row in model.operators] == [
        ("Conv", True, {Standing.SUPPORTED: 1})
    ]
    assert [(row.type, row.standing) for row in model.rows] == [
        ("ai.onnx::13::Conv", Standing.SUPPORTED)
    ]


def test_five_faults_in_three_nodes_are_five_findings(tmp_path: Path) -> None:
    nodes = [
        conv("first", "x", "a", strides=[64, 1], dilations=[1, 256], pads=[256, 0, 0, 512]),
        node("LRN", ["x"], ["b"], "second", size=4),
        node("Mish", ["x"], ["c"], "third"),
    ]
    proto = onnx_files.model(nodes, IMAGE, ["a", "b", "c"], filters())
    model = checked(proto, tmp_path)
    assert [(f.place.node_name, f.code, f.place.field) for f in model.findings] == [
        ("first", ATTR_OUT_OF_RANGE, "attribute dilations"),
        ("first", ATTR_OUT_OF_RANGE, "attribute pads"),
        ("first", ATTR_OUT_OF_RANGE, "attribute strides"),
        ("second", ATTR_OUT_OF_RANGE, "attribute size"),
        ("third", UNKNOWN_OPERATOR, None),
    ]
    assert {f.standing for f in model.findings} == {Standing.ERROR}


def test_finding_says_what_was_seen_and_where_the_rule_stands(tmp_path: Path) -> None:
    proto = onnx_files.model([conv(strides=[64, 1])], IMAGE, ["y"], filters())
    finding = only(checked(proto, tmp_path))
    assert "64" in finding.observed.en
    assert "in [1, 63]" in finding.allowed.en
    assert "[1, 63]" in finding.allowed.zh
    assert finding.source.startswith("op_specs/base/nn/conv.yaml:")
    assert finding.help.en
    assert finding.help.zh
    diagnostic = finding.diagnostic()
    assert diagnostic.message == f"{finding.allowed.en}, found {finding.observed.en}"
    assert diagnostic.rule == finding.source


def test_open_dim_is_unknown_and_names_the_input_to_fix(tmp_path: Path) -> None:
    inputs: onnx_files.Ports = {"x": (FLOAT, ["N", 3, 8, "W"])}
    proto = onnx_files.model([conv()], inputs, ["y"], filters())
    model = checked(proto, tmp_path, strict_list=True)
    assert model.standing is Standing.UNKNOWN
    assert all(f.standing is Standing.UNKNOWN for f in model.findings)
    assert any("dim_in_range" in f.rule for f in model.findings)
    assert all("open dims of x with --input-shape" in f.help.en for f in model.findings)
    assert all("--input-shape 固定 x" in f.help.zh for f in model.findings)
    assert (model.shape_hint, model.hint_fits) == ("x:1,3,8,64", True)
    fixed = checked(proto, tmp_path, input_shape="x:1,3,8,9")
    assert (fixed.standing, fixed.shape_hint) == (Standing.SUPPORTED, "")


def test_open_dim_that_decides_nothing_is_not_a_finding(tmp_path: Path) -> None:
    proto = onnx_files.model([node("Relu", ["x"], ["y"])], {"x": (FLOAT, ["N", 3])}, ["y"])
    assert checked(proto, tmp_path).findings == ()


def test_what_folding_removes_is_not_compared_with_the_list(tmp_path: Path) -> None:
    nodes = [
        node("Constant", [], ["k"], value=helper.make_tensor("k", FLOAT, [2], [1.0, 2.0])),
        node("Mish", ["k"], ["m"]),
        node("BitShift", ["i", "i"], ["s"], direction="LEFT"),
        node("Add", ["x", "m"], ["y"]),
    ]
    weights = {"i": np.ones(2, np.uint8)}
    proto = onnx_files.model(nodes, {"x": (FLOAT, [2])}, ["y"], weights, {"": 18})
    model = checked(proto, tmp_path)
    assert {row.op for row in model.operators} == {"Add"}
    assert model.standing is not Standing.ERROR


@pytest.mark.parametrize("opset", [13, 14, 17, 18, 21])
def test_residual_network_of_a_newer_opset_has_no_error(opset: int, tmp_path: Path) -> None:
    model = checked(residual_network(opset), tmp_path)
    assert Standing.ERROR not in model.counts, model.findings
    restated = {f.place.op_type for f in model.findings if f.code is OPERATOR_RESTATED}
    assert restated == (
        set()
        if opset == 13
        else {"Add", "Relu", "BatchNormalization"} | ({"Flatten"} if opset >= 21 else set())
    )


def test_layer_normalization_of_opset_17_is_an_error_that_names_the_way(tmp_path: Path) -> None:
    weights = {"s": np.ones(8, np.float32)}
    nodes = [node("LayerNormalization", ["x", "s"], ["y"], "norm")]
    proto = onnx_files.model(nodes, IMAGE, ["y"], weights, {"": 17})
    finding = only(checked(proto, tmp_path, operator_list="base"))
    assert (finding.code, finding.standing) == (UNKNOWN_OPERATOR, Standing.ERROR)
    assert "export the model at opset 13" in finding.help.en
    assert "opset 13" in finding.help.zh


def test_version_that_cannot_be_restated_says_why_and_which_opset_suits(tmp_path: Path) -> None:
    nodes = [node("Unsqueeze", ["x", "axes"], ["y"], "unsqueeze")]
    inputs: onnx_files.Ports = {**IMAGE, "axes": (onnx_files.INT64, [1])}
    finding = only(checked(onnx_files.model(nodes, inputs, ["y"]), tmp_path))
    assert finding.code is UNSUPPORTED_OPSET
    assert "not constant here" in finding.observed.en
    assert "export the model at opset 12" in finding.help.en
    assert finding.source == "op_specs/base/tensor/unsqueeze.yaml:2"


def test_precision_mode_decides_which_dtypes_are_legal(tmp_path: Path) -> None:
    nodes = [node("MatMul", ["x", "w"], ["y"])]
    weights = {"w": np.zeros((4, 4), np.float32)}
    proto = onnx_files.model(nodes, {"x": (FLOAT, [4, 4])}, ["y"], weights)
    assert checked(proto, tmp_path).findings == ()
    kept = checked(proto, tmp_path, precision_mode="must_keep_origin_dtype")
    assert {f.code for f in kept.findings} == {DTYPE_NOT_LISTED}
    assert "float32" in kept.findings[0].observed.en


def test_soc_decides_rules_that_depend_on_it(tmp_path: Path) -> None:
    proto = onnx_files.model([conv()], IMAGE, ["y"], filters())
    mode = "must_keep_origin_dtype"
    assert checked(proto, tmp_path, precision_mode=mode, soc="sim").findings == ()
    finding = only(checked(proto, tmp_path, precision_mode=mode, soc="Ascend310P3"))
    assert finding.rule == "Conv/dtype_excluded/X"


def custom(op: str, inputs: list[str], **attributes: Any) -> Any:
    ports = {name: (FLOAT, [1, 3, 8, 8]) for name in inputs}
    nodes = [node(op, inputs, ["y"], "own", domain="any", **attributes)]
    return onnx_files.model(nodes, ports, ["y"], opsets={"": 13, "any": 1})


def test_attribute_that_a_custom_operator_lacks_is_an_error_with_a_guess(tmp_path: Path) -> None:
    proto = custom("AdaptiveMaxPool2D", ["x"], output_size=[2, 2], outputsize=[1, 1])
    findings = checked(proto, tmp_path).findings
    found = next(f for f in findings if f.code is ATTR_NOT_LISTED)
    assert "outputsize" in found.observed.en
    assert "did you mean output_size?" in found.help.en
    assert found.source.endswith("/adaptive_max_pool2d.yaml:1")


def test_attribute_that_is_not_listed_is_shown_short(tmp_path: Path) -> None:
    table = helper.make_tensor("t", FLOAT, [2, 3], [0.0] * 6)
    proto = custom("AdaptiveMaxPool2D", ["x"], output_size=[2, 2], table=table, row=[7] * 99)
    found = [f for f in checked(proto, tmp_path).findings if f.code is ATTR_NOT_LISTED]
    assert [f.observed.en for f in found] == [
        "row = [7, 7, 7, 7, 7, 7, 7, 7, ...]",
        "table = <tensor 2x3>",
    ]


def test_inputs_beyond_those_of_a_custom_operator_are_an_error(tmp_path: Path) -> None:
    proto = custom("AdaptiveMaxPool2D", ["x", "z"], output_size=[2, 2])
    findings = checked(proto, tmp_path).findings
    found = next(f for f in findings if f.code is OPERAND_NOT_LISTED)
    assert (found.observed.en, found.place.field) == ("2", "input 1")
    assert found.source.endswith("adaptive_max_pool2d.yaml:1")


def test_custom_operator_is_found_in_any_domain(tmp_path: Path) -> None:
    model = checked(custom("AdaptiveMaxPool2D", ["x"], output_size=[2, 2]), tmp_path)
    assert [row.op for row in model.operators] == ["any::AdaptiveMaxPool2D"]
    assert model.operators[0].listed


def test_fault_of_onnx_is_reported_beside_findings(tmp_path: Path) -> None:
    nodes = [conv("bad", strides=[64, 1]), node("Relu", ["y"], ["z"], "relu", color=3)]
    model = checked(onnx_files.model(nodes, IMAGE, ["z"], filters()), tmp_path)
    assert [(f.code, f.place and f.place.node_name) for f in model.faults] == [(BAD_MODEL, "relu")]
    assert [f.place.node_name for f in model.findings] == ["bad"]
    assert [row.standing for row in model.rows] == [Standing.ERROR, Standing.ERROR]


def test_nodes_of_branches_are_checked_in_their_scope(tmp_path: Path) -> None:
    branches = {
        key: helper.make_graph(
            [node(op, ["x"], [f"{key}_out"], f"in_{key}")],
            key,
            [],
            [helper.make_tensor_value_info(f"{key}_out", FLOAT, None)],
        )
        for key, op in (("then_branch", "Mish"), ("else_branch", "Relu"))
    }
    nodes = [node("If", ["c"], ["y"], "choose", **branches)]
    inputs: onnx_files.Ports = {**IMAGE, "c": (TensorProto.BOOL, [])}
    model = checked(onnx_files.model(nodes, inputs, ["y"]), tmp_path)
    errors = [f for f in model.findings if f.standing is Standing.ERROR]
    assert [(f.place.node_name, f.scope) for f in errors] == [
        ("in_then_branch", 'then_branch of "choose"')
    ]


def test_unreadable_file_does_not_keep_others_from_being_checked(tmp_path: Path) -> None:
    good = onnx_files.save(onnx_files.model([conv()], IMAGE, ["y"], filters()), tmp_path)
    report = api.check_models([tmp_path / "none.onnx", good])
    assert [f.code for f in report.models[0].faults] == [FILE_NOT_FOUND]
    assert report.models[1].standing is Standing.SUPPORTED
    assert report.standing is Standing.ERROR


def test_shapes_are_taken_by_the_models_that_have_the_input(tmp_path: Path) -> None:
    paths = []
    for name in ("x", "z"):
        folder = tmp_path / name
        folder.mkdir()
        inputs: onnx_files.Ports = {name: (FLOAT, ["N", 3])}
        paths.append(
            onnx_files.save(
                onnx_files.model([node("Softmax", [name], ["y"])], inputs, ["y"]), folder
            )
        )
    report = api.check_models(paths, input_shape="x:2,3;z:4,3")
    assert [model.shape_hint for model in report.models] == ["", ""]
    onnx_files.fails(lambda: api.check_models(paths, input_shape="q:2,3"), BAD_INPUT_SHAPE)
    onnx_files.fails(lambda: api.check_models(paths[:1], input_shape="z:2,3"), BAD_INPUT_SHAPE)


def test_options_without_meaning_are_refused(tmp_path: Path) -> None:
    path = onnx_files.save(onnx_files.model([conv()], IMAGE, ["y"], filters()), tmp_path)
    onnx_files.fails(lambda: api.check_models(path, soc="Ascend0"), UNKNOWN_SOC)
    onnx_files.fails(lambda: api.check_models(path, precision_mode="fast"), BAD_OPTION)


def test_fingerprint_stays_when_the_value_changes(tmp_path: Path) -> None:
    prints = [
        only(
            checked(onnx_files.model([conv(strides=[s, 1])], IMAGE, ["y"], filters()), tmp_path)
        ).fingerprint
        for s in (64, 70)
    ]
    assert prints[0] == prints[1]
    other = onnx_files.model([conv(pads=[256, 0, 0, 0])], IMAGE, ["y"], filters())
    assert only(checked(other, tmp_path)).fingerprint != prints[0]


def test_width_past_its_limit_is_reported_with_its_limit(tmp_path: Path) -> None:
    inputs: onnx_files.Ports = {"x": (FLOAT, [1, 3, 8, 4097])}
    finding = only(checked(onnx_files.model([conv()], inputs, ["y"], filters()), tmp_path))
    assert finding.code is DIM_OUT_OF_RANGE
    assert "4097" in finding.observed.en


def test_operators_are_ranked_by_their_worst_node_then_by_number_then_by_name() -> None:
    error, supported = Standing.ERROR, Standing.SUPPORTED
    mixed = NodeCount("Mixed", listed=True, counts={error: 1, supported: 1})
    parser = NodeCount("Parser", listed=True, counts={Standing.PARSER: 5})
    more = NodeCount("More", listed=True, counts={supported: 3})
    equal = NodeCount("Equal", listed=True, counts={supported: 3})
    few = NodeCount("Few", listed=True, counts={supported: 1})
    assert ranked([few, more, parser, equal, mixed]) == (mixed, parser, equal, more, few)
