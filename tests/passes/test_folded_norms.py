"""BatchNorm of constants is a summand and a factor on SoCs of CANN, and PRelu joins it on 310B.

The formula is that of CANN's BnHost; it gives the constants of a file of CANN 8.0 bit by bit.
"""

from pathlib import Path

import numpy as np
import onnx
import pytest

import atc_py
from atc_py.diag import AtcError
from atc_py.passes.fusion.batch_norm_to_bn_infer import BatchNormToBnInferPass
from tests.end_to_end import one_node_model
from tests.passes.conftest import RunPass
from tests.passes.numbers import constant, literal, node_of, results_of_typed
from tests.passes.test_fix_pipe import compiled, launches

RANDOM = np.random.default_rng(6)
SCALE, OFFSET, MEAN = (RANDOM.normal(size=5).round(3) for _ in range(3))
VARIANCE = np.abs(RANDOM.normal(size=5)).round(3) + 0.1

NORM = f"""
graph @g phase lowered {{
  input %x : float32[2,5,4,3] ND
  {literal("scale", SCALE, "float32")}
  {literal("offset", OFFSET, "float32")}
  {literal("mean", MEAN, "float32")}
  {literal("var", VARIANCE, "float32")}
  const %s : float32[1] ND = dense [0.3]
  %n = BatchNorm(%x, %scale, %offset, %mean, %var) {{epsilon=0.001}} : float32[2,5,4,3] ND
  %y = PRelu(%n, %s) : float32[2,5,4,3] ND
  output %y
}}
"""


def test_numbers_are_those_of_bn_host(run_pass: RunPass) -> None:
    graph, changes = run_pass(BatchNormToBnInferPass, NORM, soc="Ascend310B4")
    node = node_of(graph, "BNInferenceD")
    assert changes == 1
    scale, offset, mean, var = (each.astype(np.float32) for each in (SCALE, OFFSET, MEAN, VARIANCE))
    deviation = np.sqrt(var + np.float32(0.001))
    for position, wanted in (
        (1, offset / scale * deviation - mean),
        (2, scale * (np.float32(1) / deviation)),
    ):
        found = constant(node, position)
        assert found.shape == (1, 5, 1, 1)
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found.reshape(-1), wanted)


@pytest.mark.parametrize(
    ("soc", "wanted"),
    [
        ("Ascend310B4", [["BNInferenceD", "PRelu"]]),
        ("Ascend310P3", [["BNInferenceD"], ["PRelu"]]),
        ("Ascend310", [["BNInferenceD"], ["PRelu"]]),
        ("Ascend910B3", [["BNInferenceD"], ["PRelu"]]),
        ("Ascend950PR_9599", [["BNInfer"], ["PRelu"]]),
        ("Hi3796CV300CS", [["BNInfer"], ["PRelu"]]),
        ("sim", [["BNInfer"], ["PRelu"]]),
    ],
)
def test_operators_and_launches_by_soc(soc: str, wanted: list[list[str]]) -> None:
    assert launches(compiled(NORM, soc)) == wanted


def test_sum_is_rounded_before_it_is_multiplied() -> None:
    graph = compiled(NORM.replace("output %y", "output %n"), "Ascend310P3")
    node = node_of(graph, "BNInferenceD")
    x = (RANDOM.normal(size=(2, 5, 4, 3)) * 3).astype(np.float32)
    found = results_of_typed(graph, {"x": x}, "Ascend310P3")["n"]
    half = np.float16
    total = (x.astype(half).astype(np.float32) + constant(node, 1).astype(np.float32)).astype(half)
    product = total.astype(np.float32) * constant(node, 2).astype(np.float32)
    np.testing.assert_array_equal(found, product.astype(half).astype(np.float32))
    assert constant(node, 1).dtype == constant(node, 2).dtype == half


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (literal("scale", SCALE, "float32"), literal("scale", [0, 1, 1, 1, 1], "float32")),
        (literal("scale", SCALE, "float32"), literal("scale", [1e-7, 1, 1, 1, 1], "float32")),
        (literal("mean", MEAN, "float32"), "input %mean : float32[5] ND"),
    ],
)
def test_statistics_stay_where_two_numbers_do_not_hold_them(before: str, after: str) -> None:
    text = NORM.replace(before, "") if after.startswith("input") else NORM.replace(before, after)
    if after.startswith("input"):
        text = text.replace("  input %x", f"  {after}\n  input %x")
    assert launches(compiled(text, "Ascend310P3")) == [["BNInfer"], ["PRelu"]]


def test_statistics_of_another_length_are_a_finding(tmp_path: Path) -> None:
    """On a SoC that folds them they do not fit each other before the operator is asked."""
    parameters = {name: np.ones(3, np.float32) for name in ("s", "b", "m")}
    parameters["v"] = np.ones(2, np.float32)
    x = {"x": np.zeros((1, 3, 4, 4), np.float32)}
    onnx.save(
        one_node_model("BatchNormalization", x, 13, constants=parameters), tmp_path / "m.onnx"
    )
    with pytest.raises(AtcError, match="variance must have shape 3, found float32 2"):
        atc_py.convert(tmp_path / "m.onnx", tmp_path / "m.om", soc="Ascend610")
