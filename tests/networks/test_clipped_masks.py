"""Attention masks of -inf: finite in narrower floats, as the weight clip of ATC leaves them."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

import atc_py
from atc_py.check.findings import Standing
from atc_py.diag.codes import INFINITY_CLIPPED
from tests.check.checks import checked, only
from tests.onnx_graph import onnx_files

FLOAT = onnx_files.FLOAT
INF = float("inf")
MASK = [[-INF, -INF, -INF, -INF], [0.0, 0.0, -INF, 0.0]]
"""The first row is hidden as a whole, one place of the second."""


def masked_softmax(mask: object = MASK) -> onnx.ModelProto:
    """Return softmax(x + mask), the mask a constant."""
    return onnx_files.model(
        [
            helper.make_node("Add", ["x", "mask"], ["m"], "hide"),
            helper.make_node("Softmax", ["m"], ["y"], "soft", axis=-1),
        ],
        {"x": (FLOAT, [2, 4])},
        ["y"],
        {"mask": np.array(mask, np.float32)},
    )


def computed(folder: Path, **options: Any) -> Any:
    """Return what the device computes of zeros."""
    path = onnx_files.save(masked_softmax(), folder)
    done = atc_py.convert(path, folder / "net.om", verify=True, **options)
    result = atc_py.load(done.output).run({"x": np.zeros((2, 4), np.float32)})["y"]
    codes = [each.code for each in done.warnings]
    return np.asarray(result, np.float32), codes


@pytest.mark.parametrize("soc", ["sim", "Ascend310P3", "Ascend910B3"])
def test_row_hidden_as_a_whole_is_finite_in_float16(tmp_path: Path, soc: str) -> None:
    """Source: CANN's graph engine (2026) clips constants, infinities included, before the Cast.

    -inf becomes -65504, to which the products of a row add nothing: all its places are alike.
    """
    found, codes = computed(tmp_path, soc=soc)
    assert codes == [INFINITY_CLIPPED]
    np.testing.assert_array_equal(found[0], [0.25] * 4)
    np.testing.assert_allclose(found[1], [1 / 3, 1 / 3, 0, 1 / 3], atol=2e-4)


@pytest.mark.parametrize("options", [{"is_weight_clip": False}, {"precision_mode": "force_fp32"}])
def test_row_hidden_as_a_whole_is_nan_without_the_clip(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    found, codes = computed(tmp_path, **options)
    assert codes == []
    assert np.isnan(found[0]).all()


def test_check_reports_infinities_that_become_finite(tmp_path: Path) -> None:
    finding = only(checked(masked_softmax(), tmp_path))
    assert finding.code is INFINITY_CLIPPED
    assert finding.standing is Standing.ACCURACY
    assert finding.place.node_name == "hide"
    assert "\u00b165504 in float16, found 5 infinities" in finding.message.en
    assert "5 个无穷大" in finding.message.zh


def test_check_reports_infinities_where_the_neighbors_decide(tmp_path: Path) -> None:
    """In a mixed mode the mask is float16 because the product before it is."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"], "product")]
    nodes += [helper.make_node("Add", ["p", "mask"], ["y"], "hide")]
    constants = {"w": np.ones((4, 4), np.float32), "mask": np.array(MASK, np.float32)}
    proto = onnx_files.model(nodes, {"x": (FLOAT, [2, 4])}, ["y"], constants)
    finding = only(checked(proto, tmp_path, precision_mode="allow_mix_precision"))
    assert (finding.code, finding.place.node_name) == (INFINITY_CLIPPED, "hide")


def test_check_finds_the_one_mask_with_infinities_among_equal_nodes(tmp_path: Path) -> None:
    """Nodes that are alike are compiled once; the one with the infinities must be among them."""
    nodes = [
        helper.make_node("Add", ["x", "zeros"], ["a"], "plain"),
        helper.make_node("Add", ["a", "mask"], ["y"], "hide"),
    ]
    inputs = {"x": (FLOAT, [2, 4])}
    constants = {"zeros": np.ones((2, 4), np.float32), "mask": np.array(MASK, np.float32)}
    finding = only(checked(onnx_files.model(nodes, inputs, ["y"], constants), tmp_path))
    assert finding.place.node_name == "hide"


@pytest.mark.parametrize(
    ("mask", "options"),
    [
        (MASK, {"precision_mode": "force_fp32"}),
        (MASK, {"is_weight_clip": False}),
        ([[-1e9] * 4] * 2, {}),
    ],
)
def test_check_is_silent_where_no_infinity_changes(
    tmp_path: Path, mask: object, options: dict[str, Any]
) -> None:
    assert checked(masked_softmax(mask), tmp_path, **options).findings == ()
