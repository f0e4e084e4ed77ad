"""The offset of quantized data in the biases of layers.

Data that are quantized with offset z, where nothing is cut off, are those of offset 0 plus z. So a
layer that takes z off gives what it gives of data of offset 0, to the bit; those tell what is right.
"""

import numpy as np
import pytest

from atc_py.diag import Sink
from atc_py.ir import Graph
from atc_py.ir.parser import parse_graph
from atc_py.options.compile_options import PrecisionMode, QuantBias
from atc_py.passes.base import PassContext
from atc_py.passes.quant.apply_offset_w import ApplyOffsetWPass
from atc_py.passes.quant.fold_quant_bias import FoldQuantBiasPass
from atc_py.passes.quant.set_offset_x import SetOffsetXPass
from atc_py.target import find_soc
from atc_py.tensor.scale_words import HardwareWords, encode_hardware
from tests.passes.conftest import RunPass
from tests.passes.numbers import constant, literal, node_of, results, words

RANDOM = np.random.default_rng(0)
ZERO = -20


def weights(*shape: int) -> str:
    """Return int8 weights, as a constant's line."""
    return literal("w", RANDOM.integers(-100, 101, shape), "int8")


def graph_of(layer: str, more: str, x: str, y: str, factors: str = "") -> str:
    """Return AscendQuant with offset Z, a layer of %q and %w with sums %s, AscendDequant."""
    return f"""
graph @g phase lowered {{
  input %x : float32[{x}] ND
  {more}
  {factors or literal("d", words(0.5), "uint64")}
  %q = AscendQuant(%x) {{offset=Z, scale=1.0}} : int8[{x}] ND
  {layer} from [2 "layer" Conv]
  %y = AscendDequant(%s, %d) {{dtype=float32}} : float32[{y}] ND
  output %y
}}
"""


ONES = "pads=[0,0,0,0], strides=[1,1,1,1]"
PADS = "pads=[1,1,1,1], strides=[1,1,1,1]"
EACH = literal("d", [words(0.5, offset_w=at)[0] for at in (3, -128, 0, 7)], "uint64")
CONV = graph_of(
    f"%s = Conv2D(%q, %w, %b) {{{PADS}}} : int32[1,4,5,5] ND",
    f"{weights(4, 3, 3, 3)}\n  const %b : int32[4] ND = dense [5, -6, 7000, -8000]",
    "1,3,5,5",
    "1,4,5,5",
)
BARE = CONV.replace(", %b)", ")")
GROUPED = graph_of(
    f"%s = Conv2D(%q, %w) {{groups=2, {PADS}}} : int32[1,4,5,5] ND",
    weights(4, 3, 3, 3), "1,6,5,5", "1,4,5,5",
)  # fmt: skip
DEPTHWISE = graph_of(
    f"%s = DepthwiseConv2D(%q, %w) {{{PADS}}} : int32[1,4,5,5] ND",
    weights(4, 1, 3, 3), "1,4,5,5", "1,4,5,5",
)  # fmt: skip
TRANSPOSED = graph_of(
    "%s = Conv2DTransposeD(%q, %w) {input_size=[1,4,10,10], pads=[1,1,1,1], strides=[1,1,2,2], "
    "output_padding=[0,0,1,1], groups=G} : int32[1,4,10,10] ND",
    "WEIGHTS", "1,6,5,5", "1,4,10,10",
)  # fmt: skip
PRODUCT = graph_of("%s = MatMulV2(%q, %w) : int32[5,4] ND", weights(6, 4), "5,6", "5,4")
TURNED = graph_of(
    "%s = MatMulV2(%q, %w) {transpose_x2=true} : int32[5,4] ND", weights(4, 6), "5,6", "5,4"
)
VECTOR = graph_of(
    "%s = MatMulV2(%q, %m) : int32[5,1] ND",
    f"{weights(6)}\n  const %to : int64[2] ND = dense [6, 1]\n"
    "  %m = Reshape(%w, %to) : int8[6,1] ND", "5,6", "5,1",
)  # fmt: skip
STACKED = graph_of(
    "%s = BatchMatMulV2(%q, %w) : int32[2,5,4] ND", weights(2, 6, 4), "2,5,6", "2,5,4"
)
STACK_OF_ONE = graph_of(
    "%s = BatchMatMulV2(%q, %w) {adj_x2=true} : int32[2,5,4] ND",
    weights(1, 4, 6), "2,5,6", "2,5,4",
)  # fmt: skip
ADDED = PRODUCT.replace(
    "  %y =", "  const %c : int32[4] ND = dense [1, 2, 3, 4]\n"
    "  %a = Add(%s, %c) : int32[5,4] ND\n  %y ="
).replace("AscendDequant(%s", "AscendDequant(%a")  # fmt: skip
COMPUTED = PRODUCT.replace("(%q, %w)", "(%q, %w, %c)").replace(
    "  %q =", "  input %c : int32[4] ND\n  %q ="
)
S16 = PRODUCT.replace(
    "AscendDequant(%s, %d) {dtype=float32} : float32", "AscendDequantS16(%s, %d) : int16"
)

LAYERS = {
    "bias": CONV,
    "no bias": BARE,
    "groups": GROUPED,
    "depthwise": DEPTHWISE,
    "transposed": TRANSPOSED.replace("G}", "1}").replace("WEIGHTS", weights(6, 4, 3, 3)),
    "transposed, groups": TRANSPOSED.replace("G}", "2}").replace("WEIGHTS", weights(6, 2, 3, 3)),
    "product": PRODUCT,
    "product turned": TURNED,
    "vector": VECTOR,
    "stack": STACKED,
    "stack of one": STACK_OF_ONE,
    "constant added": ADDED,
    "bias computed": COMPUTED,
    "int16 results": S16,
}
OFFSET_W = {
    f"{name}, offsets of weights": text.replace(literal("d", words(0.5), "uint64"), EACH)
    for name, text in LAYERS.items()
    if name not in {"vector", "int16 results"}
}


def fed(graph: Graph) -> dict[str, np.ndarray]:
    """Return whole numbers within int8 with the offset, and a bias where it is computed."""
    made = {}
    for value in graph.inputs:
        limit = 100 if value.type.dtype.is_float else 3000
        numbers = np.random.default_rng(1).integers(-limit, limit + 1, value.type.shape)
        made[value.name] = numbers.astype(value.type.dtype.numpy)
    return made


def compiled(
    text: str, convention: QuantBias = QuantBias.UNFOLDED, sink: Sink | None = None
) -> Graph:
    """Return the graph after the passes on offsets."""
    graph = parse_graph(text)
    mode = PrecisionMode.FORCE_FP16
    sink = sink or Sink()
    context = PassContext(find_soc("sim"), mode, "model.onnx", sink, quant_bias=convention)
    for step in (ApplyOffsetWPass(), FoldQuantBiasPass(), SetOffsetXPass()):
        step.run(graph, context)
        graph.sort()
    return graph


def computed(text: str, convention: QuantBias = QuantBias.UNFOLDED) -> np.ndarray:
    """Return the results of a graph after the passes on offsets."""
    graph = compiled(text, convention)
    return results(graph, fed(graph))["y"]


@pytest.mark.parametrize("text", [*LAYERS.values(), *OFFSET_W.values()], ids=[*LAYERS, *OFFSET_W])
def test_a_layer_takes_the_offset_of_its_data_off(run_pass: RunPass, text: str) -> None:
    expected = computed(text.replace("Z,", "0.0,"))
    found = text.replace("Z,", f"{ZERO}.0,")
    assert computed(found).tolist() == expected.tolist()
    # And it does not without the pass.
    assert (computed(found, convention=QuantBias.FOLDED) != expected).mean() > 0.9
    _, changes = run_pass(FoldQuantBiasPass, found)
    assert changes == 1


def test_the_bias_is_int32_and_made_where_there_is_none() -> None:
    for text, own in ((CONV, [5, -6, 7000, -8000]), (BARE, [0] * 4)):
        conv = node_of(compiled(text.replace("Z,", f"{ZERO}.0,")), "Conv2D")
        sums = constant(conv, 1).astype(int).sum(axis=(1, 2, 3))
        assert constant(conv, 2).tolist() == (own - ZERO * sums).tolist()
        assert constant(conv, 2).dtype == np.int32
        assert conv.attributes["offset_x"] == ZERO


def test_layers_that_share_weights_and_bias_get_biases_of_their_own() -> None:
    text = CONV.replace("Z,", "5.0,").replace(
        "  %y =",
        "  %q2 = AscendQuant(%x) {offset=-9.0, scale=1.0} : int8[1,3,5,5] ND\n"
        f"  %s2 = Conv2D(%q2, %w, %b) {{{PADS}}} : int32[1,4,5,5] ND\n"
        "  %y2 = AscendDequant(%s2, %d) {dtype=float32} : float32[1,4,5,5] ND\n"
        "  output %y2\n  %y =",
    )  # fmt: skip
    graph = compiled(text)
    found = results(graph, fed(graph))
    assert found["y"].tolist() == found["y2"].tolist()


# The way of the codes ---------------------------------------------------------------------------


def hardware(offset: int) -> str:
    """Return a hardware word with that offset, as a constant's line."""
    parts = HardwareWords(
        np.ones(1, np.float32),
        shift=np.ones(1, np.int64),
        offset=np.array([offset]),
        relu=np.zeros(1, np.bool_),
        signed=np.ones(1, np.bool_),
    )
    return literal("r", encode_hardware(parts), "uint64")


MOVES = {
    "Transpose, Reshape": "%t = TransposeD(%q) {perm=[0,1,3,2]} : int8[1,3,5,5] ND\n"
    "  const %to : int64[4] ND = dense [1, 3, 5, 5]\n  %m = Reshape(%t, %to) : int8[1,3,5,5] ND",
    "Concat": "%a, %c = SplitVD(%q) {num_split=2, size_splits=[1,2], split_dim=1} : "
    "int8[1,1,5,5] ND, int8[1,2,5,5] ND\n"
    "  %m = ConcatD(%c, %a) {N=2, concat_dim=1} : int8[1,3,5,5] ND",
    "Concat of two": "%q2 = AscendQuant(%x) {offset=Z, scale=0.5} : int8[1,3,5,5] ND\n"
    "  %a = StridedSliceD(%q) {begin=[0,0,0,0], end=[1,1,5,5], strides=[1,1,1,1]} : "
    "int8[1,1,5,5] ND\n"
    "  %c = StridedSliceD(%q2) {begin=[0,1,0,0], end=[1,3,5,5], strides=[1,1,1,1]} : "
    "int8[1,2,5,5] ND\n  %m = ConcatD(%a, %c) {N=2, concat_dim=1} : int8[1,3,5,5] ND",
    "MaxPool": "%f = AscendAntiQuant(%q) {dtype=float32, offset=A, scale=1.0} : "
    "float32[1,3,5,5] ND\n"
    "  %p = MaxPoolV3(%f) {ksize=[1,1,3,3], pads=[1,1,1,1], strides=[1,1,1,1]} : "
    "float32[1,3,5,5] ND\n  %m = AscendQuant(%p) {offset=Z, scale=1.0} : int8[1,3,5,5] ND",
    "Where": "input %i : bool[1,3,5,5] ND\n"
    "  %t = TransposeD(%q) {perm=[0,1,3,2]} : int8[1,3,5,5] ND\n"
    "  %m = SelectV2(%i, %q, %t) : int8[1,3,5,5] ND",
    "Requant": "input %i : int32[1,3,5,5] ND\n  WORDS\n"
    "  %m = AscendRequant(%i, %r) : int8[1,3,5,5] ND",
}  # fmt: skip


@pytest.mark.parametrize("base", [CONV, CONV.replace(PADS, ONES).replace("1,4,5,5", "1,4,3,3")],
                         ids=["padded", "not padded"])  # fmt: skip
@pytest.mark.parametrize("lines", MOVES.values(), ids=MOVES)
def test_codes_keep_their_offset_on_their_way(lines: str, base: str) -> None:
    text = base.replace("  %s = Conv2D(%q", f"  {lines}\n  %s = Conv2D(%m")
    # Numbers on the way that the two have in common lie within int8 with the offset and without.
    rows = {zero: text.replace("Z,", f"{zero}.0,").replace("A,", f"{-zero}.0,").replace(
        "WORDS", hardware(zero)) for zero in (0, ZERO)}  # fmt: skip
    feeds = {"x": fed(parse_graph(base.replace("Z,", "0.0,")))["x"]}
    random = np.random.default_rng(2)
    feeds["i"] = random.integers(-100, 101, (1, 3, 5, 5)).astype(np.int32)
    if "bool" in lines:
        feeds["i"] = feeds["i"] > 0
    graphs = {zero: compiled(row) for zero, row in rows.items()}
    taken = {name: feeds[name] for name in (value.name for value in graphs[0].inputs)}
    found = {zero: results(graph, taken)["y"] for zero, graph in graphs.items()}
    assert found[ZERO].tolist() == found[0].tolist()


def test_constants_among_moved_codes_are_codes_like_them() -> None:
    lines = (
        "const %k : int8[1,1,5,5] ND = splat 9\n"
        "  %a = StridedSliceD(%q) {begin=[0,0,0,0], end=[1,2,5,5], strides=[1,1,1,1]} : "
        "int8[1,2,5,5] ND\n  %m = ConcatD(%a, %k) {N=2, concat_dim=1} : int8[1,3,5,5] ND"
    )
    text = CONV.replace("  %s = Conv2D(%q", f"  {lines}\n  %s = Conv2D(%m")
    sink = Sink()
    conv = node_of(compiled(text.replace("Z,", "4.0,"), sink=sink), "Conv2D")
    sums = constant(conv, 1).astype(int).sum(axis=(1, 2, 3))
    assert constant(conv, 2).tolist() == ([5, -6, 7000, -8000] - 4 * sums).tolist()
    assert conv.attributes["offset_x"] == 4
    assert sink.diagnostics == []


def test_offsets_are_found_before_the_nodes_that_tell_them_go() -> None:
    from atc_py.passes.pipeline import PIPELINE

    names = [row.name for row in PIPELINE]
    assert names.index("apply-offset-w") < names.index("fold-quant-bias")
    assert names.index("fold-quant-bias") < names.index("cancel-quant-pairs")
    assert names.index("set-offset-x") < names.index("cancel-quant-pairs")


# The way of the sums ----------------------------------------------------------------------------


REQUANT = PRODUCT.replace(literal("d", words(0.5), "uint64"), hardware(7)).replace(
    "AscendDequant(%s, %d) {dtype=float32} : float32", "AscendRequant(%s, %r) : int8"
)
MOVED = PRODUCT.replace(
    "%y = AscendDequant(%s",
    "const %to : int64[3] ND = dense [5, 1, 4]\n  %r = Reshape(%s, %to) : int32[5,1,4] ND\n"
    "  %t = TransposeD(%r) {perm=[0,2,1]} : int32[5,4,1] ND\n  %y = AscendDequant(%t",
).replace("float32[5,4]", "float32[5,4,1]")
TWICE = PRODUCT.replace(
    "  output %y", "  %y2 = AscendDequant(%s, %d) {dtype=float32} : float32[5,4] ND\n"
    "  output %y2\n  output %y"
)  # fmt: skip


@pytest.mark.parametrize("text", [REQUANT, MOVED, TWICE], ids=["requantized", "moved", "twice"])
def test_sums_are_corrected_on_their_way_to_what_scales_them(text: str) -> None:
    found, expected = (computed(text.replace("Z,", zero)) for zero in (f"{ZERO}.0,", "0.0,"))
    assert found.tolist() == expected.tolist()


LEFT = graph_of("%s = MatMulV2(%w, %q) : int32[4,6] ND", weights(4, 5), "5,6", "4,6")
BOTH = graph_of("%s = MatMulV2(%q, %q) : int32[5,5] ND", "", "5,5", "5,5")
READ = PRODUCT.replace("  output %y", "  output %s\n  output %y")
OTHERWISE = PRODUCT.replace("  %y =", "  %z = Abs(%s) : int32[5,4] ND\n  output %z\n  %y =")
SUBTRACTED = PRODUCT.replace(
    "  %y =", "  input %o : int32[5,4] ND\n  %a = Sub(%s, %o) : int32[5,4] ND\n  %y ="
).replace("AscendDequant(%s", "AscendDequant(%a")
SUMMED = SUBTRACTED.replace("Sub(", "Add(")
FED = PRODUCT.replace("input %x : float32", "input %q : int8")
FED = "\n".join(line for line in FED.splitlines() if "AscendQuant(" not in line)


@pytest.mark.parametrize(
    "text",
    [LEFT, BOTH, READ, OTHERWISE, SUBTRACTED, SUMMED, FED, CONV.replace("Z,", "0.0,"),
     graph_of("%s = MatMulV2(%q, %w) : int32[5,4] ND", "const %w : int8[6,4] ND = splat 0",
              "5,6", "5,4")],
    ids=["weights left", "two computed", "sums handed out", "sums read otherwise",
         "computed subtracted", "computed added", "codes fed", "offset 0", "weights 0"],
)  # fmt: skip
def test_nothing_is_folded_or_said_where(run_pass: RunPass, text: str) -> None:
    sink = Sink()
    _, changes = run_pass(FoldQuantBiasPass, text.replace("Z,", f"{ZERO}.0,"), sink=sink)
    assert (changes, sink.diagnostics) == (0, [])


def test_biases_that_are_folded_already_stay() -> None:
    found = compiled(CONV.replace("Z,", f"{ZERO}.0,"), QuantBias.FOLDED)
    conv = node_of(found, "Conv2D")
    assert constant(conv, 2).tolist() == [5, -6, 7000, -8000]
    assert conv.attributes["offset_x"] == ZERO


# Findings ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", ["-3.0", "fed"])
@pytest.mark.parametrize("pads", [PADS, ONES])
def test_data_of_several_offsets_are_reported_once(pads: str, other: str) -> None:
    size = "1,4,5,5" if pads is PADS else "1,4,3,3"
    lines = {
        "-3.0": "%o = AscendQuant(%x) {offset=-3.0, scale=1.0} : int8[1,3,5,5] ND",
        "fed": "input %o : int8[1,3,5,5] ND",
    }[other]
    text = graph_of(
        f"{lines}\n  %m = ConcatD(%q, %o) {{N=2, concat_dim=1}} : int8[1,6,5,5] ND\n"
        f"  %s = Conv2D(%m, %w) {{{pads}}} : int32[{size}] ND",
        weights(4, 6, 3, 3), "1,3,5,5", size,
    )  # fmt: skip
    sink = Sink()
    graph = compiled(text.replace("Z,", "4.0,"), sink=sink)
    assert node_of(graph, "Conv2D").input(2) is None
    (finding,) = sink.diagnostics
    assert finding.code.name == "quant-offset-unclear"
    met = "-3 and 4" if other == "-3.0" else "4 and one that is not known"
    wanted = "pad with the one int8 number that stands for 0 in its data"
    if pads is ONES:
        wanted = "have data of one int8 offset to fold into its bias"
    assert finding.message == f"Conv2D must {wanted}, found {met}"
    assert str(finding.place) == 'model.onnx: node 2 "layer" (Conv)'


@pytest.mark.parametrize("offset", ["256.0", "-257.0", "1e30"])
def test_offsets_beyond_every_word_are_reported(offset: str) -> None:
    sink = Sink()
    graph = compiled(PRODUCT.replace("Z,", f"{offset},"), sink=sink)
    assert node_of(graph, "MatMulV2").input(2) is None
    (finding,) = sink.diagnostics
    assert finding.message == (
        "MatMulV2 must have data of one int8 offset to fold into its bias, "
        f"found {int(float(offset))}"
    )


def test_a_bias_that_leaves_int32_wraps_and_a_finding_says_so() -> None:
    most = 2**31 - 1
    text = graph_of(
        "%s = MatMulV2(%q, %w, %b) : int32[1,2] ND",
        f"const %w : int8[6,2] ND = splat 100\n  const %b : int32[2] ND = dense [{most}, -9]",
        "1,6", "1,2", literal("d", words(2.0**-20), "uint64"),
    ).replace("Z,", f"{ZERO}.0,")  # fmt: skip
    sink = Sink()
    graph = compiled(text, sink=sink)
    exact = most - ZERO * 600
    assert constant(node_of(graph, "MatMulV2"), 2).tolist() == [exact - 2**32, -9 - ZERO * 600]
    (finding,) = sink.diagnostics
    assert finding.code.name == "quant-bias-wraps"
    assert finding.message == (
        "the bias of MatMulV2 must be within int32 with the offset of its data folded in, "
        f"found {exact}"
    )
    assert sink.errors == []
    # The sums wrap back, so that what is within int32 is right: 2^31 - 1 less 600 times 5.
    feeds = {"x": np.full((1, 6), -5, np.float32)}
    found = results(graph, feeds)["y"]
    sums = np.array([[most - 3000, -3009]], np.float32)
    assert found.tolist() == (sums * np.float32(2.0**-20)).astype(np.float16).tolist()


OPEN = PRODUCT.replace(
    "%q = AscendQuant(%x)", "%o = Reshape(%x, %to) : float32[?,6] ND\n  %q = AscendQuant(%o)"
)
OPEN = OPEN.replace("input %x", "input %to : int64[2] ND\n  input %x").replace(
    "int8[5,6]", "int8[?,6]"
)
OPEN = OPEN.replace("[5,4]", "[?,4]").replace("offset=Z", f"offset={ZERO}.0")


@pytest.mark.parametrize(
    ("soc", "folded"), [("sim", 1), ("Ascend310P3", 0), ("Ascend310", 0), ("Ascend910B1", 0)]
)
def test_data_of_an_unknown_shape_are_left_as_cann_leaves_them(
    run_pass: RunPass, soc: str, folded: int
) -> None:
    """CANN's fusion engine, as published in 2020, neither folds nor takes back such a layer."""
    sink = Sink()
    graph, changes = run_pass(FoldQuantBiasPass, OPEN, soc=soc, sink=sink)
    assert changes == folded
    assert (node_of(graph, "MatMulV2").input(2) is None) is not bool(folded)
    told = [(each.code.name, each.message.partition(", found ")[2]) for each in sink.diagnostics]
    assert told == ([] if folded else [("quant-offset-unclear", "int8[?,6] ND")])
