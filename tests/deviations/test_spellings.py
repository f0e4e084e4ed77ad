"""Types by which CANN's parser has an operator: taken like the list's, and asked for where it matters."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

import atc_py
from atc_py.check.findings import Finding
from atc_py.diag.codes import REFUSED_BY_PARSER
from atc_py.spec import library
from atc_py.spec.lists import operator_lists
from tests.lowering.custom_nodes import run


def findings(op: str, folder: Path, cann: int) -> list[Finding]:
    """Return what is found of a pool, opset 13."""
    types = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, dims)
        for name, dims in (("x", [1, 2, 4, 4]), ("y", [1, 2, 2, 2]))
    ]
    node = helper.make_node(op, ["x"], ["y"], output_size=[2, 2])
    graph = helper.make_graph([node], "one", types[:1], types[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, folder / "model.onnx")
    (found,) = atc_py.check_models(
        folder / "model.onnx",
        precision_mode="force_fp16",
        cann=cann,
        operator_list="cann-9.0",
    ).models
    return list(found.findings)


@pytest.mark.parametrize("kind", ["Avg", "Max"])
def test_type_with_a_small_d_computes_what_the_listed_type_does(kind: str) -> None:
    x = np.random.default_rng(5).standard_normal((1, 2, 5, 7), dtype=np.float32)
    shapes = [np.empty((1, 2, 2, 3), np.float32)]
    if kind == "Max":
        shapes.append(np.empty((1, 2, 2, 3), np.int32))
    size = {"output_size": [2, 3]}
    small = run(f"Adaptive{kind}Pool2d", {"x": x}, shapes, size)
    large = run(f"Adaptive{kind}Pool2D", {"x": x}, shapes, size)
    for one, two in zip(small, large, strict=True):
        np.testing.assert_array_equal(one, two)


def test_parser_has_the_small_d_alone(tmp_path: Path) -> None:
    assert not findings("AdaptiveAvgPool2d", tmp_path, 9)
    (finding,) = findings("AdaptiveAvgPool2D", tmp_path, 9)
    assert finding.code is REFUSED_BY_PARSER
    assert finding.rule == "parser/spelling"
    assert "AdaptiveAvgPool2d" in finding.allowed.en
    (absent,) = findings("AdaptiveMaxPool2d", tmp_path, 5)
    assert absent.rule == "parser/registered"


def test_spellings_name_one_operator_each() -> None:
    for each in operator_lists():
        specs = library(each.name)
        for spec in specs.all():
            assert all(specs.find(name) is spec for name in spec.spellings)
