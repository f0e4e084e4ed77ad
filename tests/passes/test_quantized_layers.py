"""Two quantized layers through the whole pipeline: what is left on which SoC, and its numbers."""

import numpy as np
import pytest

from atc_py.ir import Graph
from atc_py.ir.parser import parse_graph
from atc_py.options.compile_options import PrecisionMode
from atc_py.passes.base import PassContext
from atc_py.passes.manager import run_passes
from atc_py.target import find_soc
from tests.passes.numbers import constant, literal, results_of_typed, words

_GENERATOR = np.random.default_rng(0)
CHANNELS, HIDDEN = 17, 18
"""Input channels of the layers: more than those of layers that some SoCs take back to float16."""
FIRST = _GENERATOR.integers(-127, 128, (HIDDEN, CHANNELS, 3, 3))
SECOND = _GENERATOR.integers(-127, 128, (2, HIDDEN, 3, 3))
X_SCALE, X_ZERO, H_SCALE, H_ZERO = 0.02, -11, 0.05, -128
"""Real values are scale times what is left of an integer after the zero is taken off."""
FIRST_SCALES = np.resize([0.0005, 0.0007, 0.001, 0.0003], HIDDEN)
BIAS = np.resize([0.3, -0.2, 0.1, 0.4], HIDDEN)
X = _GENERATOR.standard_normal((1, CHANNELS, 6, 6)).astype(np.float32)

BIAS_1 = np.rint(BIAS / (X_SCALE * FIRST_SCALES))
CONV = "pads=[1,1,1,1], strides=[1,1,1,1]"
TEXT = f"""
graph @g phase lowered {{
  input %x : float32[1,{CHANNELS},6,6] ND
  {literal("w1", FIRST, "int8")}
  {literal("b1", BIAS_1.astype(int), "int32")}
  {literal("s1", words(*X_SCALE * FIRST_SCALES), "uint64")}
  {literal("w2", SECOND, "int8")}
  {literal("s2", words(H_SCALE * 0.001), "uint64")}
  %q1 = AscendQuant(%x) {{offset={X_ZERO}.0, scale={1 / X_SCALE!r}}} : int8[1,{CHANNELS},6,6] ND
  %c1 = Conv2D(%q1, %w1, %b1) {{{CONV}}} : int32[1,{HIDDEN},6,6] ND
  %d1 = AscendDequant(%c1, %s1) {{dtype=float32}} : float32[1,{HIDDEN},6,6] ND
  %r1 = Relu(%d1) : float32[1,{HIDDEN},6,6] ND
  %q2 = AscendQuant(%r1) {{offset={H_ZERO}.0, scale={1 / H_SCALE!r}}} : int8[1,{HIDDEN},6,6] ND
  %q3 = AscendQuant(%r1) {{offset={H_ZERO}.0, scale={1 / H_SCALE!r}}} : int8[1,{HIDDEN},6,6] ND
  %c2 = Conv2D(%q3, %w2) {{{CONV}}} : int32[1,2,6,6] ND
  %d2 = AscendDequant(%c2, %s2) {{dtype=float32}} : float32[1,2,6,6] ND
  output %q2
  output %d2
}}
"""
MODES = ("force_fp16", "allow_fp32_to_fp16", "must_keep_origin_dtype")


def compiled(soc: str, mode: str, *disabled: str) -> Graph:
    """Return the layers after all passes, verified after each."""
    graph = parse_graph(TEXT)
    context = PassContext(find_soc(soc), PrecisionMode(mode), "model.onnx")
    run_passes(graph, context, disabled=frozenset(disabled), verify=True)
    assert context.sink.diagnostics == []
    return graph


def convolved(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return a 3x3 convolution that pads with real zeros."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    taps = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    return np.asarray(np.einsum("nchwij,ocij->nohw", taps, weights))


def real_results() -> tuple[np.ndarray, np.ndarray]:
    """Return the real values of the first layer's int8 result, and the second layer's."""
    x = (np.clip(np.rint(X / X_SCALE) + X_ZERO, -128, 127) - X_ZERO) * X_SCALE
    weights = FIRST * FIRST_SCALES[:, None, None, None]
    hidden = np.maximum(convolved(x, weights) + BIAS[:, None, None], 0)
    integers = np.clip(np.rint(hidden / H_SCALE) + H_ZERO, -128, 127)
    return integers, convolved((integers - H_ZERO) * H_SCALE, SECOND * 0.001)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("soc", "disabled", "expected"),
    [
        ("Ascend310P3", (), {"AscendRequant": 1, "AscendDequant": 1, "AscendQuant": 1}),
        ("Ascend310P3", ("V200RequantFusionPass",), {"AscendDequant": 2, "AscendQuant": 2}),
        ("Ascend310", (), {"AscendDequant": 2, "AscendQuant": 2}),
        ("Ascend950PR_9599", (), {"AscendDequant": 2, "AscendQuant": 2}),
    ],
    ids=["fused", "switched off", "float16 factors", "float32 quantization"],
)
def test_layers_compute_what_their_integers_stand_for(
    mode: str, soc: str, disabled: tuple[str, ...], expected: dict[str, int]
) -> None:
    graph = compiled(soc, mode, *disabled)
    ops = [node.op for node in graph.nodes]
    assert {op: ops.count(op) for op in ops if op.startswith("Ascend")} == expected
    assert "Relu" not in ops
    assert [n.attributes["offset_x"] for n in graph.nodes if n.op == "Conv2D"] == [X_ZERO, H_ZERO]
    found = results_of_typed(graph, {"x": X}, soc)
    integers, results = real_results()
    steps = np.abs(found["q2"] - integers)
    assert steps.max() <= 1
    assert (steps == 0).mean() > 0.9
    # a step of each number under the window; a word cuts its factor by 2^-10 and the result is
    # rounded to float16, or data, root and both products are, and the root counts twice
    reach = H_SCALE * 0.001 * np.abs(SECOND).sum(axis=(1, 2, 3))[:, None, None]
    roundings = 5 if soc == "Ascend310" else 3
    bound = steps.max() * reach + roundings * 2**-11 * np.abs(results)
    assert (np.abs(found["d2"] - results) <= bound).all()


def test_real_zeros_would_not_be_padded_without_the_offset() -> None:
    text = TEXT.replace(f"{{{CONV}}}", f"{{offset_x=127, {CONV}}}")
    graph = parse_graph(text)
    context = PassContext(find_soc("Ascend310P3"), PrecisionMode.FORCE_FP16, "model.onnx")
    run_passes(graph, context)
    found = results_of_typed(graph, {"x": X}, "Ascend310P3")["q2"]
    assert np.abs(found - real_results()[0]).max() > 10


def test_factors_are_float16_where_words_cannot_be() -> None:
    graph = compiled("Ascend310", "force_fp16")
    dequants = [node for node in graph.nodes if node.op == "AscendDequant"]
    assert [constant(node, 1).dtype.name for node in dequants] == ["float16"] * 2
    # The first factor has the scale of the quantization after it in it, and is no longer tiny.
    assert [node.attributes["sqrt_mode"] for node in dequants] == [False, True]
    assert dequants[0].attributes["relu_flag"] is True
