"""Models with open dims: findings that a choice of dims may change are not decided."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper

from atc_py import api
from atc_py.check.findings import ModelCheck, Standing
from atc_py.diag.codes import BAD_MODEL, NO_KERNEL, UNKNOWN_OPERATOR, UNSUPPORTED_OPSET
from atc_py.report.check.formats import render_check
from atc_py.report.check.json_document import check_document
from tests.check.checks import checked
from tests.networks.builders.open_detector import build_open_detector
from tests.onnx_graph import onnx_files

Weights = dict[str, npt.NDArray[np.generic]]

node = helper.make_node
FLOAT, INT64 = onnx_files.FLOAT, onnx_files.INT64
KEEP = "must_keep_origin_dtype"
LETTER = {"strict_list": True}
pytestmark = pytest.mark.usefixtures("base_list")
NUMBERS: Weights = {
    "zero": np.array(0, np.int64),
    "one": np.array(1, np.int64),
    "two": np.array(2, np.int64),
    "first": np.array([0], np.int64),
    "w": np.ones((4, 3, 3, 3), np.float32),
    "one_line": np.ones(1, np.float32),
    "nought": np.array(0, np.float32),
}


def model(
    *nodes: onnx.NodeProto,
    x: tuple[int | str, ...] = (1, 3, "height", 8),
    results: tuple[str, ...] = ("y",),
    opset: int = 13,
) -> onnx.ModelProto:
    return onnx_files.model(list(nodes), {"x": (FLOAT, x)}, results, NUMBERS, {"": opset})


def dim(x: str = "x", axis: str = "two", name: str = "n") -> tuple[onnx.NodeProto, ...]:
    """Read one dim of a value as a number."""
    return (node("Shape", [x], [f"{name}_shape"]), node("Gather", [f"{name}_shape", axis], [name]))


def standings(check: ModelCheck) -> set[Standing]:
    return {each.standing for each in check.findings}


# A detector -------------------------------------------------------------------------------------


@pytest.mark.parametrize("opset", [11, 13])
def test_detector_with_open_height_and_width_has_no_error(opset: int, tmp_path: Path) -> None:
    check = checked(build_open_detector(opset=opset), tmp_path)
    assert check.faults == ()
    assert Standing.ERROR not in standings(check)
    assert check.standing is Standing.UNKNOWN
    undecided = {each.place.op_type for each in check.findings if each.standing is Standing.UNKNOWN}
    assert {"Range", "Mul", "ConstantOfShape", "Expand"} <= undecided
    mul = next(each for each in check.findings if each.rule == "Mul/dtype_listed/A")
    assert mul.message.en.endswith(
        "(not decided: int64; the node may fold away once the open dims are fixed)"
    )
    assert mul.help.en == "fix the open dims of images with --input-shape"
    assert "images" in mul.help.zh


def test_detector_says_which_dims_decide(tmp_path: Path) -> None:
    path = onnx_files.save(build_open_detector(), tmp_path)
    report = api.check_models(path)
    assert [(dim.name, dim.places) for dim in report.models[0].deciding] == [
        ("height", (("images", 2),)),
        ("width", (("images", 3),)),
    ]
    text = render_check("text", check_document(report), Standing.ERROR)
    assert text.splitlines()[0].endswith("; depends on height and width of images")
    chinese = render_check("text", check_document(report, "zh"), Standing.ERROR)
    assert chinese.splitlines()[0].endswith("；取决于 images 的 height、width")


def test_detector_compiles_with_the_shape_that_is_proposed(tmp_path: Path) -> None:
    path = onnx_files.save(build_open_detector(), tmp_path)
    (check,) = api.check_models(path).models
    assert check.hint_fits
    (fixed,) = api.check_models(path, input_shape=check.shape_hint).models
    assert Standing.ERROR not in standings(fixed)
    assert Standing.UNKNOWN not in standings(fixed)
    api.convert(path, tmp_path / "model.om", input_shape=check.shape_hint)


def test_only_the_dims_that_decide_are_named(tmp_path: Path) -> None:
    conv = node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])
    check = checked(model(conv, x=("batch", 3, 16, "")), tmp_path, **LETTER)
    assert [(dim.name, dim.places) for dim in check.deciding] == [("", (("x", 3),))]
    text = render_check(
        "text",
        check_document(api.check_models(tmp_path / "model.onnx", strict_list=True)),
        Standing.ERROR,
    )
    assert "; depends on axis 3 of x" in text.splitlines()[0]


# Nodes that may fold away -----------------------------------------------------------------------

ARITHMETIC = (*dim(), node("Mul", ["n", "n"], ["cells"], "cells"))
RANGE = node("Range", ["zero", "cells", "one"], ["y"], "range")
SAME = node("Equal", ["n", "two"], ["same"], "same")


def branch(op_type: str, name: str, **attributes: Any) -> onnx.GraphProto:
    inner = node(op_type, ["x"], [name], f"in_{name}", **attributes)
    return helper.make_graph([inner], name, [], [helper.make_tensor_value_info(name, FLOAT, None)])


def choice(condition: str, then: onnx.GraphProto, otherwise: onnx.GraphProto) -> onnx.NodeProto:
    branches = {"then_branch": then, "else_branch": otherwise}
    return node("If", [condition], ["y"], "choose", **branches)


MAY_FOLD = {
    "arithmetic of int64": (*ARITHMETIC, RANGE),
    "operator that is not listed": (
        *dim(),
        node("Cast", ["n"], ["u"], to=TensorProto.UINT64),
        node("BitShift", ["u", "u"], ["s"], "shift", direction="LEFT"),
        node("Cast", ["s"], ["y"], to=INT64),
    ),
    "shape of a value that nothing else needs": (
        node("Mish", ["x"], ["m"], "mish"),
        node("Shape", ["m"], ["y"]),
    ),
    "operator that is not listed in a branch that need not be taken": (
        *dim(),
        SAME,
        choice("same", branch("Mish", "a"), branch("Relu", "b")),
    ),
    "branches of two ranks": (
        *dim(),
        SAME,
        choice("same", branch("Flatten", "a"), branch("Relu", "b")),
    ),
}
"""Nodes of which some choice of dims leaves nothing that breaks a rule."""


@pytest.mark.parametrize("what", MAY_FOLD)
def test_node_that_some_choice_of_dims_folds_away_is_not_an_error(
    what: str, tmp_path: Path
) -> None:
    proto = model(*MAY_FOLD[what], opset=18)
    check = checked(proto, tmp_path)
    assert check.faults == ()
    assert check.standing is Standing.UNKNOWN
    fixed = checked(proto, tmp_path, input_shape="x:1,3,4,8")
    assert fixed.standing is not Standing.ERROR


def test_contradiction_at_a_node_that_may_fold_away_is_reported_as_undecided(
    tmp_path: Path,
) -> None:
    proto = model(*MAY_FOLD["branches of two ranks"])
    (found,) = [
        each for each in checked(proto, tmp_path).findings if each.code.name == "unknown-shape"
    ]
    assert found.standing is Standing.UNKNOWN
    assert "rank 4 in else_branch and rank 2 in then_branch" in found.message.en


@pytest.mark.parametrize(
    "nodes",
    [
        (*ARITHMETIC, RANGE),
        (node("Mish", ["x"], ["m"]), node("Shape", ["m"], ["y"])),
    ],
    ids=["arithmetic", "unneeded"],
)
def test_nothing_is_rewritten_that_may_fold_away(
    nodes: tuple[onnx.NodeProto, ...], tmp_path: Path
) -> None:
    found = checked(model(*nodes, opset=18), tmp_path).findings
    assert {each.standing for each in found} == {Standing.UNKNOWN}


# Nodes that stay --------------------------------------------------------------------------------

STAYS = {
    "operator that is not listed": (node("Mish", ["x"], ["y"], "mish"),),
    "one whose shape is asked for, too": (
        node("Mish", ["x"], ["y"], "mish"),
        node("Shape", ["y"], ["s"]),
    ),
    "arithmetic on a number of elements that data decides": (
        node("NonZero", ["x"], ["z"]),
        *dim("z", "one"),
        node("Mul", ["n", "n"], ["y"], "cells"),
    ),
    "operator that both branches need": (
        *dim(),
        SAME,
        node("Mish", ["x"], ["m"], "mish"),
        choice(
            "same",
            helper.make_graph(
                [node("Relu", ["m"], ["a"])],
                "a",
                [],
                [helper.make_tensor_value_info("a", FLOAT, None)],
            ),
            helper.make_graph(
                [node("Abs", ["m"], ["b"])],
                "b",
                [],
                [helper.make_tensor_value_info("b", FLOAT, None)],
            ),
        ),
    ),
    "random numbers": (node("RandomNormal", [], ["y"], "noise", shape=[2]),),
}
"""Nodes that break a rule whatever is chosen."""


@pytest.mark.parametrize("what", STAYS)
def test_node_that_no_choice_of_dims_folds_away_is_an_error(what: str, tmp_path: Path) -> None:
    nodes = STAYS[what]
    results = ("y", "s") if "asked for" in what else ("y",)
    proto = model(*nodes, results=results, opset=18)
    assert checked(proto, tmp_path).standing is Standing.ERROR
    for height in (1, 2, 4, 7):
        fixed = checked(proto, tmp_path, input_shape=f"x:1,3,{height},8")
        assert fixed.standing is Standing.ERROR


# Values that may be constant --------------------------------------------------------------------


def test_value_that_may_be_constant_is_undecided(tmp_path: Path) -> None:
    rows = node("Unsqueeze", ["n", "first"], ["rows"])
    check = checked(model(*dim(), rows, node("Expand", ["one_line", "rows"], ["y"])), tmp_path)
    found = [each for each in check.findings if each.rule == "Expand/values_known/shape"]
    assert [each.standing for each in found] == [Standing.UNKNOWN]
    assert "it may be constant once the open dims are fixed" in found[0].message.en


def test_constant_that_may_be_out_of_range_is_undecided(tmp_path: Path) -> None:
    step = node("Sub", ["n", "two"], ["step"])
    data = node("ReduceSum", ["x"], ["total"], keepdims=0)
    real = node("Cast", ["step"], ["delta"], to=FLOAT)
    count = node("Range", ["nought", "total", "delta"], ["y"], "count")
    proto = model(*dim(), step, data, real, count)
    check = checked(proto, tmp_path)
    assert check.standing is Standing.UNKNOWN
    assert any("known_values_exclude" in each.rule for each in check.findings)
    worse = checked(proto, tmp_path, input_shape="x:1,3,2,8")
    assert worse.standing is Standing.ERROR
    assert checked(proto, tmp_path, input_shape="x:1,3,4,8").standing is not Standing.ERROR


def test_input_that_may_become_an_attribute_is_undecided(tmp_path: Path) -> None:
    axes = node("Unsqueeze", ["n", "first"], ["axes"])
    last = node("Unsqueeze", ["x", "axes"], ["y"], "late")
    check = checked(model(*dim(), axes, last), tmp_path)
    (found,) = [
        each
        for each in check.findings
        if each.code is UNSUPPORTED_OPSET and each.place.node_name == "late"
    ]
    assert found.standing is Standing.UNKNOWN
    fixed = checked(model(*dim(), axes, last), tmp_path, input_shape="x:1,3,4,8")
    assert fixed.standing is not Standing.ERROR


def test_data_that_are_fed_stay_an_error(tmp_path: Path) -> None:
    inputs: onnx_files.Ports = {"x": (FLOAT, [1, "n"]), "shape": (INT64, [2])}
    check = checked(
        onnx_files.model([node("Expand", ["x", "shape"], ["y"])], inputs, ["y"]), tmp_path
    )
    (found,) = [each for each in check.findings if each.rule == "Expand/values_known/shape"]
    assert found.standing is Standing.ERROR


# What all choices have in common ----------------------------------------------------------------


def never_fits() -> onnx.ModelProto:
    """Make a model whose number of elements never is the one asked for."""
    nodes = [
        node("Reshape", ["x", "one_row"], ["r"], "row"),
        node("Reshape", ["r", "sevens"], ["y"], "sevens"),
    ]
    weights: Weights = {
        "one_row": np.array([1, -1], np.int64),
        "sevens": np.array([2, 5], np.int64),
    }
    return onnx_files.model(nodes, {"x": (FLOAT, [1, 3, "height", 8])}, ["y"], weights)


def test_model_that_fails_with_every_choice_is_not_called_supported(tmp_path: Path) -> None:
    check = checked(never_fits(), tmp_path)
    assert check.standing is Standing.UNKNOWN
    (found,) = check.findings
    assert found.code is BAD_MODEL
    assert "true for the best of" in found.message.en
    assert not check.hint_fits
    assert check.shape_hint == "x:1,3,height,8"
    text = render_check(
        "text", check_document(api.check_models(tmp_path / "model.onnx")), Standing.ERROR
    )
    assert f"None of the {check.hint_tries} choices that were tried fits the model" in text


def test_kernel_that_is_missing_with_the_dims_tried_is_undecided(tmp_path: Path) -> None:
    weights: Weights = {"w": np.zeros((4, 4), np.float32), "b": np.zeros(4, np.float32)}
    dense = node("Gemm", ["x", "w", "b"], ["y"], "dense")
    proto = onnx_files.model([dense], {"x": (FLOAT, ["batch", 4])}, ["y"], weights)
    options = {"precision_mode": KEEP, "soc": "Hi3796CV300CS"}
    check = checked(proto, tmp_path, **options)
    (found,) = [each for each in check.findings if each.code is NO_KERNEL]
    assert found.standing is Standing.UNKNOWN
    assert "(not decided: true for the best of 7 choices of dims)" in found.message.en
    fixed = checked(proto, tmp_path, input_shape="x:1,4", **options)
    assert fixed.standing is Standing.ERROR


def test_error_that_no_choice_changes_is_reported_beside_what_is_open(tmp_path: Path) -> None:
    nodes = (node("Conv", ["x", "w"], ["c"], "conv"), node("Mish", ["c"], ["y"], "mish"))
    check = checked(model(*nodes, x=(1, 3, 8, "width"), opset=18), tmp_path)
    errors = [each for each in check.findings if each.standing is Standing.ERROR]
    assert [each.code for each in errors] == [UNKNOWN_OPERATOR]
    assert check.deciding
    assert check.hint_fits
