"""Equal quantizations of one value."""

import numpy as np
import pytest

from atc_py.passes.quant.merge_quants import MergeQuantsPass
from tests.passes.conftest import RunPass
from tests.passes.numbers import results

TEXT = """
graph @g phase lowered {
  input %x : float32[4] ND
  input %z : float32[4] ND
  %a = AscendQuant(%x) {offset=1.0, scale=2.0} : int8[4] ND from [0 "a" Q]
  %b = AscendQuant(%x) {offset=1.0, round_mode="Round", scale=2.0, sqrt_mode=false} : int8[4] ND from [1 "b" Q]
  %t = TransposeD(%b) {perm=[0]} : int8[4] ND
  output %a
  output %b
  output %t
}
"""
FEEDS = {
    "x": np.array([0.3, -3.3, 100.0, 0.75], np.float32),
    "z": np.array([5.0, 6.0, 7.0, 8.0], np.float32),
}


def test_equal_ones_become_one_and_numbers_stay(run_pass: RunPass) -> None:
    graph, changes = run_pass(MergeQuantsPass, TEXT)
    assert changes == 1
    assert [node.op for node in graph.nodes] == ["AscendQuant", "TransposeD"]
    assert [origin.name for origin in graph.nodes[0].origins] == ["a", "b"]
    before, after = results(TEXT, FEEDS), results(graph, FEEDS)
    assert list(after) == ["a", "b", "t"]
    for name, array in before.items():
        np.testing.assert_array_equal(after[name], array)


def test_an_origin_that_both_have_stands_once(run_pass: RunPass) -> None:
    graph, _ = run_pass(MergeQuantsPass, TEXT.replace('[1 "b" Q]', '[0 "a" Q, 1 "b" Q]'))
    assert [origin.name for origin in graph.nodes[0].origins] == ["a", "b"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("%b = AscendQuant(%x)", "%b = AscendQuant(%z)"),
        ("scale=2.0, sqrt_mode=false", "scale=2.5, sqrt_mode=false"),
        ("{offset=1.0, round_mode", "{offset=2.0, round_mode"),
        ("sqrt_mode=false", "sqrt_mode=true"),
        ('"Round"', '"Floor"'),
    ],
)
def test_different_ones_stay(run_pass: RunPass, old: str, new: str) -> None:
    text = TEXT.replace(old, new)
    assert text != TEXT
    assert run_pass(MergeQuantsPass, text)[1] == 0
    found = results(text, FEEDS)
    assert (found["a"] != found["b"]).any()


def test_other_operators_stay(run_pass: RunPass) -> None:
    text = TEXT.replace("output %t", "%u = TransposeD(%a) {perm=[0]} : int8[4] ND\n  output %u")
    graph, changes = run_pass(MergeQuantsPass, text)
    assert changes == 1
    assert [node.op for node in graph.nodes].count("TransposeD") == 2
