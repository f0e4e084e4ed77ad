"""Findings that merely follow from another one are not reported."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper

from atc_py import api
from atc_py.check.findings import Finding, ModelCheck, Standing
from atc_py.check.findings_builder import RulesBrokenError, without_errors
from atc_py.check.parser_rules import is_of_model
from atc_py.diag.codes import BAD_MODEL, UNKNOWN_OPERATOR
from atc_py.onnx_graph.reading.read import read_model
from atc_py.options.compile_options import CheckOptions
from atc_py.pipeline.judging import judge_of
from atc_py.system.structs import replace
from atc_py.target import find_soc
from tests.check.checks import checked
from tests.onnx_graph import onnx_files

Weights = dict[str, npt.NDArray[np.generic]]

node = helper.make_node
FLOAT = onnx_files.FLOAT
IMAGE: onnx_files.Ports = {"x": (FLOAT, [1, 3, 8, 8])}
WEIGHTS: Weights = {
    "w": np.ones((4, 3, 3, 3), np.float32),
    "v": np.ones((6, 6), np.float32),
    "bad": np.ones((3, 3), np.float32),
    "one": np.array(1, np.int64),
    "zero": np.array(0, np.int64),
}
OPSETS = {"": 13, "com.foo": 1}


def model(*nodes: onnx.NodeProto, result: str = "y") -> onnx.ModelProto:
    return onnx_files.model(list(nodes), IMAGE, [result], WEIGHTS, OPSETS)


def of_nodes(check: ModelCheck) -> list[Finding]:
    """Return the findings but those on the file's imports."""
    return [each for each in check.findings if not is_of_model(each)]


UNLISTED = node("Foo", ["x"], ["m"], "foo", domain="com.foo")
REFUSED = node("MatMul", ["x", "bad"], ["m"], "product")
CHAIN = (
    node("Conv", ["m", "w"], ["c"], "conv", strides=[1, 1]),
    node("Relu", ["c"], ["r"], "relu"),
    node("MatMul", ["r", "v"], ["y"], "after"),
)
ARITHMETIC = (
    node("Shape", ["m"], ["s"], "shape"),
    node("Gather", ["s", "one"], ["g"], "gather", axis=0),
    node("Mul", ["g", "g"], ["gg"], "cells"),
    node("Range", ["zero", "gg", "one"], ["y"], "range"),
)


@pytest.mark.parametrize("tail", [CHAIN, ARITHMETIC], ids=["data", "shapes"])
def test_nodes_after_an_operator_that_is_not_listed_have_no_findings(
    tail: tuple[onnx.NodeProto, ...], tmp_path: Path
) -> None:
    check = checked(model(UNLISTED, *tail), tmp_path)
    (found,) = of_nodes(check)
    assert found.code is UNKNOWN_OPERATOR
    assert check.node_counts[Standing.ERROR] == 1
    assert check.node_counts[Standing.UNKNOWN] >= 2  # they are not called supported either


@pytest.mark.parametrize("tail", [CHAIN, ARITHMETIC], ids=["data", "shapes"])
def test_nodes_after_one_that_contradicts_onnx_have_no_findings(
    tail: tuple[onnx.NodeProto, ...], tmp_path: Path
) -> None:
    check = checked(model(REFUSED, *tail), tmp_path)
    assert [(each.code, each.place and each.place.node_name) for each in check.faults] == [
        (BAD_MODEL, "product")
    ]
    assert check.findings == ()


def test_convert_says_no_more_than_check(tmp_path: Path) -> None:
    path = onnx_files.save(model(UNLISTED, *ARITHMETIC), tmp_path)
    with pytest.raises(RulesBrokenError) as caught:
        api.convert(path, tmp_path / "model.om")
    assert [each.code for each in caught.value.diagnostics] == [UNKNOWN_OPERATOR]


def test_what_is_wrong_by_itself_after_such_a_node_is_still_reported(tmp_path: Path) -> None:
    far = node("LRN", ["m"], ["y"], "norm", size=4)
    check = checked(model(UNLISTED, far), tmp_path)
    assert {each.rule.partition("/")[0] for each in of_nodes(check)} == {"com.foo::Foo", "LRN"}
    assert {each.standing for each in of_nodes(check)} == {Standing.ERROR}


def test_nodes_that_do_not_depend_on_it_are_judged_as_ever(tmp_path: Path) -> None:
    aside = node("Conv", ["x", "w"], ["a"], "aside", strides=[64, 1])
    nodes = [UNLISTED, *CHAIN, aside]
    proto = onnx_files.model(nodes, IMAGE, ["y", "a"], WEIGHTS, OPSETS)
    found = of_nodes(checked(proto, tmp_path))
    assert {each.place.node_name for each in found} == {"foo", "aside"}


def test_spectrum_is_one_finding(tmp_path: Path) -> None:
    nodes = [
        node("STFT", ["x", "step", "window"], ["s"], "stft"),
        node("Reshape", ["s", "shape"], ["r"], "reshape"),
        node("Relu", ["r"], ["y"], "relu"),
    ]
    weights: Weights = {
        "step": np.array(8, np.int64),
        "window": np.ones(16, np.float32),
        "shape": np.array([15, 9, 2], np.int64),
    }
    inputs: onnx_files.Ports = {"x": (FLOAT, [1, 128, 1])}
    path = onnx_files.save(onnx_files.model(nodes, inputs, ["y"], weights, {"": 17}), tmp_path)
    (check,) = api.check_models(path).models
    assert check.faults == ()
    worse = [each for each in check.findings if each.standing is not Standing.REWRITE]
    assert [(each.code, each.place.node_name) for each in worse] == [(UNKNOWN_OPERATOR, "stft")]
    with pytest.raises(RulesBrokenError) as caught:
        api.convert(path, tmp_path / "model.om")
    assert [each.code for each in caught.value.diagnostics] == [UNKNOWN_OPERATOR]


def test_operator_that_is_not_listed_in_a_branch_speaks_for_what_follows(tmp_path: Path) -> None:
    inner = [node("Foo", ["x"], ["f"], "inner", domain="com.foo")]
    other = [node("Foo", ["x"], ["g"], "other", domain="com.foo")]
    out = [helper.make_tensor_value_info(name, FLOAT, None) for name in "fg"]
    branches = {
        "then_branch": helper.make_graph(inner, "then", [], out[:1]),
        "else_branch": helper.make_graph(other, "else", [], out[1:]),
    }
    nodes = [node("If", ["which"], ["m"], "choose", **branches), *CHAIN]
    inputs: onnx_files.Ports = {**IMAGE, "which": (TensorProto.BOOL, [])}
    proto = onnx_files.model(nodes, inputs, ["y"], WEIGHTS, OPSETS)
    found = of_nodes(checked(proto, tmp_path))
    assert [each.code for each in found] == [UNKNOWN_OPERATOR, UNKNOWN_OPERATOR]


def test_an_error_that_is_refuted_leaves_its_node_undecided(tmp_path: Path) -> None:
    onnx.save(model(node("Foo", ["x"], ["y"], domain="com.foo")), tmp_path / "m.onnx")
    judge = judge_of(CheckOptions(), find_soc("sim"))
    judgment = judge(read_model(tmp_path / "m.onnx"))
    check = judgment.checked.check
    errors = [each for each in check.findings if each.standing is Standing.ERROR]
    undecided = {each: replace(each, standing=Standing.UNKNOWN) for each in errors}
    found = without_errors(check, judgment.model, undecided, ())
    assert (check.standing, found.standing) == (Standing.ERROR, Standing.UNKNOWN)
    assert {row.standing for row in found.rows} == {Standing.UNKNOWN}
