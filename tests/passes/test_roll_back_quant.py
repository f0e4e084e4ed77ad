"""Int8 layers of few input channels, taken back to float16.

The rule is that of CANN's fusion engine as published in 2020: at most 16 channels of the data that
AscendQuant reads. The host operators' formulas are inferred from their operands.
"""

import numpy as np
import numpy.typing as npt
import pytest

from atc_py.ir import Graph
from atc_py.ir.parser import parse_graph
from atc_py.options.compile_options import PrecisionMode
from atc_py.passes.base import PassContext
from atc_py.passes.manager import run_passes
from atc_py.passes.quant.roll_back_quant import RollBackQuantPass
from atc_py.target import find_soc, socs
from tests.passes.conftest import RunPass
from tests.passes.numbers import constant, literal, node_of, results, words

SOC = "Ascend310P3"
D = (0.0003, 0.0007, 0.0001, 0.0005)
SCALE, OFFSET = 40.0, -9.0
_GENERATOR = np.random.default_rng(3)


def layer(
    op: str = "Conv2D",
    channels: int = 16,
    *,
    groups: int = 1,
    bias: bool = True,
    flag: str = "false",
    offset_w: int = 0,
) -> str:
    """Return AscendQuant, a 3x3 convolution of 4 output channels and AscendDequant."""
    transposed = op == "Conv2DTransposeD"
    shape = (channels, 4 // groups, 3, 3) if transposed else (4, channels // groups, 3, 3)
    weights = literal("w", _GENERATOR.integers(-127, 128, shape), "int8")
    more = ", output_padding=[0,0], input_size=[1,4,6,6]" if transposed else ""
    biases = literal("b", [1000, -2000, 300, 0], "int32") if bias else ""
    offsets = literal("o", [offset_w], "int8") if offset_w else ""
    third = ["%b"] if bias else ["_"] if offset_w else []
    inputs = ", ".join(["%q", "%w", *third, *(["%o"] if offset_w else [])])
    attributes = f"groups={groups}, pads=[1,1,1,1], strides=[1,1,1,1]{more}"
    return f"""
graph @g phase lowered {{
  input %x : float32[1,{channels},6,6] ND
  {weights}
  {biases}
  {offsets}
  {literal("s", words(*D), "uint64")}
  %q = AscendQuant(%x) {{offset={OFFSET}, scale={SCALE}}} : int8[1,{channels},6,6] ND
  %c = {op}({inputs}) {{{attributes}}} : int32[1,4,6,6] ND from [1 "conv" Conv]
  %d = AscendDequant(%c, %s) {{dtype=float32, relu_flag={flag}}} : float32[1,4,6,6] ND
  output %d
}}
"""


def taken_back(run_pass: RunPass, text: str, soc: str = SOC) -> Graph:
    """Return the graph with its one layer on float16."""
    graph, changes = run_pass(RollBackQuantPass, text, soc=soc)
    assert changes == 1
    assert not {"AscendQuant", "AscendDequant"} & {node.op for node in graph.nodes}
    return graph


def conv_of(graph: Graph) -> tuple[npt.NDArray[np.float16], npt.NDArray[np.float16]]:
    """Return weights and bias of the one convolution, which must be float16 all over."""
    (node,) = (node for node in graph.nodes if "Conv2D" in node.op)
    assert {v.type.dtype.value for v in (*node.present_inputs, *node.outputs)} == {"float16"}
    assert node.attributes.get("offset_x", 0) == 0
    return constant(node, 1), constant(node, 2)


@pytest.mark.parametrize("op", ["Conv2D", "Conv2DTransposeD"])
@pytest.mark.parametrize("groups", [1, 2])
def test_weights_and_bias_are_dequantized(run_pass: RunPass, op: str, groups: int) -> None:
    text = layer(op, groups=groups, offset_w=5)
    codes = constant(node_of(parse_graph(text), op), 1).astype(np.float32)
    weights, bias = conv_of(taken_back(run_pass, text))
    scales = np.array(D, np.float32) * np.float32(SCALE)
    for channel in range(4):
        of_group, group = channel % (4 // groups), channel // (4 // groups)
        half = slice(group * 16 // groups, (group + 1) * 16 // groups)
        own = (half, of_group) if op == "Conv2DTransposeD" else (channel,)
        expected = ((codes[own] - 5) * scales[channel]).astype(np.float16)
        np.testing.assert_array_equal(weights[own], expected)
    expected = (np.array([1000, -2000, 300, 0], np.float32) * np.array(D, np.float32)).astype("f2")
    np.testing.assert_array_equal(bias, expected)


@pytest.mark.parametrize("mode", ["force_fp16", "must_keep_origin_dtype"])
@pytest.mark.parametrize("flag", ["false", "true"])
def test_results_are_those_of_floats(run_pass: RunPass, mode: str, flag: str) -> None:
    text = layer(channels=3, flag=flag)
    graph = taken_back(run_pass, text)
    weights, bias = (each.astype(np.float64) for each in conv_of(graph))
    assert graph.outputs[0].name == "d"
    assert graph.outputs[0].type.dtype.value == "float32"
    x = _GENERATOR.standard_normal((1, 3, 6, 6)).astype(np.float32)
    padded = np.pad(x.astype(np.float16).astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    taps = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    exact = np.einsum("nchwij,ocij->nohw", taps, weights) + bias[:, None, None]
    exact = np.maximum(exact, 0) if flag == "true" else exact
    found = results(graph, {"x": x}, mode, SOC)["d"]
    np.testing.assert_allclose(found, exact, rtol=2.0**-10, atol=2.0**-12)


@pytest.mark.parametrize(("channels", "expected"), [(1, 1), (16, 1), (17, 0), (32, 0)])
def test_it_is_decided_by_the_channels_of_all_groups(
    run_pass: RunPass, channels: int, expected: int
) -> None:
    text = layer(channels=channels, groups=1 if channels % 2 else 2)
    assert run_pass(RollBackQuantPass, text, soc=SOC)[1] == expected


def test_socs_of_the_first_two_instruction_sets_do_it(run_pass: RunPass) -> None:
    for soc in socs():
        changes = run_pass(RollBackQuantPass, layer(), soc=soc.name)[1]
        assert changes == (soc.isa.value in {"v100", "v200"}), soc.name


def test_float16_factors_and_one_for_all_channels_count_as_well(run_pass: RunPass) -> None:
    root = np.float16(0.02)
    text = layer(bias=False).replace(
        literal("s", words(*D), "uint64"), literal("s", [float(root)], "float16")
    )
    text = text.replace("relu_flag=false", "sqrt_mode=true, relu_flag=false")
    codes = constant(node_of(parse_graph(text), "Conv2D"), 1).astype(np.float32)
    graph = taken_back(run_pass, text, "Ascend310")
    factor = np.float32(root) * np.float32(root) * np.float32(SCALE)
    found = constant(node_of(graph, "Conv2D"), 1)
    np.testing.assert_array_equal(found, (codes * factor).astype(np.float16))


def test_a_root_in_the_quantization_is_squared(run_pass: RunPass) -> None:
    text = layer().replace(f"scale={SCALE}", "scale=6.0, sqrt_mode=true")
    codes = constant(node_of(parse_graph(text), "Conv2D"), 1).astype(np.float32)
    weights, _ = conv_of(taken_back(run_pass, text))
    expected = codes[0] * (np.float32(D[0]) * np.float32(36.0))
    np.testing.assert_array_equal(weights[0], expected.astype(np.float16))


def test_other_readers_keep_the_quantization(run_pass: RunPass) -> None:
    text = layer().replace("  output %d", "  output %d\n  output %q")
    graph, changes = run_pass(RollBackQuantPass, text, soc=SOC)
    assert changes == 1
    assert sorted(node.op for node in graph.nodes) == ["AscendQuant", "Cast", "Cast", "Conv2D"]


MOVED = "  %m = Relu(%q) : int8[1,16,6,6] ND\n  %c"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  output %d", "  output %d\n  output %c"),
        ("  %c = Conv2D(%q", f"{MOVED} = Conv2D(%m"),
        (literal("s", words(*D), "uint64"), "input %s : uint64[4] ND"),
        (literal("b", [1000, -2000, 300, 0], "int32"), "input %b : int32[4] ND"),
    ],
)
def test_a_layer_stays_on_int8_when(run_pass: RunPass, old: str, new: str) -> None:
    text = layer().replace(old, new)
    assert text != layer()
    graph, changes = run_pass(RollBackQuantPass, text, soc=SOC)
    assert changes == 0
    assert node_of(graph, "Conv2D").output.type.dtype.value == "int32"


def test_an_unknown_number_of_channels_decides_nothing(run_pass: RunPass) -> None:
    cut = "%y = Reshape(%x, %to) : float32[1,?,6,6] ND\n  %q = AscendQuant(%y)"
    text = layer().replace("%q = AscendQuant(%x)", cut).replace(": int8[1,16", ": int8[1,?")
    text = text.replace("  input %x", "  input %to : int64[4] ND\n  input %x")
    assert run_pass(RollBackQuantPass, text, soc=SOC)[1] == 0


PRODUCT = f"""
graph @g phase lowered {{
  input %x : float32[2,8] ND
  {literal("w", _GENERATOR.integers(-9, 9, (8, 4)), "int8")}
  {literal("s", words(0.01), "uint64")}
  %q = AscendQuant(%x) {{offset=0.0, scale=2.0}} : int8[2,8] ND
  %c = MatMulV2(%q, %w) {{}} : int32[2,4] ND
  %d = AscendDequant(%c, %s) {{dtype=float32}} : float32[2,4] ND
  output %d
}}
"""


def test_products_of_matrices_are_exempt(run_pass: RunPass) -> None:
    assert run_pass(RollBackQuantPass, PRODUCT, soc=SOC)[1] == 0


def test_the_record_says_why() -> None:
    graph = parse_graph(layer(channels=3))
    context = PassContext(find_soc(SOC), PrecisionMode.MUST_KEEP_ORIGIN_DTYPE, "model.onnx")
    run_passes(graph, context, verify=True)
    record = context.decisions.as_json(graph)
    rules = [each["rule"] for each in record["nodes"] if "Conv2D" in each["op"]]  # type: ignore[attr-defined]
    mode = "must_keep_origin_dtype: as in the model"
    assert rules == [f"{mode}; roll-back-quant: 3 input channels"]
    reasons = {each["reason"] for each in record["casts"]}  # type: ignore[attr-defined]
    assert reasons == {"roll-back-quant: 3 input channels"}
