"""What convolutions of quantized data pad with."""

from collections.abc import Sequence

import numpy as np
import pytest

from atc_py.diag import Sink
from atc_py.passes.quant.set_offset_x import SetOffsetXPass
from atc_py.tensor.scale_words import HardwareWords, encode_hardware
from tests.passes.conftest import RunPass
from tests.passes.numbers import literal, node_of, results

QUANT = "%q = AscendQuant(%x) {offset=5.0, scale=2.0} : int8[1,2,4,4] ND"
PADS = "pads=[1,1,1,1], strides=[1,1,1,1]"
CONV = f"%y = Conv2D(%q, %w) {{{PADS}}} : int32[1,3,4,4] ND"
TEXT = f"""
graph @g phase lowered {{
  input %x : float32[1,2,4,4] ND
  {literal("w", np.arange(54).reshape(3, 2, 3, 3) % 7 - 3, "int8")}
  {QUANT} from [1 "quant" AscendQuant]
  {CONV} from [2 "conv" Conv]
  output %y
}}
"""
X = np.random.default_rng(0).standard_normal((1, 2, 4, 4)).astype(np.float32)


def between(lines: str, data: str = "%m") -> str:
    """Return the graph with nodes between quantization and convolution."""
    return TEXT.replace("  %y =", f"{lines}\n  %y =").replace("Conv2D(%q", f"Conv2D({data}")


def words(offsets: Sequence[int], scale: float = 0.5) -> str:
    """Return hardware words with these offsets, as a constant's line."""
    shape = (len(offsets),)
    parts = HardwareWords(
        scale=np.full(shape, scale, np.float32),
        shift=np.ones(shape, np.int64),
        offset=np.array(offsets),
        relu=np.zeros(shape, np.bool_),
        signed=np.ones(shape, np.bool_),
    )
    return literal("s", encode_hardware(parts), "uint64")


def test_padding_is_the_zero_of_the_data(run_pass: RunPass) -> None:
    graph, changes = run_pass(SetOffsetXPass, TEXT)
    assert changes == 1
    assert node_of(graph, "Conv2D").attributes["offset_x"] == 5
    padded = np.pad(np.rint(X * 2) + 5, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=5)
    taps = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    weights = np.arange(54).reshape(3, 2, 3, 3) % 7 - 3
    expected = np.einsum("nchwij,ocij->nohw", taps, weights)
    np.testing.assert_array_equal(results(graph, {"x": X})["y"], expected)
    assert (results(TEXT, {"x": X})["y"] != expected).any()


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ("offset=2.5", 2),
        ("offset=3.5", 4),
        ("offset=-2.5", -2),
        ('offset=2.5, round_mode="Ceil"', 3),
        ('offset=2.5, round_mode="Floor"', 2),
        ('offset=-2.5, round_mode="Trunc"', -2),
        ('offset=-2.5, round_mode="Floor"', -3),
        ("offset=-128.0", -128),
        ("offset=127.0", 127),
    ],
)
def test_offset_is_rounded_as_a_quantized_0_is(
    run_pass: RunPass, attributes: str, expected: int
) -> None:
    text = TEXT.replace("offset=5.0", attributes)
    graph, _ = run_pass(SetOffsetXPass, text)
    assert node_of(graph, "Conv2D").attributes["offset_x"] == expected
    seen = text.replace("output %y", "output %q")
    assert (results(seen, {"x": np.zeros_like(X)})["q"] == expected).all()


@pytest.mark.parametrize("soc", ["Ascend310P3", "Ascend310", "Ascend910B1"])
@pytest.mark.parametrize(("offset", "expected"), [(3.5, 3), (-2.5, -2), (-3.9, -3), (7.0, 7)])
def test_a_fraction_of_the_offset_is_cut_off_as_cann_casts_it(
    run_pass: RunPass, soc: str, offset: float, expected: int
) -> None:
    """CANN's fusion engine, as published in 2020, casts the float to int8."""
    graph, _ = run_pass(SetOffsetXPass, TEXT.replace("offset=5.0", f"offset={offset}"), soc=soc)
    assert node_of(graph, "Conv2D").attributes["offset_x"] == expected


MOVES = {
    "TransposeD": "  %m = TransposeD(%q) {perm=[0,1,3,2]} : int8[1,2,4,4] ND",
    "Reshape": """  const %to : int64[4] ND = dense [1, 2, 4, 4]
  %m = Reshape(%q, %to) : int8[1,2,4,4] ND""",
    "PadV3D": """  %p = PadV3D(%q) {paddings=[0,0,0,0,1,0,0,0]} : int8[1,2,5,4] ND
  %m = StridedSliceD(%p) {begin=[0,0,0,0], end=[1,2,4,4], strides=[1,1,1,1]} : int8[1,2,4,4] ND""",
    "Unsqueeze": """  %u = Unsqueeze(%q) {axes=[0]} : int8[1,1,2,4,4] ND
  %m = Squeeze(%u) {axis=[0]} : int8[1,2,4,4] ND""",
    "ConcatD": """  %a, %b = SplitVD(%q) {num_split=2, size_splits=[1,1], split_dim=1} : int8[1,1,4,4] ND, int8[1,1,4,4] ND
  %m = ConcatD(%b, %a) {N=2, concat_dim=1} : int8[1,2,4,4] ND""",
}


@pytest.mark.parametrize("lines", MOVES.values(), ids=MOVES)
def test_moved_data_keep_their_zero(run_pass: RunPass, lines: str) -> None:
    graph, changes = run_pass(SetOffsetXPass, between(lines))
    assert (changes, node_of(graph, "Conv2D").attributes["offset_x"]) == (1, 5)


def test_requantized_data_have_the_zero_of_their_words(run_pass: RunPass) -> None:
    lines = f"""  input %i : int32[1,2,4,4] ND
  {words([-7])}
  %m = AscendRequant(%i, %s) : int8[1,2,4,4] ND"""
    graph, _ = run_pass(SetOffsetXPass, between(lines))
    assert node_of(graph, "Conv2D").attributes["offset_x"] == -7
    assert type(node_of(graph, "Conv2D").attributes["offset_x"]) is int


def test_requantized_int16_have_the_zero_of_their_words(run_pass: RunPass) -> None:
    lines = f"""  input %i : int16[1,2,4,4] ND
  {words([9, 9])}
  %m, %n = AscendRequantS16(%i, %s) {{dual_output=true}} : int8[1,2,4,4] ND, int16[1,2,4,4] ND"""
    graph, _ = run_pass(SetOffsetXPass, between(lines))
    assert node_of(graph, "Conv2D").attributes["offset_x"] == 9


@pytest.mark.parametrize(
    ("attributes", "weights", "size", "expected"),
    [
        ("pads=[0,0,0,0], strides=[1,1,1,1]", (2, 3, 3, 3), (6, 6), 5),
        ("pads=[0,0,0,0], strides=[1,1,2,2]", (2, 3, 1, 1), (7, 7), 5),
        ("output_padding=[0,0,0,1], pads=[0,0,0,0], strides=[1,1,1,1]", (2, 3, 1, 1), (4, 5), 5),
        ("pads=[0,0,0,0], strides=[1,1,1,1]", (2, 3, 1, 1), (4, 4), None),
    ],
    ids=["taps around", "gaps between", "output padding", "an element a place"],
)
def test_transposed_convolution_has_empty_taps_without_padding(
    run_pass: RunPass,
    attributes: str,
    weights: tuple[int, ...],
    size: tuple[int, int],
    expected: int | None,
) -> None:
    height, width = size
    old = literal("w", np.arange(54).reshape(3, 2, 3, 3) % 7 - 3, "int8")
    text = TEXT.replace(old, literal("w", np.arange(np.prod(weights)).reshape(weights), "int8"))
    conv = f"Conv2DTransposeD(%q, %w) {{input_size=[1,3,{height},{width}], {attributes}}}"
    text = text.replace(CONV, f"%y = {conv} : int32[1,3,{height},{width}] ND")
    graph, _ = run_pass(SetOffsetXPass, text)
    assert node_of(graph, "Conv2DTransposeD").attributes.get("offset_x") == expected
    assert results(graph, {"x": X})["y"].shape == (1, 3, height, width)


def test_depthwise_convolution_pads_as_well(run_pass: RunPass) -> None:
    old = literal("w", np.arange(54).reshape(3, 2, 3, 3) % 7 - 3, "int8")
    text = TEXT.replace(old, literal("w", np.ones((2, 1, 3, 3), int), "int8"))
    text = text.replace("Conv2D(", "DepthwiseConv2D(").replace("int32[1,3,", "int32[1,2,")
    graph, _ = run_pass(SetOffsetXPass, text)
    assert node_of(graph, "DepthwiseConv2D").attributes["offset_x"] == 5


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (CONV, CONV.replace("pads=[1,1,1,1]", "pads=[0,0,0,0]").replace("3,4,4]", "3,2,2]")),
        ("offset=5.0", "offset=0.0"),
        ("input %x : float32", "input %q : int8"),
        (CONV, CONV.replace("{pads", "{offset_x=3, pads")),
    ],
    ids=["no padding", "offset 0", "data fed", "set already"],
)
def test_nothing_is_set_or_said_when(run_pass: RunPass, old: str, new: str) -> None:
    text = TEXT.replace(old, new)
    assert text != TEXT
    if "%q : int8" in new:
        text = "\n".join(line for line in text.splitlines() if "AscendQuant(" not in line)
    sink = Sink()
    graph, changes = run_pass(SetOffsetXPass, text, sink=sink)
    kept = 3 if "offset_x=3" in new else 0
    assert node_of(graph, "Conv2D").attributes.get("offset_x", 0) == kept
    assert (changes, sink.diagnostics) == (0, [])


def test_matrix_products_do_not_pad(run_pass: RunPass) -> None:
    text = """
graph @g phase lowered {
  input %x : float32[2,3] ND
  const %w : int8[3,2] ND = splat 1
  %q = AscendQuant(%x) {offset=5.0, scale=2.0} : int8[2,3] ND
  %y = MatMulV2(%q, %w) : int32[2,2] ND
  output %y
}
"""
    graph, changes = run_pass(SetOffsetXPass, text)
    assert (changes, node_of(graph, "MatMulV2").attributes) == (0, {})


TWO = """  {other}
  %a, %b = SplitVD(%q) {{num_split=2, size_splits=[1,1], split_dim=1}} : int8[1,1,4,4] ND, int8[1,1,4,4] ND
  %m = ConcatD(%a, %o) {{N=2, concat_dim=1}} : int8[1,2,4,4] ND"""
REQUANT = f"""  input %i : int32[1,2,4,4] ND
  {words([6, -1])}
  %m = AscendRequant(%i, %s) : int8[1,2,4,4] ND"""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            between(
                TWO.format(
                    other="input %z : float32[1,1,4,4] ND\n"
                    "  %o = AscendQuant(%z) {offset=-4.0, scale=2.0} : int8[1,1,4,4] ND"
                )
            ),
            "-4 and 5",
        ),
        (between(TWO.format(other="input %o : int8[1,1,4,4] ND")), "5 and one that is not known"),
        (between(REQUANT), "-1 and 6"),
        (TEXT.replace("offset=5.0", "offset=128.0"), "128"),
        (TEXT.replace("offset=5.0", "offset=-129.0"), "-129"),
    ],
    ids=["two ways", "one way unknown", "words differ", "above int8", "below int8"],
)
def test_where_no_one_number_is_the_zero_0_stays_and_a_finding_says_so(
    run_pass: RunPass, text: str, found: str
) -> None:
    sink = Sink()
    graph, changes = run_pass(SetOffsetXPass, text, sink=sink)
    assert (changes, node_of(graph, "Conv2D").attributes.get("offset_x", 0)) == (0, 0)
    (finding,) = sink.diagnostics
    assert finding.code.name == "quant-offset-unclear"
    assert finding.message == (
        f"Conv2D must pad with the one int8 number that stands for 0 in its data, found {found}"
    )
    assert str(finding.place) == 'model.onnx: node 2 "conv" (Conv)'
    assert sink.errors == []
