"""Chains that CANN's passes on requantization treat, on v200 and v100.

The conditions are those of CANN's fusion engine as published in 2020: scales at a fork within 1e-5,
a Concat of channels in multiples of 32 on v200, no other movement, LeakyRelu with a slope below
1e-5 as Relu, other LeakyRelu with the scale before it.
"""

import numpy as np
import numpy.typing as npt
import pytest

from atc_py.ir import Graph
from atc_py.options.compile_options import PrecisionMode
from atc_py.passes.base import Pass, PassContext
from atc_py.passes.quant.float16_quant_scales import Float16QuantScalesPass
from atc_py.passes.quant.fold_quant_scale import FoldQuantScalePass
from atc_py.passes.quant.fold_relu_into_dequant import FoldReluIntoDequantPass
from atc_py.passes.quant.fuse_requant import FuseRequantPass
from atc_py.target import find_soc
from tests.passes.conftest import RunPass
from tests.passes.numbers import constant, literal, node_of, results, words

V200, V100 = "Ascend310P3", "Ascend310"
PASSES: dict[str, type[FuseRequantPass | FoldQuantScalePass]] = {
    V200: FuseRequantPass,
    V100: FoldQuantScalePass,
}
FACTORS = (0.00123, 0.0456, 7.0)
SCALE, OFFSET = 0.37, -5.0
SHAPE = "[2,3,4,8]"
_GENERATOR = np.random.default_rng(0)
X = np.rint(
    _GENERATOR.standard_normal((2, 3, 4, 8)) * 60 / np.array(FACTORS)[:, None, None] / SCALE
).astype(np.int32)


def chain(*nodes: str, shape: str = SHAPE) -> str:
    """Return AscendDequant of x as %d, the lines `nodes`, and their last value as the output."""
    lines = "\n  ".join(nodes)
    last = nodes[-1].split(" ", 1)[0]
    return f"""
graph @g phase lowered {{
  input %x : int32{shape} ND
  {literal("s", words(*FACTORS), "uint64")}
  %d = AscendDequant(%x, %s) {{dtype=float32}} : float32{shape} ND from [3 "deq" AscendDequant]
  {lines}
  output {last}
}}
"""


def quant(name: str, x: str = "d", scale: float = SCALE, offset: float = OFFSET) -> str:
    """Return the line of an AscendQuant."""
    attributes = f"{{offset={offset!r}, scale={scale!r}}}"
    return f'%{name} = AscendQuant(%{x}) {attributes} : int8{SHAPE} ND from [5 "{name}" Q]'


def ops(graph: Graph) -> list[str]:
    """Return the operators of a graph, sorted."""
    return sorted(node.op for node in graph.nodes)


def codes(steps: npt.NDArray[np.float32], offset: float = OFFSET) -> npt.NDArray[np.int8]:
    """Return numbers rounded, with an offset, held within int8."""
    whole = np.rint(steps).astype(np.float64) + offset
    found: npt.NDArray[np.int8] = np.clip(whole, -128, 127).astype(np.int8)
    return found


def requantized(*, relu: bool = False) -> npt.NDArray[np.int8]:
    """Return what AscendRequant makes of x: d * s in float32, cut off to 19 bits."""
    products = np.array(FACTORS, np.float32) * np.float32(SCALE)
    cut = (products.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    steps = X.astype(np.float32) * cut[:, None, None]
    return codes(np.maximum(steps, np.float32(0)) if relu else steps)


def scaled(x: npt.NDArray[np.int32] = X, *, slope: float = 1.0) -> npt.NDArray[np.int8]:
    """Return the codes of a chain on v100: a times float16(d * s), rounded, then the offset."""
    factors = (np.array(FACTORS, np.float32) * np.float32(SCALE)).astype(np.float16)
    steps = (x.astype(np.float32) * factors.astype(np.float32)[:, None, None]).astype(np.float16)
    steps = np.where(steps < 0, steps * np.float16(slope), steps)
    found: npt.NDArray[np.int8] = np.clip(
        np.rint((steps + np.float16(OFFSET)).astype(np.float32)), -128, 127
    ).astype(np.int8)
    return found


@pytest.mark.parametrize("soc", [V200, V100])
@pytest.mark.parametrize(
    ("second", "fused"), [(SCALE, 1), (SCALE + 9e-6, 1), (SCALE + 1.2e-5, 0), (0.11, 0)]
)
def test_scales_at_a_fork_must_agree(
    run_pass: RunPass, soc: str, second: float, fused: int
) -> None:
    text = chain(quant("p"), quant("q", scale=second)).replace(
        "output %q", "output %p\n  output %q"
    )
    graph, changes = run_pass(PASSES[soc], text, soc=soc)
    assert changes == fused
    if not fused:
        assert ops(graph) == ["AscendDequant", "AscendQuant", "AscendQuant"]
    elif soc == V200:
        assert ops(graph) == ["AscendRequant"]
        found = results(graph, {"x": X}, soc=soc)
        np.testing.assert_array_equal(found["p"], requantized())
        np.testing.assert_array_equal(found["q"], requantized())
    else:
        scales = [each.attributes["scale"] for each in graph.nodes if each.op == "AscendQuant"]
        assert scales == [1.0, 1.0]


@pytest.mark.parametrize(("soc", "fused"), [(V200, 0), (V100, 1)])
def test_several_offsets_are_kept_apart(run_pass: RunPass, soc: str, fused: int) -> None:
    """CANN gives all of them the last one's on v200; here nothing is fused, so numbers are right."""
    text = chain(quant("p"), quant("q", offset=9.0)).replace("output %q", "output %p\n  output %q")
    graph, changes = run_pass(PASSES[soc], text, soc=soc)
    assert changes == fused
    assert ops(graph) == ["AscendDequant", "AscendQuant", "AscendQuant"]
    offsets = [each.attributes["offset"] for each in graph.nodes if each.op == "AscendQuant"]
    assert offsets == [OFFSET, 9.0]


MOVES = {
    "TransposeD": f"TransposeD(%d) {{perm=[0,1,2,3]}} : float32{SHAPE} ND",
    "Reshape": f"Reshape(%d, %to) : float32{SHAPE} ND",
    "Neg": f"Neg(%d) : float32{SHAPE} ND",
}


@pytest.mark.parametrize("soc", [V200, V100])
@pytest.mark.parametrize("move", MOVES)
def test_other_movement_ends_a_chain(run_pass: RunPass, soc: str, move: str) -> None:
    lines = ["const %to : int64[4] ND = dense [2, 3, 4, 8]", f"%m = {MOVES[move]}"]
    text = chain(*(lines if move == "Reshape" else lines[1:]), quant("q", "m"))
    assert run_pass(PASSES[soc], text, soc=soc)[1] == 0
    on_sim = run_pass(FuseRequantPass, text, soc="sim")[1]
    assert on_sim == (move != "Neg")


@pytest.mark.parametrize("soc", [V200, V100])
def test_other_readers_keep_the_chain(run_pass: RunPass, soc: str) -> None:
    text = chain(quant("q"))
    for more in (
        text.replace("output %q", "output %q\n  output %d"),
        text.replace("output %q", f"%n = Neg(%d) : float32{SHAPE} ND\n  output %q\n  output %n"),
    ):
        assert run_pass(PASSES[soc], more, soc=soc)[1] == 0


@pytest.mark.parametrize(
    "soc", ["Ascend310B1", "Ascend910B1", "Ascend910_9391", "Ascend950PR_9599"]
)
def test_later_socs_keep_the_chain(run_pass: RunPass, soc: str) -> None:
    for step in PASSES.values():
        assert run_pass(step, chain(quant("q")), soc=soc)[1] == 0


RELU = {
    "Relu": "Relu(%d)",
    "flat": "LeakyRelu(%d) {negative_slope=9e-06}",
    "none": "LeakyRelu(%d) {negative_slope=0.0}",
}


@pytest.mark.parametrize("kind", RELU)
def test_a_flat_leaky_relu_counts_as_relu(run_pass: RunPass, kind: str) -> None:
    text = chain(f"%r = {RELU[kind]} : float32{SHAPE} ND", quant("q", "r"))
    graph, changes = run_pass(FuseRequantPass, text, soc=V200)
    assert (changes, ops(graph)) == (1, ["AscendRequant"])
    found = results(graph, {"x": X}, soc=V200)["q"]
    np.testing.assert_array_equal(found, requantized(relu=True))
    alone = chain(f"%r = {RELU[kind]} : float32{SHAPE} ND")
    for soc, expected in ((V200, 1), (V100, 1), ("sim", kind == "Relu")):
        graph, changes = run_pass(FoldReluIntoDequantPass, alone, soc=soc)
        assert changes == expected


LEAKY = f"%l = LeakyRelu(%d) {{negative_slope=0.1}} : float32{SHAPE} ND"


@pytest.mark.parametrize("soc", [V200, V100])
def test_a_leaky_relu_stays_and_the_scale_goes_before_it(run_pass: RunPass, soc: str) -> None:
    graph, changes = run_pass(PASSES[soc], chain(LEAKY, quant("q", "l")), soc=soc)
    assert (changes, ops(graph)) == (1, ["AscendDequant", "AscendQuant", "LeakyRelu"])
    products = np.array(FACTORS, np.float32) * np.float32(SCALE)
    found = constant(node_of(graph, "AscendDequant"), 1)
    np.testing.assert_array_equal(found, products.view(np.uint32).astype(np.uint64))
    attributes = node_of(graph, "AscendQuant").attributes
    assert (attributes["scale"], attributes["offset"]) == (1.0, OFFSET)
    # No value of the model has these numbers: compare takes them for steps of the quantization.
    assert {node.origins[-1].name for node in graph.nodes} == {"q"}


def test_on_v100_the_factor_is_the_product(run_pass: RunPass) -> None:
    text = chain(quant("q"))
    graph, changes = run_pass(FoldQuantScalePass, text, soc=V100)
    assert changes == 1
    before = results(run_pass(Float16QuantScalesPass, text, soc=V100)[0], {"x": X}, soc=V100)
    Float16QuantScalesPass().run(graph, _context())
    assert constant(node_of(graph, "AscendDequant"), 1).dtype == np.float16
    after = results(graph, {"x": X}, soc=V100)["q"]
    np.testing.assert_array_equal(after, scaled())
    steps = np.abs(after.astype(int) - before["q"].astype(int))
    assert steps.max() == 1
    assert 0 < (steps == 1).mean() < 0.2


def _context() -> PassContext:
    """Return the context of passes for v100."""
    return PassContext(find_soc(V100), PrecisionMode.FORCE_FP16, "model.onnx")


@pytest.mark.parametrize(("scale", "root"), [(1.0, True), (64.0, False)])
def test_a_product_below_float16_becomes_its_root(
    run_pass: RunPass, scale: float, *, root: bool
) -> None:
    text = chain(quant("q", scale=scale)).replace(
        literal("s", words(*FACTORS), "uint64"), literal("s", words(1e-6, 5e-5, 3e-5), "uint64")
    )
    graph, _ = run_pass(FoldQuantScalePass, text, soc=V100)
    products = np.array([1e-6, 5e-5, 3e-5], np.float32) * np.float32(scale)
    Float16QuantScalesPass().run(graph, _context())
    node = node_of(graph, "AscendDequant")
    assert node.attributes["sqrt_mode"] is bool((products < 2.0**-14).any())
    expected = np.sqrt(products) if (products < 2.0**-14).any() else products
    np.testing.assert_array_equal(constant(node, 1), expected.astype(np.float16))
    assert root is True or products.max() > 2.0**-14


def joined(channels: int, axis: int, relu: str) -> str:
    """Return two dequantizations, joined and quantized."""
    shape = [1, channels, 2, 4]
    whole = [*shape]
    whole[axis] *= 2
    one, both = (str(each).replace(" ", "") for each in (shape, whole))
    own = relu == "each"
    relus = [f"%r{at} = Relu(%d{at}) : float32{one} ND" for at in range(2)] if own else []
    last = f"%r = Relu(%c) : float32{both} ND" if relu == "last" else ""
    names = ("%r0, %r1") if own else "%d0, %d1"
    read = "r" if relu == "last" else "c"
    attributes = f"{{offset={OFFSET}, scale={SCALE}}}"
    lines = [
        *(f"input %x{at} : int32{one} ND" for at in range(2)),
        literal("s0", words(0.01), "uint64"),
        literal("s1", words(0.03), "uint64"),
        *(
            f"%d{at} = AscendDequant(%x{at}, %s{at}) {{dtype=float32}} : float32{one} ND"
            for at in range(2)
        ),
        *relus,
        f"%c = ConcatD({names}) {{concat_dim={axis}, N=2}} : float32{both} ND",
        last,
        f"%q = AscendQuant(%{read}) {attributes} : int8{both} ND",
        "output %q",
    ]
    return "graph @g phase lowered {\n  " + "\n  ".join(lines) + "\n}\n"


@pytest.mark.parametrize("relu", ["none", "each", "last"])
@pytest.mark.parametrize(("channels", "axis"), [(32, 1), (16, 2)])
def test_a_concat_joins_integers_on_v200(
    run_pass: RunPass, channels: int, axis: int, relu: str
) -> None:
    text = joined(channels, axis, relu)
    graph, changes = run_pass(FuseRequantPass, text, soc=V200)
    assert (changes, ops(graph)) == (1, ["AscendRequant", "AscendRequant", "ConcatD"])
    assert graph.outputs[0].name == "q"
    feeds = {
        f"x{at}": _GENERATOR.integers(-20000, 20000, (1, channels, 2, 4)).astype(np.int32)
        for at in range(2)
    }
    parts = []
    for at, factor in enumerate((0.01, 0.03)):
        product = np.array([factor], np.float32) * np.float32(SCALE)
        cut = (product.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
        steps = feeds[f"x{at}"].astype(np.float32) * cut
        parts.append(codes(np.maximum(steps, np.float32(0)) if relu != "none" else steps))
    found = results(graph, feeds, soc=V200)["q"]
    np.testing.assert_array_equal(found, np.concatenate(parts, axis))


def test_channels_that_fill_no_block_are_not_joined_on_v200(run_pass: RunPass) -> None:
    assert run_pass(FuseRequantPass, joined(48, 1, "none"), soc=V200)[1] == 0


@pytest.mark.parametrize("step", [FuseRequantPass, FoldQuantScalePass])
def test_floats_of_no_layer_among_what_is_joined_keep_the_chain(
    run_pass: RunPass, step: type[Pass]
) -> None:
    floats = "float32[1,32,2,4] ND"
    text = joined(32, 1, "none").replace("input %x1 : int32[1,32,2,4] ND", f"input %d1 : {floats}")
    lines = [line for line in text.splitlines() if not line.strip().startswith("%d1 = ")]
    soc = V200 if step is FuseRequantPass else V100
    assert run_pass(step, "\n".join(lines) + "\n", soc=soc)[1] == 0


@pytest.mark.parametrize("relu", ["none", "each", "last"])
def test_a_concat_is_folded_through_on_v100(run_pass: RunPass, relu: str) -> None:
    graph, changes = run_pass(FoldQuantScalePass, joined(3, 1, relu), soc=V100)
    assert changes == 1
    assert ops(graph) == ["AscendDequant", "AscendDequant", "AscendQuant", "ConcatD"]
    for at, factor in enumerate((0.01, 0.03)):
        node = [each for each in graph.nodes if each.op == "AscendDequant"][at]
        product = np.array([factor], np.float32) * np.float32(SCALE)
        np.testing.assert_array_equal(constant(node, 1), product.view(np.uint32))
        assert node.attributes.get("relu_flag", False) is (relu != "none")
    assert node_of(graph, "AscendQuant").attributes["scale"] == 1.0


@pytest.mark.parametrize(("offset", "expected"), [(-5.9, -5), (4.9, 4)])
def test_a_fraction_of_the_offset_is_cut_off(
    run_pass: RunPass, offset: float, expected: int
) -> None:
    graph, changes = run_pass(FuseRequantPass, chain(quant("q", offset=offset)), soc=V200)
    assert changes == 1
    found = constant(node_of(graph, "AscendRequant"), 1)
    assert set((found >> np.uint64(37) & np.uint64(0x1FF)).tolist()) == {expected % 512}
