"""Flags that the parser of ConvTranspose never resets: one node concerns those after it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import atc_py
from atc_py.check.findings import Finding
from atc_py.diag.codes import DEVIATES_ON_CANN, NO_CANN_ARITHMETIC

SHAPE: dict[str, Any] = {"output_shape": [4, 4]}
PLAIN: dict[str, Any] = {}
AUTO = {"auto_pad": "VALID"}
MARKED = "ConvTranspose/cann/marked-by-node-before"
NOT_MARKED = "ConvTranspose/cann/not-marked-after-auto-pad"
MODE: dict[str, Any] = {"precision_mode": "force_fp16"}


def saved(folder: Path, *nodes: Mapping[str, Any]) -> Path:
    """Save a model of transposed convolutions of one image, first, second ..."""
    weight = numpy_helper.from_array(np.ones((1, 1, 2, 2), np.float32), "w")
    image = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 1, 2, 2])
    made, results = [], []
    for name, attributes in zip(("first", "second", "third"), nodes, strict=False):
        kernel: dict[str, Any] = {"kernel_shape": [2, 2], "strides": [2, 2]}
        made.append(
            helper.make_node(
                "ConvTranspose", ["x", "w"], [f"y.{name}"], name=name, **kernel, **attributes
            )
        )
        kind = onnx.TensorProto.FLOAT
        results.append(helper.make_tensor_value_info(f"y.{name}", kind, [1, 1, 4, 4]))
    graph = helper.make_graph(made, "flags", [image], results, [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=8)
    path = folder / "model.onnx"
    onnx.save(model, path)
    return path


def findings(path: Path, cann: int) -> list[Finding]:
    """Return the deviations that depend on other nodes."""
    (model,) = atc_py.check_models(path, cann=cann, **MODE).models
    return [each for each in model.findings if each.rule in {MARKED, NOT_MARKED}]


@pytest.mark.parametrize("cann", [5, 9])
@pytest.mark.parametrize(
    ("nodes", "rule", "said"),
    [
        ((SHAPE, PLAIN), MARKED, '"first" sets output_shape'),
        ((PLAIN, SHAPE, PLAIN), MARKED, '"second" sets output_shape'),
        ((AUTO, SHAPE), NOT_MARKED, '"first" sets auto_pad'),
    ],
)
def test_later_node_is_reported_and_refused_by_name(
    nodes: tuple[dict[str, Any], ...], rule: str, said: str, cann: int, tmp_path: Path
) -> None:
    path = saved(tmp_path, *nodes)
    (finding,) = findings(path, cann)
    assert (finding.rule, finding.code) == (rule, DEVIATES_ON_CANN)
    assert finding.place.node == len(nodes) - 1
    assert said in finding.observed.en
    with pytest.raises(atc_py.AtcError) as caught:
        atc_py.convert(path, tmp_path / "model.om", semantics="cann", cann=cann, **MODE)
    (problem,) = caught.value.diagnostics
    assert problem.code is NO_CANN_ARITHMETIC
    assert said in problem.message
    assert problem.place is not None
    assert problem.place.node == len(nodes) - 1


@pytest.mark.parametrize(
    "nodes",
    [
        (PLAIN, SHAPE),
        (SHAPE, SHAPE),
        (AUTO, PLAIN),
        (SHAPE, AUTO),
        (SHAPE, AUTO, PLAIN),
        (AUTO, {**SHAPE, **AUTO}),
        (PLAIN, PLAIN),
    ],
)
def test_other_orders_are_not(nodes: tuple[dict[str, Any], ...], tmp_path: Path) -> None:
    path = saved(tmp_path, *nodes)
    assert not findings(path, 9)
    made = []
    for semantics in ("onnx", "cann"):
        target = tmp_path / f"{semantics}.om"
        made.append(atc_py.convert(path, target, semantics=semantics, **MODE).output.read_bytes())
    assert made[0] == made[1]


def test_order_of_a_branch_is_not_decided(tmp_path: Path) -> None:
    kind = onnx.TensorProto.FLOAT
    weight = numpy_helper.from_array(np.ones((1, 1, 2, 2), np.float32), "w")
    branches = []
    for name in ("then", "else"):
        attributes: dict[str, Any] = SHAPE if name == "then" else {}
        inner = helper.make_node(
            "ConvTranspose",
            ["x", "w"],
            [f"{name}.y"],
            name=name,
            kernel_shape=[2, 2],
            strides=[2, 2],
            **attributes,
        )
        result = helper.make_tensor_value_info(f"{name}.y", kind, [1, 1, 4, 4])
        branches.append(helper.make_graph([inner], name, [], [result]))
    chosen = helper.make_node(
        "If", ["c"], ["y"], name="if", then_branch=branches[0], else_branch=branches[1]
    )
    inputs = [
        helper.make_tensor_value_info("c", onnx.TensorProto.BOOL, []),
        helper.make_tensor_value_info("x", kind, [1, 1, 2, 2]),
    ]
    outputs = [helper.make_tensor_value_info("y", kind, [1, 1, 4, 4])]
    graph = helper.make_graph([chosen], "branches", inputs, outputs, [weight])
    path = tmp_path / "model.onnx"
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=8)
    onnx.save(model, path)
    (finding,) = findings(path, 9)
    assert finding.rule == MARKED
    assert 'not decided: "then" sets output_shape' in finding.allowed.en


@pytest.mark.parametrize(
    ("dim", "said"), [("h", "not decided"), (4, "to compute what ONNX defines")]
)
def test_pads_that_follow_from_open_dims_are_not_decided(
    dim: str | int, said: str, tmp_path: Path
) -> None:
    kind = onnx.TensorProto.FLOAT
    weight = numpy_helper.from_array(np.ones((1, 1, 3, 3), np.float32), "w")
    node = helper.make_node(
        "ConvTranspose",
        ["x", "w"],
        ["y"],
        kernel_shape=[3, 3],
        strides=[2, 2],
        output_shape=[8, 8],
    )
    graph = helper.make_graph(
        [node],
        "open",
        [helper.make_tensor_value_info("x", kind, [1, 1, dim, dim])],
        [helper.make_tensor_value_info("y", kind, None)],
        [weight],
    )
    path = tmp_path / "model.onnx"
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=8)
    onnx.save(model, path)
    (checked,) = atc_py.check_models(path, cann=9, **MODE).models
    (finding,) = (each for each in checked.findings if each.rule.endswith("output-shape-halves"))
    assert finding.certainty == "inferred"
    assert said in finding.allowed.en
    assert ("not decided" in finding.allowed.en) == (dim == "h")
