"""Refused nodes that no rule fits: the rule of which the most conditions hold, and what one of them lacks."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

import atc_py
from atc_py.check.findings import Standing
from atc_py.fix.case import ConstInput, Fed, RuleCase, case
from atc_py.report.check.json_document import check_document
from atc_py.report.check.text import check_text
from atc_py.tensor.dtypes import DType
from tests.fix.cases import write_case
from tests.onnx_graph import onnx_files

PADS, LOWEST = ConstInput(np.array([0, 1, 0, 1])), ConstInput(np.array(-np.inf, np.float32))
FILTER = ConstInput(np.ones((2, 2, 3, 3), np.float32))

LESS = "A of Less must have dtype float16, float32, int32, int8 or uint8, found float64"
LONG = Fed((1 << 13, 1 << 13), DType.FLOAT64)  # too long for runs that show it in float32


@pytest.mark.parametrize(
    ("near", "rule", "condition", "hint"),
    [
        (
            case("Pad", Fed(("n", 3)), PADS, LOWEST),  # type: ignore[arg-type]  # an open dim
            "pad-as-concat",
            "the dims of x0 are known, found ?x3",
            "",  # which the proposed dims make known
        ),
        (
            case("Conv", [1, 2, 200, 200], FILTER, strides=[70, 70], dilations=[2, 2]),
            "conv-stride-fold",
            "no dilation, found 2",
            "fits where no dilation, found 2",
        ),
        (
            case("AveragePool", [1, 1, 1, 5003], kernel_shape=[1, 5000], pads=[0, 1, 0, 0]),
            "pool-wide-window",
            "there are no pads along the row and no dilation",
            "fits where there are no pads along the row and no dilation",
        ),
        (
            case("LessOrEqual", LONG, LONG, opset=16),
            "function-body",
            f"its new nodes are listed: {LESS}",
            f"makes nodes that the list refuses: {LESS}",
        ),
        (
            case("GlobalLpPool", ConstInput(np.ones((1, 2, 3, 3), np.float16)), p=8, opset=17),
            "global-lp-pool-as-norm",
            "X is float32 or computed",
            "fits where X is float32 or computed",
        ),
        (
            case("Shrink", Fed((2, 3), DType.INT32), opset=18),
            "function-body",
            "data of Shrink are floats",
            "fits where data of Shrink are floats",
        ),
    ],
    ids=lambda value: value.op_type if isinstance(value, RuleCase) else "",
)
def test_closest_rule_and_its_value_are_named(
    near: RuleCase, rule: str, condition: str, hint: str, tmp_path: Path
) -> None:
    """First in the record of `fix`, and in the hints of `check`."""
    path = write_case(near, tmp_path / "near.onnx")
    done = atc_py.fix_model(path, seeds=0, skip=["double-as-float32"], operator_list="base")
    name, reason = done.left[0].unfit[0]
    assert (name, reason.en) == (rule, condition)
    (check,) = atc_py.check_models(path, operator_list="base").models
    errors = [each for each in check.findings if each.standing is Standing.ERROR]
    hints = [each.help.en for each in errors if not each.fixed_by]
    assert bool(hints) == bool(hint)
    assert all(each.fixed_by == ("--input-shape", rule) for each in errors if each.fixed_by)
    assert all(each.endswith(f"; rule {rule} of `atc-py fix` {hint}") for each in hints)


def two_convolutions(path: Path) -> Path:
    """The same finding at two nodes, which a rule refuses for another dilation each."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], [f"y{far}"], strides=[70, 70], dilations=[far, far])
        for far in (2, 3)
    ]
    inputs: onnx_files.Ports = {"x": (1, [1, 2, 200, 200])}
    onnx.save(onnx_files.model(nodes, inputs, ["y2", "y3"], {"w": FILTER.value}), path)
    return path


def test_nodes_with_one_finding_have_hints_of_their_own_and_one_paragraph(tmp_path: Path) -> None:
    results = atc_py.check_models(two_convolutions(tmp_path / "two.onnx"), operator_list="base")
    found = [each for each in results.models[0].findings if each.standing is Standing.ERROR]
    ends = [each.help.en.rpartition(" where ")[2] for each in found]
    assert ends == ["no dilation, found 2", "no dilation, found 3"]
    texts = [check_text(check_document(results), verbose=verbose) for verbose in (False, True)]
    assert [text.count("conv-stride-fold") for text in texts] == [1, 2]
    assert all(text.count("error[ATC4012") == 1 for text in texts)
