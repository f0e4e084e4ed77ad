"""Relu after AscendDequant."""

import numpy as np
import pytest

from atc_py.passes.quant.fold_relu_into_dequant import FoldReluIntoDequantPass
from tests.passes.conftest import RunPass
from tests.passes.numbers import literal, node_of, results, words

X = np.array(
    [[0, 1, -1, 7, -7, 65519, -65520, 2**24 + 1, -(2**24) - 1, 2**31 - 1, -(2**31), 2049]] * 2,
    np.int32,
).T.copy()
WORDS = literal("s", words(0.37, -1e-6), "uint64")
TEXT = f"""
graph @g phase lowered {{
  input %x : int32[12,2] ND
  {WORDS}
  %d = AscendDequant(%x, %s) {{dtype=float32}} : float32[12,2] ND from [3 "d" D]
  %r = Relu(%d) : float32[12,2] ND from [4 "r" Relu]
  output %r
}}
"""


def halves(*factors: float) -> str:
    """Return the same with float16 factors and sqrt_mode."""
    text = TEXT.replace(WORDS, literal("s", np.array(factors, np.float16), "float16"))
    return text.replace("{dtype=float32}", "{dtype=float32, sqrt_mode=true}")


@pytest.mark.parametrize("mode", ["force_fp16", "allow_fp32_to_fp16", "must_keep_origin_dtype"])
@pytest.mark.parametrize(
    "text", [TEXT, halves(0.5, 300.0), halves(6e-8, 65504.0)], ids=["words", "roots", "ends"]
)
def test_numbers_stay_bit_for_bit(run_pass: RunPass, mode: str, text: str) -> None:
    graph, changes = run_pass(FoldReluIntoDequantPass, text)
    assert changes == 1
    (dequant,) = graph.nodes
    assert dequant.attributes["relu_flag"] is True
    before, after = (results(each, {"x": X}, mode)["r"] for each in (text, graph))
    assert before.dtype == after.dtype == np.float32
    np.testing.assert_array_equal(after.view(np.uint32), before.view(np.uint32))


def test_fused_node_keeps_both_origins_and_the_name_of_the_result(run_pass: RunPass) -> None:
    graph, _ = run_pass(FoldReluIntoDequantPass, TEXT)
    assert [origin.name for origin in graph.nodes[0].origins] == ["d", "r"]
    assert graph.outputs[0].name == "r"


def test_a_chain_of_two_folds_whole(run_pass: RunPass) -> None:
    text = TEXT.replace("output %r", "%t = Relu(%r) : float32[12,2] ND\n  output %t")
    graph, changes = run_pass(FoldReluIntoDequantPass, text)
    assert (changes, len(graph.nodes)) == (2, 1)


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace("output %r", "output %r\n  output %d"),
        TEXT.replace("output %r", "%n = Neg(%d) : float32[12,2] ND\n  output %r\n  output %n"),
        TEXT.replace("Relu(%d) :", "Neg(%d) :"),
        halves(0.5, -0.5),
        halves(0.5, 0.0),
        halves(0.5, 0.5).replace(
            literal("s", np.array([0.5, 0.5], np.float16), "float16"),
            "input %s : float16[2] ND",
        ),
    ],
    ids=["handed out", "other reader", "other operator", "below 0", "0", "factors computed"],
)
def test_nothing_is_folded_when(run_pass: RunPass, text: str) -> None:
    graph, changes = run_pass(FoldReluIntoDequantPass, text)
    assert changes == 0
    assert not node_of(graph, "AscendDequant").attributes.get("relu_flag", False)


def test_a_root_below_0_would_change_numbers() -> None:
    text = halves(0.5, -0.5)
    folded = text.replace("sqrt_mode=true", "relu_flag=true, sqrt_mode=true").replace(
        "output %r", "output %d"
    )
    assert (results(text, {"x": X})["r"] != results(folded, {"x": X})["d"]).any()
