"""Offsets of weights: from the words of AscendDequant to the layer."""

import numpy as np
import pytest

from atc_py.diag import Sink
from atc_py.options.compile_options import PrecisionMode
from atc_py.passes.base import PassContext
from atc_py.passes.fusion.rewrite_depthwise_conv import RewriteDepthwiseConvPass
from atc_py.passes.fusion.split_grouped_conv import SplitGroupedConvPass
from atc_py.passes.quant.apply_offset_w import ApplyOffsetWPass
from atc_py.target import find_soc
from tests.passes.conftest import RunPass
from tests.passes.numbers import constant, literal, node_of, results, words

CONTEXT = PassContext(find_soc("sim"), PrecisionMode.FORCE_FP16, "model.onnx")
EACH = [words(0.5, offset_w=3)[0], words(0.25, offset_w=-128)[0], words(2.0)[0]]
WORDS = literal("s", EACH, "uint64")
ONE = literal("s", words(0.5, offset_w=-7), "uint64")
FILTER = np.arange(24).reshape(3, 2, 2, 2) - 11
CONV = "%y = Conv2D(%x, %w, %b) {pads=[0,0,0,0], strides=[1,1,1,1]} : int32[1,3,3,3] ND"
CONVOLUTION = f"""
graph @g phase lowered {{
  input %x : int8[1,2,4,4] ND
  {literal("w", FILTER, "int8")}
  const %b : int32[3] ND = dense [100, -200, 300]
  {WORDS}
  {CONV} from [2 "conv" Conv]
  %d = AscendDequant(%y, %s) {{dtype=float32}} : float32[1,3,3,3] ND from [3 "deq" AscendDequant]
  output %d
}}
"""
X = np.random.default_rng(0).integers(-128, 128, (1, 2, 4, 4)).astype(np.int8)

WEIGHTS = np.arange(12).reshape(4, 3) - 6
PRODUCT = f"""
graph @g phase lowered {{
  input %x : int8[10,4] ND
  {literal("w", WEIGHTS, "int8")}
  const %b : int32[3] ND = dense [100, -200, 300]
  const %to : int64[3] ND = dense [2, 5, 3]
  {WORDS}
  %p = MatMulV2(%x, %w) : int32[10,3] ND
  %r = Reshape(%p, %to) : int32[2,5,3] ND
  %a = Add(%b, %r) : int32[2,5,3] ND
  %d = AscendDequant(%a, %s) {{dtype=float32}} : float32[2,5,3] ND
  output %d
}}
"""
ROWS = np.random.default_rng(1).integers(-128, 128, (10, 4)).astype(np.int8)


def dequantized(sums: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Return int32 times float32 factors, as float16 numbers in float32."""
    found: np.ndarray = (sums.astype(np.float32) * factors).astype(np.float16).astype(np.float32)
    return found


@pytest.mark.parametrize("line", [WORDS, ONE], ids=["each", "one"])
@pytest.mark.parametrize("mode", ["force_fp16", "must_keep_origin_dtype"])
def test_a_convolution_gets_its_offsets(run_pass: RunPass, line: str, mode: str) -> None:
    graph, changes = run_pass(ApplyOffsetWPass, CONVOLUTION.replace(WORDS, line))
    assert changes == 1
    conv = node_of(graph, "Conv2D")
    offsets = constant(conv, 3)
    assert offsets.dtype == np.int8
    assert offsets.tolist() == ([3, -128, 0] if line is WORDS else [-7])
    left = constant(node_of(graph, "AscendDequant"), 1)
    assert left.tolist() == (words(0.5, 0.25, 2.0) if line is WORDS else words(0.5))
    weights = FILTER - np.broadcast_to(offsets, 3).astype(int)[:, None, None, None]
    taps = np.lib.stride_tricks.sliding_window_view(X.astype(int), (2, 2), (2, 3))
    sums = np.einsum("nchwij,ocij->nohw", taps, weights)
    sums += np.array([100, -200, 300])[:, None, None]
    factors = np.array([0.5, 0.25, 2.0] if line is WORDS else [0.5] * 3, np.float32)
    found = results(graph, {"x": X}, mode)["d"]
    np.testing.assert_array_equal(found, dequantized(sums, factors[:, None, None]))


@pytest.mark.parametrize("text", [PRODUCT, PRODUCT.replace("(%b, %r)", "(%r, %b)")])
def test_a_matrix_product_gets_its_offsets_through_reshape_and_bias(
    run_pass: RunPass, text: str
) -> None:
    graph, changes = run_pass(ApplyOffsetWPass, text)
    assert changes == 1
    product = node_of(graph, "MatMulV2")
    assert product.input(2) is None
    assert constant(product, 3).tolist() == [3, -128, 0]
    sums = ROWS.astype(int) @ (WEIGHTS - np.array([3, -128, 0])) + np.array([100, -200, 300])
    expected = dequantized(sums, np.array([0.5, 0.25, 2.0], np.float32)).reshape(2, 5, 3)
    np.testing.assert_array_equal(results(graph, {"x": ROWS})["d"], expected)


def test_a_turned_matrix_product_keeps_its_columns(run_pass: RunPass) -> None:
    text = PRODUCT.replace(
        "%r = Reshape(%p, %to) : int32[2,5,3] ND",
        "%t = TransposeD(%p) {perm=[1,0]} : int32[3,10] ND\n"
        "  %u = Unsqueeze(%t) {axes=[0]} : int32[1,3,10] ND",
    )
    text = text.replace("  %a = Add(%b, %r) : int32[2,5,3] ND\n", "")
    text = text.replace("AscendDequant(%a", "AscendDequant(%u").replace("[2,5,3]", "[1,3,10]")
    graph, changes = run_pass(ApplyOffsetWPass, text)
    assert changes == 1
    sums = (ROWS.astype(int) @ (WEIGHTS - np.array([3, -128, 0]))).T
    factors = np.array([0.5, 0.25, 2.0], np.float32)[:, None]
    expected = dequantized(sums, factors)[None]
    np.testing.assert_array_equal(results(graph, {"x": ROWS})["d"], expected)


def test_groups_share_out_the_offsets(run_pass: RunPass) -> None:
    grouped = CONVOLUTION.replace(
        literal("w", FILTER, "int8"), literal("w", np.arange(48).reshape(6, 2, 2, 2) - 23, "int8")
    )
    grouped = grouped.replace("[100, -200, 300]", "[1, 2, 3, 4, 5, 6]").replace(
        "int32[3]", "int32[6]"
    )
    grouped = grouped.replace("[1,2,4,4]", "[1,6,4,4]").replace("[1,3,3,3]", "[1,6,3,3]")
    grouped = grouped.replace("{pads", "{groups=3, pads")
    each = [words(0.5, offset_w=at)[0] for at in (9, -9, 1, 2, 100, -100)]
    x = np.random.default_rng(0).integers(-128, 128, (1, 6, 4, 4)).astype(np.int8)
    for line, parts in (
        (literal("s", each, "uint64"), [[9, -9], [1, 2], [100, -100]]),
        (ONE, [[-7]] * 3),
    ):
        whole, _ = run_pass(ApplyOffsetWPass, grouped.replace(WORDS, line))
        before = results(whole, {"x": x})["d"]
        split, _ = run_pass(ApplyOffsetWPass, grouped.replace(WORDS, line))
        changes = SplitGroupedConvPass().run(split, CONTEXT)
        split.sort()
        convs = [node for node in split.nodes if node.op == "Conv2D"]
        assert (changes, [constant(conv, 3).tolist() for conv in convs]) == (1, parts)
        np.testing.assert_array_equal(results(split, {"x": x})["d"], before)


def test_a_depthwise_convolution_keeps_its_offsets(run_pass: RunPass) -> None:
    text = CONVOLUTION.replace(
        literal("w", FILTER, "int8"), literal("w", np.arange(12).reshape(3, 1, 2, 2), "int8")
    )
    text = text.replace("[1,2,4,4]", "[1,3,4,4]").replace("{pads", "{groups=3, pads")
    graph, _ = run_pass(ApplyOffsetWPass, text)
    RewriteDepthwiseConvPass().run(graph, CONTEXT)
    assert constant(node_of(graph, "DepthwiseConv2D"), 3).tolist() == [3, -128, 0]


MOVED = "%m = TransposeD(%y) {perm=[0,1,3,2]} : int32[1,3,3,3] ND\n  %d = AscendDequant(%m"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("output %d", "output %d\n  output %y"),
        ("output %d", "%n = Neg(%y) : int32[1,3,3,3] ND\n  output %d\n  output %n"),
        (", %b)", ", %b, %o)"),
        ("%d = AscendDequant(%y", MOVED.replace("[0,1,3,2]", "[0,2,1,3]")),
        ("%d = AscendDequant(%y", MOVED.replace("TransposeD(%y) {perm=[0,1,3,2]}", "Neg(%y)")),
        (
            "%d = AscendDequant(%y",
            """%z = Neg(%y) : int32[1,3,3,3] ND
  %m = Add(%z, %y) : int32[1,3,3,3] ND
  %d = AscendDequant(%m""",
        ),
        (CONV, "input %y : int32[1,3,3,3] ND"),
    ],
    ids=[
        "sums handed out",
        "sums read",
        "offsets there",
        "channels turned away",
        "arithmetic",
        "a sum of two",
        "no layer",
    ],
)
def test_where_no_layer_takes_them_they_stay_and_a_finding_says_so(
    run_pass: RunPass, old: str, new: str
) -> None:
    text = CONVOLUTION.replace(old, new)
    if "%o" in new:
        text = text.replace("  const %b", "  const %o : int8[1] ND = splat 1\n  const %b")
    if "input %y" in new:
        text = text.replace('ND from [2 "conv" Conv]', "ND")
    assert text != CONVOLUTION
    sink = Sink()
    graph, changes = run_pass(ApplyOffsetWPass, text, sink=sink)
    assert changes == 0
    assert constant(node_of(graph, "AscendDequant"), 1).tolist() == EACH
    (finding,) = sink.diagnostics
    assert finding.code.name == "quant-offset-unclear"
    assert finding.message == (
        "no layer before AscendDequant can take offset_w, found 3 in its factor words"
    )
    assert str(finding.place) == 'model.onnx: node 3 "deq" (AscendDequant)'


def test_channels_that_a_move_keeps_are_followed(run_pass: RunPass) -> None:
    text = CONVOLUTION.replace("%d = AscendDequant(%y", MOVED)
    assert run_pass(ApplyOffsetWPass, text)[1] == 1


def test_channels_that_an_addition_makes_are_no_channels_of_the_layer(run_pass: RunPass) -> None:
    text = CONVOLUTION.replace(
        literal("w", FILTER, "int8"), literal("w", np.ones((1, 2, 2, 2), int), "int8")
    )
    text = text.replace(CONV, CONV.replace(", %b)", ")").replace("[1,3,3,3]", "[1,1,3,3]")).replace(
        "  %d = AscendDequant(%y",
        "  const %e : int32[1,3,1,1] ND = splat 1\n"
        "  %a = Add(%y, %e) : int32[1,3,3,3] ND\n  %d = AscendDequant(%a",
    )
    sink = Sink()
    assert run_pass(ApplyOffsetWPass, text, sink=sink)[1] == 0
    assert len(sink.diagnostics) == 1
    graph, changes = run_pass(ApplyOffsetWPass, text.replace(WORDS, ONE), sink=sink)
    assert (changes, constant(node_of(graph, "Conv2D"), 3).tolist()) == (1, [-7])


HARDWARE = 1 << 46


@pytest.mark.parametrize(
    ("line", "changes"),
    [
        (literal("s", words(0.5, 0.25, 2.0), "uint64"), 0),
        (literal("s", words(0.5, 0.25, 2.0, shift=4), "uint64"), 0),
        (literal("s", [word | HARDWARE for word in words(0.5, 0.25, 2.0)], "uint64"), 0),
        (literal("s", [word | HARDWARE for word in words(0.1, 0.25, 2.0)], "uint64"), 1),
        (literal("s", words(0.5, 0.25, 2.0, offset_w=65), "uint64"), 1),
        (literal("s", [words(0.5)[0] | HARDWARE, *words(0.25, 2.0)], "uint64"), 1),
        (literal("s", words(0.5, 0.25, 2.0, offset_w=64, shift=4), "uint64"), 1),
        ("input %s : uint64[3] ND", 0),
        ('const %s : uint64[3] ND = opaque "elsewhere"', 0),
        (literal("s", np.array([0.5, 0.25, 2.0]), "float16"), 0),
    ],
    ids=[
        "none",
        "a shift alone",
        "hardware words",
        "factors of 24 bits",
        "more than bit 46",
        "some of the channels",
        "with a shift",
        "words fed",
        "words elsewhere",
        "float16 factors",
    ],
)
def test_what_counts_as_an_offset(run_pass: RunPass, line: str, changes: int) -> None:
    sink = Sink()
    graph, found = run_pass(ApplyOffsetWPass, CONVOLUTION.replace(WORDS, line), sink=sink)
    assert (found, sink.diagnostics) == (changes, [])
    assert (node_of(graph, "Conv2D").input(3) is not None) is (changes == 1)
