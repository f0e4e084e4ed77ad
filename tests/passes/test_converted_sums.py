"""What converts the sums of the cube shares its launch, as far as the SoC's cores can.

CANN's fusion rules TbeConvDequant*, TbeMatmulDequant*, TbeConvRequant and TbeMatmulRequant merge
chains in the unified buffer (their names and patterns are published); on cores with a fix pipe its
units are those of the platform configuration: one conversion (int32 to float16, int32 to int8,
float32 to float16 or bfloat16), then one relu. That chains in the buffer may have any elementwise
function between the conversion and AscendQuant is inferred from the patterns' names.
"""

import numpy as np
import pytest

from atc_py.cost.network import network_cost
from atc_py.ir import Engine, Graph
from atc_py.ir.parser import parse_graph
from atc_py.options.compile_options import PrecisionMode
from atc_py.package.describe import describe
from atc_py.package.schema import PackageContents
from atc_py.passes.base import Pass, PassContext
from atc_py.passes.fusion.merge_conversions import (
    MergeDequantPass,
    MergeRequantPass,
    _quant_of_sums,
)
from atc_py.passes.manager import run_passes
from atc_py.passes.pipeline import PIPELINE
from atc_py.system.structs import replace
from atc_py.target import find_soc
from atc_py.tensor.dtypes import Format
from atc_py.tensor.storage import Storage
from tests.passes.numbers import literal, results_of_typed, words

GENERATOR = np.random.default_rng(5)
FILTER = GENERATOR.integers(-127, 128, (32, 32, 3, 3))
MATRIX = GENERATOR.integers(-127, 128, (32, 48))

CONV = f"""
graph @g phase lowered {{
  input %x : int8[1,32,8,8] ND
  input %z : float32[1,32,8,8] ND
  {literal("w", FILTER, "int8")}
  {literal("s", words(*np.linspace(1e-4, 5e-4, 32)), "uint64")}
  %c = Conv2D(%x, %w) {{pads=[1,1,1,1], strides=[1,1,1,1]}} : int32[1,32,8,8] ND
  %d = AscendDequant(%c, %s) {{dtype=float32}} : float32[1,32,8,8] ND
  TAIL
  output %y
}}
"""
PRODUCT = f"""
graph @g phase lowered {{
  input %x : int8[64,32] ND
  {literal("w", MATRIX, "int8")}
  {literal("s", words(*np.linspace(1e-4, 5e-4, 48)), "uint64")}
  %c = MatMulV2(%x, %w) : int32[64,48] ND
  %d = AscendDequant(%c, %s) {{dtype=float32}} : float32[64,48] ND
  %y = Relu(%d) : float32[64,48] ND
  output %y
}}
"""
FLOATS = """
graph @g phase lowered {
  input %x : float32[64,32] ND
  const %w : float32[32,48] ND = splat 0.25
  const %v : float32[48,16] ND = splat 0.5
  %c = MatMulV2(%x, %w) : float32[64,48] ND
  %y = MatMulV2(%c, %v) : float32[64,16] ND
  output %y
}
"""
TAILS = {
    "dequant": "%y = Tanh(%d) : float32[1,32,8,8] ND",
    "relu": "%y = Relu(%d) : float32[1,32,8,8] ND",
    "add": (
        "%a = Add(%d, %z) : float32[1,32,8,8] ND\n"
        "  %r = Relu(%a) : float32[1,32,8,8] ND\n"
        "  %y = AscendQuant(%r) {offset=0.0, scale=20.0} : int8[1,32,8,8] ND"
    ),
    "requant": "%y = AscendQuant(%d) {offset=0.0, scale=20.0} : int8[1,32,8,8] ND",
}
BUFFER, PIPE = ("Ascend310", "Ascend910A", "Ascend310P3"), ("Ascend910B3", "Ascend910_9391")
NEW = ("merge-dequant", "merge-requant")


def _merged(text: str, soc: str, *disabled: str, mode: str = "force_fp16") -> Graph:
    """Return a compiled graph, its values in rows."""
    graph = parse_graph(text)
    context = PassContext(find_soc(soc), PrecisionMode(mode), "model.onnx")
    off = frozenset({"assign-storage", *disabled})
    run_passes(graph, context, verify=True, disabled=off)
    return graph


def _launches(graph: Graph) -> set[tuple[str, ...]]:
    """Return the operators of each launch of several nodes."""
    found: dict[int, list[str]] = {}
    for node in graph.nodes:
        if node.scope:
            found.setdefault(node.scope, []).append(node.op)
    return {tuple(ops) for ops in found.values()}


@pytest.mark.parametrize(
    ("tail", "wanted"),
    [
        ("dequant", {("Conv2D", "AscendDequant", "Tanh")}),
        ("relu", {("Conv2D", "AscendDequant")}),
        ("add", {("Conv2D", "AscendDequant", "Add", "Relu", "AscendQuant")}),
    ],
)
@pytest.mark.parametrize("soc", [*BUFFER, "Ascend310B1"])
def test_chain_in_the_unified_buffer_is_one_launch(
    soc: str, tail: str, wanted: set[tuple[str, ...]]
) -> None:
    """The Relu after AscendDequant is the operator's own flag by then."""
    assert _launches(_merged(CONV.replace("TAIL", TAILS[tail]), soc)) == wanted


@pytest.mark.parametrize(
    ("tail", "wanted"),
    [
        ("dequant", {("Conv2D", "AscendDequant")}),
        ("relu", {("Conv2D", "AscendDequant")}),
        ("add", {("Conv2D", "AscendDequant"), ("Add", "Relu")}),
    ],
)
@pytest.mark.parametrize("soc", PIPE)
def test_fix_pipe_converts_and_leaves_sums_and_functions_to_others(
    soc: str, tail: str, wanted: set[tuple[str, ...]]
) -> None:
    assert _launches(_merged(CONV.replace("TAIL", TAILS[tail]), soc)) == wanted


QUANTIZED = f"""
graph @g phase lowered {{
  input %x : float32[1,32,8,8] ND
  {literal("w", FILTER / 100, "float32")}
  {literal("b", np.linspace(-3, 3, 32), "float32")}
  %c = Conv2D(%x, %w, %b) {{pads=[1,1,1,1], strides=[1,1,1,1]}} : float32[1,32,8,8] ND
  %y = AscendQuant(%c) {{offset=3.0, scale=0.7}} : int8[1,32,8,8] ND
  output %y
}}
"""


def test_sums_of_floats_are_quantized_with_one_rounding_on_ascend950() -> None:
    """In float16 alone: a sum between two codes may fall on the other side once it is rounded."""
    feeds = {"x": GENERATOR.standard_normal((1, 32, 8, 8)).astype(np.float32)}
    graph = _merged(QUANTIZED, "Ascend950PR_9599")
    assert _launches(graph) == {("Conv2D", "AscendQuant")}
    once = results_of_typed(graph, feeds, "Ascend950PR_9599")["y"]
    apart = _merged(QUANTIZED, "Ascend950PR_9599", *NEW)
    assert _launches(apart) == set()
    twice = results_of_typed(apart, feeds, "Ascend950PR_9599")["y"]
    assert 0 < (once != twice).mean() < 0.01
    assert np.abs(once.astype(int) - twice).max() == 1


@pytest.mark.parametrize(
    ("soc", "mode", "text"),
    [
        ("Ascend950PR_9599", "must_keep_origin_dtype", QUANTIZED),
        ("Ascend950PR_9599", "force_fp16", QUANTIZED.replace("scale=0.7", "scale=-0.7")),
        ("Ascend950PR_9599", "force_fp16", QUANTIZED.replace("output %y", "output %y output %c")),
        ("Ascend910B3", "force_fp16", QUANTIZED),
    ],
)
def test_other_sums_of_floats_are_quantized_apart(soc: str, mode: str, text: str) -> None:
    assert _launches(_merged(text.replace("y output", "y\n  output"), soc, mode=mode)) == set()


@pytest.mark.parametrize(
    ("engine", "storage", "taken"),
    [
        (Engine.AICORE, None, True),
        (Engine.AICPU, None, False),
        (Engine.AICORE, Storage(Format.NC1HWC0), False),
    ],
)
def test_codes_of_another_engine_or_order_are_not_those_of_the_sums(
    engine: Engine, storage: Storage | None, taken: bool
) -> None:
    graph = parse_graph(QUANTIZED.replace("float32", "float16"))
    conv, quant = graph.nodes
    conv.engine, quant.engine = Engine.AICORE, engine
    quant.output.type = replace(quant.output.type, storage=storage)
    assert (_quant_of_sums(conv, find_soc("Ascend950PR_9599")) is quant) is taken


@pytest.mark.parametrize("soc", ["Ascend310P3", "Ascend610"])
def test_requantized_sums_are_one_launch(soc: str) -> None:
    graph = _merged(CONV.replace("TAIL", TAILS["requant"]), soc)
    assert _launches(graph) == {("Conv2D", "AscendRequant")}


@pytest.mark.parametrize("soc", ["Ascend310B1", *PIPE])
def test_fix_pipe_requantizes(soc: str) -> None:
    """`fix_pipe_pre_conv_requant` lists s322s8; a graph has the operator where a model states it."""
    tail = "%y = AscendRequant(%c, %s) : int8[1,32,8,8] ND"
    graph = _merged(CONV.replace("TAIL", tail), soc)
    assert _launches(graph) == {("Conv2D", "AscendRequant")}


def test_fix_pipe_makes_float16_alone_of_integers() -> None:
    """`fix_pipe_pre_conv_dequant` lists s322f16: float32 results stay apart and say why."""
    text = CONV.replace("TAIL", TAILS["dequant"])
    mode = "must_keep_origin_dtype"
    assert _launches(_merged(text, "Ascend910B3", mode=mode)) == set()
    assert _launches(_merged(text, "Ascend310P3", mode=mode)) == {
        ("Conv2D", "AscendDequant", "Tanh")
    }


@pytest.mark.parametrize("soc", [*BUFFER, *PIPE])
def test_products_of_integers_are_merged_alike(soc: str) -> None:
    assert _launches(_merged(PRODUCT, soc)) == {("MatMulV2", "AscendDequant")}


@pytest.mark.parametrize(("soc", "merged"), [("Ascend910B3", True), ("Ascend310P3", False)])
def test_fix_pipe_narrows_float32_sums(soc: str, merged: bool) -> None:
    """`fix_pipe_pre_conv_cast` lists f322f16: a Cast after the product is not a launch of its own."""
    graph = _merged(FLOATS, soc, mode="cube_fp16in_fp32out")
    assert [node.op for node in graph.nodes] == ["Cast", "MatMulV2", "Cast", "MatMulV2"]
    assert _launches(graph) == ({("MatMulV2", "Cast")} if merged else set())


@pytest.mark.parametrize(
    ("step", "tail"), [(MergeDequantPass, "relu"), (MergeRequantPass, "requant")]
)
def test_pass_reports_the_chain(step: type[Pass], tail: str) -> None:
    graph = parse_graph(CONV.replace("TAIL", TAILS[tail]))
    context = PassContext(find_soc("Ascend310P3"), PrecisionMode.FORCE_FP16, "model.onnx")
    run_passes(graph, context, disabled=frozenset({"assign-storage"}))
    assert context.fusions[step.row.name].effective == 1


def test_generic_device_is_as_before() -> None:
    for tail in TAILS.values():
        graph = _merged(CONV.replace("TAIL", tail), "sim")
        assert not any(launch[0] == "Conv2D" for launch in _launches(graph))


@pytest.mark.parametrize("step", [MergeDequantPass, MergeRequantPass])
def test_sums_with_two_readers_stay_apart_and_say_why(step: type[Pass]) -> None:
    tail = TAILS["dequant" if step is MergeDequantPass else "requant"]
    text = CONV.replace("TAIL", tail).replace("output %y", "output %y\n  output %c")
    graph = parse_graph(text)
    context = PassContext(find_soc("Ascend310P3"), PrecisionMode.FORCE_FP16, "model.onnx")
    run_passes(graph, context, verify=True, disabled=frozenset({"assign-storage"}))
    assert not any(launch[0] == "Conv2D" for launch in _launches(graph))
    miss = context.fusions[step.row.name].nearest
    assert miss is not None
    assert "%c is an output of the model" in miss.reason


@pytest.mark.parametrize("step", [MergeDequantPass, MergeRequantPass])
@pytest.mark.parametrize("soc", ["Ascend310P3", "Ascend910B3"])
@pytest.mark.parametrize("tail", TAILS)
def test_merged_chain_keeps_its_numbers_bit_by_bit(step: type[Pass], soc: str, tail: str) -> None:
    assert step.row in PIPELINE
    text = CONV.replace("TAIL", TAILS[tail])
    feeds = {
        "x": GENERATOR.integers(-128, 128, (1, 32, 8, 8), np.int8),
        "z": GENERATOR.standard_normal((1, 32, 8, 8)).astype(np.float32),
    }
    one = results_of_typed(_merged(text, soc), feeds, soc)["y"]
    other = results_of_typed(_merged(text, soc, *NEW), feeds, soc)["y"]
    assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("soc", ["Ascend310P3", "Ascend910B3"])
def test_merged_chain_takes_less_time(soc: str) -> None:
    text = CONV.replace("TAIL", TAILS["relu"])
    times, written = [], []
    for off in ((), NEW):
        graph = _merged(text, soc, *off)
        names = {value: f"weights/{at}.npy" for at, value in enumerate(graph.constants())}
        model = describe(graph, PackageContents("test", soc), names)
        cost = network_cost(model)
        times.append(cost.time.expected)
        written.append(next(each for each in cost.kernels if "Conv2D" in each.op).cost.written)
    assert times[0] < times[1]
    sums, halves = 4 * 32 * 8 * 8, 2 * 32 * 8 * 8
    assert written == [halves, sums]  # the sums of a launch stay inside
