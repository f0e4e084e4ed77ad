"""AscendQuant after AscendAntiQuant."""

import numpy as np
import pytest

from atc_py.passes.quant.cancel_quant_pairs import CancelQuantPairsPass
from tests.passes.conftest import RunPass
from tests.passes.numbers import results

TEXT = """
graph @g phase lowered {
  input %x : int8[256] ND
  %f = AscendAntiQuant(%x) {dtype=float32, offset=-3.0, scale=0.1} : float32[256] ND from [1 "a" A]
  %q = AscendQuant(%f) {offset=3.0, scale=10.0} : int8[256] ND from [2 "q" Q]
  %t = TransposeD(%q) {perm=[0]} : int8[256] ND
  output %t
}
"""
INT8 = np.arange(-128, 128, dtype=np.int8)


@pytest.mark.parametrize("mode", ["force_fp16", "must_keep_origin_dtype"])
@pytest.mark.parametrize("soc", ["sim", "Ascend310", "Ascend950PR_9599"])
def test_a_pair_goes_and_numbers_stay(run_pass: RunPass, mode: str, soc: str) -> None:
    graph, changes = run_pass(CancelQuantPairsPass, TEXT, soc=soc)
    assert changes == 1
    assert [node.op for node in graph.nodes] == ["TransposeD"]
    before = results(TEXT, {"x": INT8}, mode, soc)["t"]
    np.testing.assert_array_equal(before, INT8)
    np.testing.assert_array_equal(results(graph, {"x": INT8}, mode, soc)["t"], before)


def test_a_pair_with_roots_goes(run_pass: RunPass) -> None:
    text = TEXT.replace("scale=0.1}", "scale=0.5, sqrt_mode=true}")
    text = text.replace("scale=10.0}", "scale=2.0, sqrt_mode=true}")
    graph, changes = run_pass(CancelQuantPairsPass, text)
    assert changes == 1
    np.testing.assert_array_equal(results(text, {"x": INT8})["t"], INT8)
    np.testing.assert_array_equal(results(graph, {"x": INT8})["t"], INT8)


@pytest.mark.parametrize("soc", ["sim", "Ascend950PR_9599"])
def test_a_pair_whose_scale_float16_does_not_hold_goes(run_pass: RunPass, soc: str) -> None:
    """The scale 2^18 is infinite in float16; its root 2^9, taken twice, is exact."""
    text = TEXT.replace("scale=0.1}", f"scale={2.0**-9!r}, sqrt_mode=true}}")
    text = text.replace("scale=10.0}", f"scale={2.0**18!r}}}")
    graph, changes = run_pass(CancelQuantPairsPass, text, soc=soc)
    assert changes == 1
    assert [node.op for node in graph.nodes] == ["TransposeD"]


def test_a_small_scale_is_exact_where_steps_are_float32(run_pass: RunPass) -> None:
    """1e-6 is 1.3 % larger in float16."""
    text = TEXT.replace("scale=0.1}", "scale=1e-06}").replace("scale=10.0}", "scale=1000000.0}")
    for soc, number in (("Ascend310P3", 0), ("Ascend950PR_9599", 1)):
        _, changes = run_pass(CancelQuantPairsPass, text, soc=soc)
        assert changes == number, soc


def test_floats_that_others_read_stay(run_pass: RunPass) -> None:
    graph, changes = run_pass(CancelQuantPairsPass, TEXT.replace("output %t", "output %f"))
    assert changes == 1
    assert [node.op for node in graph.nodes] == ["AscendAntiQuant", "TransposeD"]
    text = TEXT.replace("output %t", "%n = Neg(%f) : float32[256] ND\n  output %t\n  output %n")
    graph, changes = run_pass(CancelQuantPairsPass, text)
    assert changes == 1
    assert [node.op for node in graph.nodes] == ["AscendAntiQuant", "TransposeD", "Neg"]


def test_the_input_itself_may_be_an_output(run_pass: RunPass) -> None:
    graph, changes = run_pass(CancelQuantPairsPass, TEXT.replace("output %t", "output %q"))
    assert changes == 1
    assert [value.name for value in graph.outputs] == ["x"]
    assert graph.output_names == ["q"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("scale=10.0", "scale=10.1"),
        ("scale=10.0", "scale=9.9"),
        ("{offset=3.0", "{offset=2.0"),
        ("{offset=3.0", "{offset=3.5"),
        ("scale=10.0", 'round_mode="Trunc", scale=10.0'),
        ("scale=10.0", "scale=10.0, sqrt_mode=true"),
        ("scale=0.1", "scale=0.0"),
    ],
)  # fmt: skip
def test_what_is_not_given_back_stays(run_pass: RunPass, old: str, new: str) -> None:
    text = TEXT.replace(old, new)
    assert text != TEXT
    graph, changes = run_pass(CancelQuantPairsPass, text)
    assert (changes, len(graph.nodes)) == (0, 3)
    assert (results(text, {"x": INT8})["t"] != INT8).any()


def test_one_lost_number_of_256_keeps_the_pair(run_pass: RunPass) -> None:
    # 129 / 127.5 is far enough from 1 for the ends of int8 alone
    text = TEXT.replace("offset=-3.0", "offset=0.0").replace("offset=3.0", "offset=0.0")
    text = text.replace("scale=10.0", "scale=10.04")
    wrong = results(text, {"x": INT8})["t"] != INT8
    assert 0 < wrong.sum() < 12
    assert run_pass(CancelQuantPairsPass, text)[1] == 0


def test_the_other_order_rounds_and_stays(run_pass: RunPass) -> None:
    text = """
graph @g phase lowered {
  input %x : float32[4] ND
  %q = AscendQuant(%x) {offset=0.0, scale=10.0} : int8[4] ND
  %f = AscendAntiQuant(%q) {dtype=float32, offset=0.0, scale=0.1} : float32[4] ND
  output %f
}
"""
    graph, changes = run_pass(CancelQuantPairsPass, text)
    assert (changes, len(graph.nodes)) == (0, 2)


def test_another_integer_type_stays(run_pass: RunPass) -> None:
    text = TEXT.replace(
        "scale=10.0} : int8[256]", "dst_type=int16, scale=10.0} : int16[256]"
    ).replace("{perm=[0]} : int8", "{perm=[0]} : int16")
    assert run_pass(CancelQuantPairsPass, text)[1] == 0
