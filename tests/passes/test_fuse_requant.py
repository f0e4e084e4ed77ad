"""AscendDequant, Relu and AscendQuant as one AscendRequant."""

import re

import numpy as np
import pytest

from atc_py.ir import Graph
from atc_py.passes.quant.fuse_requant import FuseRequantPass
from tests.passes.conftest import RunPass
from tests.passes.numbers import constant, literal, node_of, results, words

FACTORS = (0.00123, 0.0456, 7.0)
WORDS = literal("s", words(*FACTORS), "uint64")
QUANT = "%q = AscendQuant(%d) {offset=-5.0, scale=0.37} : int8[2,3,4,8] ND"
TEXT = f"""
graph @g phase lowered {{
  input %x : int32[2,3,4,8] ND
  {WORDS}
  %d = AscendDequant(%x, %s) {{dtype=float32}} : float32[2,3,4,8] ND from [3 "deq" AscendDequant]
  {QUANT} from [5 "quant" AscendQuant]
  output %q
}}
"""
RELU = TEXT.replace(
    "  %q = AscendQuant(%d)",
    '  %r = Relu(%d) : float32[2,3,4,8] ND from [4 "relu" Relu]\n  %q = AscendQuant(%r)',
)
_GENERATOR = np.random.default_rng(0)
X = np.rint(
    _GENERATOR.standard_normal((2, 3, 4, 8)) * 90 / np.array(FACTORS)[:, None, None] / 0.37
).astype(np.int32)
MODES = ("force_fp16", "allow_fp32_to_fp16", "must_keep_origin_dtype")


def requantized(
    x: np.ndarray, scale: np.float32, offset: int, factors: np.ndarray, *, relu: bool = False
) -> np.ndarray:
    """Return saturate(round(x * cut(d * s)) + offset), from the bits of float32 numbers."""
    product = (factors.astype(np.float32) * scale).astype(np.float32)
    cut = (product.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    values = x.astype(np.float32) * cut
    if relu:
        values = np.maximum(values, np.float32(0))
    whole = np.rint(values).astype(np.float64) + offset
    found: np.ndarray = np.clip(whole, -128, 127).astype(np.int8)
    return found


CHANNELS = np.array(FACTORS, np.float32)[:, None, None]


def fused(run_pass: RunPass, text: str) -> Graph:
    """Return the graph with its one chain fused and nothing of it left."""
    graph, changes = run_pass(FuseRequantPass, text)
    assert changes == 1
    assert not {"AscendDequant", "AscendQuant", "Relu"} & {node.op for node in graph.nodes}
    return graph


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("relu", ["none", "node", "flag"])
def test_numbers_are_those_of_the_formula_and_one_step_from_before(
    run_pass: RunPass, mode: str, relu: str
) -> None:
    text = RELU if relu == "node" else TEXT
    text = text.replace("{dtype", "{relu_flag=true, dtype") if relu == "flag" else text
    graph = fused(run_pass, text)
    assert node_of(graph, "AscendRequant").attributes == {"relu_flag": relu != "none"}
    after = results(graph, {"x": X}, mode)["q"]
    expected = requantized(X, np.float32(0.37), -5, CHANNELS, relu=relu != "none")
    np.testing.assert_array_equal(after, expected)
    before = results(text, {"x": X}, mode)["q"]
    steps = np.abs(after.astype(int) - before.astype(int))
    assert steps.max() == 1  # float16 steps there, one product here
    assert (steps == 0).mean() > 0.9
    assert len(np.unique(after)) > 60


def test_words_are_of_the_hardware_packing(run_pass: RunPass) -> None:
    graph = fused(run_pass, RELU)
    found = constant(node_of(graph, "AscendRequant"), 1)
    products = np.array(FACTORS, np.float32) * np.float32(0.37)
    bits = products.view(np.uint32).astype(np.uint64) & np.uint64(0xFFFFE000)
    signed, relu, offset = 1 << 46, 1 << 47, (-5 % 512) << 37
    np.testing.assert_array_equal(found, bits | np.uint64(signed | relu | offset))


def test_a_squared_scale_goes_into_the_factor(run_pass: RunPass) -> None:
    text = TEXT.replace("scale=0.37}", "scale=0.6, sqrt_mode=true}")
    after = results(fused(run_pass, text), {"x": X})["q"]
    scale = np.float32(0.6) * np.float32(0.6)
    np.testing.assert_array_equal(after, requantized(X, scale, -5, CHANNELS))
    assert np.abs(after.astype(int) - results(text, {"x": X})["q"]).max() == 1


def test_one_word_serves_all_channels(run_pass: RunPass) -> None:
    text = TEXT.replace(WORDS, literal("s", words(-0.002), "uint64"))
    after = results(fused(run_pass, text), {"x": X})["q"]
    one = np.full((1, 1, 1), -0.002, np.float32)
    np.testing.assert_array_equal(after, requantized(X, np.float32(0.37), -5, one))
    assert len(np.unique(after)) > 40


def test_sums_and_ends_of_int32(run_pass: RunPass) -> None:
    ends = np.resize(
        np.array([0, 1, -1, 2**24 + 1, -(2**24) - 1, 2**31 - 1, -(2**31)], np.int32), X.shape
    )
    after = results(fused(run_pass, TEXT), {"x": ends})["q"]
    np.testing.assert_array_equal(after, requantized(ends, np.float32(0.37), -5, CHANNELS))


@pytest.mark.parametrize("offset", [-256, 255])
def test_offset_of_nine_bits(run_pass: RunPass, offset: int) -> None:
    graph = fused(run_pass, TEXT.replace("offset=-5.0", f"offset={offset}.0"))
    expected = requantized(X, np.float32(0.37), offset, CHANNELS)
    np.testing.assert_array_equal(results(graph, {"x": X})["q"], expected)
    assert len(np.unique(expected)) > 10


def test_result_keeps_its_name_and_all_origins(run_pass: RunPass) -> None:
    graph = fused(run_pass, RELU)
    (node,) = graph.nodes
    assert [origin.name for origin in node.origins] == ["deq", "relu", "quant"]
    assert graph.outputs[0].name == "q"


SECOND = "  %k = AscendQuant(%d) {offset=9.0, scale=0.11} : int8[2,3,4,8] ND\n"


def test_several_quantizations_after_one(run_pass: RunPass) -> None:
    text = TEXT.replace("  output %q", f"{SECOND}  output %q\n  output %k")
    graph, changes = run_pass(FuseRequantPass, text)
    assert (changes, [node.op for node in graph.nodes]) == (2, ["AscendRequant"] * 2)
    found = results(graph, {"x": X})
    expected = requantized(X, np.float32(0.37), -5, CHANNELS)
    np.testing.assert_array_equal(found["q"], expected)
    expected = requantized(X, np.float32(0.11), 9, CHANNELS)
    np.testing.assert_array_equal(found["k"], expected)


def test_others_that_read_floats_keep_the_dequantization(run_pass: RunPass) -> None:
    text = RELU.replace(
        "  output %q", "  %n = Neg(%r) : float32[2,3,4,8] ND\n  output %q\n  output %n"
    )
    graph, changes = run_pass(FuseRequantPass, text)
    assert changes == 1
    assert sorted(node.op for node in graph.nodes) == [
        "AscendDequant", "AscendRequant", "Neg", "Relu",
    ]  # fmt: skip
    before, after = results(text, {"x": X}), results(graph, {"x": X})
    np.testing.assert_array_equal(after["n"], before["n"])
    expected = requantized(X, np.float32(0.37), -5, CHANNELS, relu=True)
    np.testing.assert_array_equal(after["q"], expected)


def test_floats_that_are_outputs_stay(run_pass: RunPass) -> None:
    graph, changes = run_pass(FuseRequantPass, RELU.replace("output %q", "output %q\n  output %d"))
    assert changes == 1
    assert sorted(node.op for node in graph.nodes) == ["AscendDequant", "AscendRequant"]


def moved(relu: str = "%f") -> str:
    """Return the chain with data movement and a Relu in it."""
    lines = f"""  %t = TransposeD(%d) {{perm=[0,2,1,3]}} : float32[2,4,3,8] ND from [7 "t" Transpose]
  %f = Flatten(%t) : float32[2,96] ND
  %r = Relu(%f) : float32[2,96] ND
  const %to : int64[2] ND = dense [4, 48]
  %m = Reshape({relu}, %to) : float32[4,48] ND
  %q = AscendQuant(%m)"""
    text = TEXT.replace("  %q = AscendQuant(%d)", lines)
    return text.replace("int8[2,3,4,8]", "int8[4,48]")


def test_data_movement_between_moves_the_integers(run_pass: RunPass) -> None:
    graph = fused(run_pass, moved("%r"))
    assert [(node.op, node.output.type.dtype.value) for node in graph.nodes] == [
        ("AscendRequant", "int8"),
        ("TransposeD", "int8"),
        ("Flatten", "int8"),
        ("Reshape", "int8"),
    ]
    assert [origin.name for origin in graph.nodes[1].origins] == ["t"]
    expected = requantized(X, np.float32(0.37), -5, CHANNELS, relu=True)
    expected = expected.transpose(0, 2, 1, 3).reshape(4, 48)
    np.testing.assert_array_equal(results(graph, {"x": X})["q"], expected)
    assert graph.outputs[0].name == "q"


def test_moved_floats_that_others_read_stay(run_pass: RunPass) -> None:
    text = moved().replace("output %q", "output %q\n  output %r")
    graph, changes = run_pass(FuseRequantPass, text)
    assert changes == 1
    assert sorted(node.op for node in graph.nodes) == sorted(
        ["AscendDequant", "AscendRequant", "Relu", *["TransposeD", "Flatten"] * 2, "Reshape"]
    )
    np.testing.assert_array_equal(results(graph, {"x": X})["r"], results(text, {"x": X})["r"])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("scale=0.37", 'round_mode="Floor", scale=0.37'),
        ("scale=0.37} : int8", "dst_type=int16, scale=0.37} : int16"),
        ("offset=-5.0", "offset=-5.5"),
        ("offset=-5.0", "offset=256.0"),
        ("offset=-5.0", "offset=-257.0"),
        ("scale=0.37", "scale=-0.37"),
        ("scale=0.37", "scale=0.0"),
        ("scale=0.37", "scale=1e+38"),
        ("scale=0.37", "scale=1e-37"),
        ("scale=0.37", "scale=1e-30, sqrt_mode=true"),
        (WORDS, literal("s", words(*FACTORS, shift=1), "uint64")),
        (WORDS, literal("s", np.array(FACTORS), "float16")),
        (WORDS, "input %s : uint64[3] ND"),
        (WORDS, 'const %s : uint64[3] ND = opaque "elsewhere"'),
        (WORDS, literal("s", words(0.1, np.inf, 0.1), "uint64")),
        ("%q =", "%l = LeakyRelu(%d) {negative_slope=0.1} : float32[2,3,4,8] ND\n  %q ="),
        ("%q =", "%l = Neg(%d) : float32[2,3,4,8] ND\n  %q ="),
        ("%q =", "%l = PadV3D(%d) {paddings=[0,0,0,0,0,0,0,0]} : float32[2,3,4,8] ND\n  %q ="),
        ("  %d = AscendDequant(%x, %s) {dtype=float32}", "  %d = Cast(%x) {dst_type=float32}"),
    ],
)
def test_nothing_is_fused_when(run_pass: RunPass, old: str, new: str) -> None:
    text = TEXT.replace(old, new)
    assert text != TEXT
    if "%l =" in new:
        text = text.replace("AscendQuant(%d)", "AscendQuant(%l)")
    graph, changes = run_pass(FuseRequantPass, text)
    assert changes == 0
    assert "AscendRequant" not in {node.op for node in graph.nodes}


@pytest.mark.parametrize(
    ("soc", "expected"),
    [
        ("sim", 1),
        ("Ascend310P3", 1),
        ("Ascend610", 1),
        ("Hi3796CV300CS", 1),
        ("Ascend310", 0),
        ("Ascend910A", 0),
        ("Ascend310B1", 0),
        ("Ascend910B1", 0),
        ("Ascend910_9391", 0),
        ("Ascend950PR_9599", 0),
    ],
)
def test_cann_has_the_pass_for_the_instruction_set_v200_alone(
    run_pass: RunPass, soc: str, expected: int
) -> None:
    assert run_pass(FuseRequantPass, TEXT, soc=soc)[1] == expected


def test_a_factor_of_0_stays_0(run_pass: RunPass) -> None:
    text = TEXT.replace(WORDS, literal("s", words(0.0, 0.1, 0.1), "uint64"))
    found = results(fused(run_pass, text), {"x": X})["q"]
    assert (found[:, 0] == -5).all()


def test_every_quantization_of_the_texts_is_read() -> None:
    assert len(re.findall("AscendQuant[(]", TEXT)) == len(re.findall("AscendQuant[(]", RELU)) == 1
