"""Rewrites that choose another operator, or drop nodes, and leave results as they were."""

import numpy as np
import pytest

from atc_py.passes.base import Pass
from atc_py.passes.fusion.batch_norm_to_bn_infer import BatchNormToBnInferPass
from atc_py.passes.fusion.eliminate_dead_code import EliminateDeadCodePass
from atc_py.passes.fusion.fuse_conv_batch_norm import FuseConvBatchNormPass
from atc_py.passes.fusion.rewrite_depthwise_conv import RewriteDepthwiseConvPass
from tests.passes.conftest import RunPass
from tests.passes.numbers import literal, results

RANDOM = np.random.default_rng(11)


def _line(name: str, *shape: int, least: float = -1.0) -> str:
    """Return a constant of random numbers up to 2."""
    return literal(name, RANDOM.uniform(least, 2, shape).round(3), "float32")


NORM = f"""
  {_line("scale", 3)}
  {_line("offset", 3)}
  {_line("mean", 3)}
  {_line("variance", 3, least=0.5)}
  %y = BatchNorm(%c, %scale, %offset, %mean, %variance) {{epsilon=0.001}} : float32[2,3,5,5] ND
  output %y
}}
"""
BATCH_NORM = "graph @g phase lowered {\n  input %c : float32[2,3,5,5] ND" + NORM
CONV_BATCH_NORM = (
    f"""
graph @g phase lowered {{
  input %c0 : float32[2,4,5,5] ND
  {_line("w", 3, 4, 3, 3)}
  {_line("b", 3)}
  %c = Conv2D(%c0, %w, %b) {{pads=[1,1,1,1], strides=[1,1,1,1]}} : float32[2,3,5,5] ND"""
    + NORM
)
DEPTHWISE = f"""
graph @g phase lowered {{
  input %c : float32[2,3,5,5] ND
  {_line("w", 6, 1, 3, 3)}
  %y = Conv2D(%c, %w) {{groups=3, pads=[1,1,1,1], strides=[1,1,1,1]}} : float32[2,6,5,5] ND
  output %y
}}
"""
DEAD = """
graph @g phase lowered {
  input %c : float32[2,3] ND
  %y = Relu(%c) : float32[2,3] ND
  %a = Exp(%c) : float32[2,3] ND
  %b = Sqrt(%a) : float32[2,3] ND
  output %y
}
"""
CASES: dict[str, tuple[type[Pass], str, int]] = {
    "batch norm": (BatchNormToBnInferPass, BATCH_NORM, 0),
    "convolution with batch norm": (FuseConvBatchNormPass, CONV_BATCH_NORM, 6),
    "depthwise": (RewriteDepthwiseConvPass, DEPTHWISE, 0),
    "dead code": (EliminateDeadCodePass, DEAD, 0),
}
"""Pass, graph, and how many of its float16 roundings move; 0 keeps every bit."""


@pytest.mark.parametrize("mode", ["force_fp16", "must_keep_origin_dtype"])
@pytest.mark.parametrize("case", CASES)
def test_operator_is_rewritten_and_numbers_stay(case: str, mode: str, run_pass: RunPass) -> None:
    step, text, roundings = CASES[case]
    graph, changes = run_pass(step, text)
    assert changes > 0
    extents = graph.inputs[0].type.shape
    feeds = {graph.inputs[0].name: np.random.default_rng(2).normal(size=extents).astype(np.float32)}
    found, wanted = results(graph, feeds, mode)["y"], results(text, feeds, mode)["y"]
    if not roundings:
        assert found.tobytes() == wanted.tobytes()
        return
    # weights, bias, the convolution's result, and each side's own result are rounded
    scale = float(np.abs(wanted).max())
    bound = roundings * scale * (2.0**-11 if mode == "force_fp16" else 2.0**-20)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=bound)
    assert np.abs(found - 1.02 * wanted).max() > bound


def test_batch_norm_becomes_bn_infer(run_pass: RunPass) -> None:
    graph, changes = run_pass(BatchNormToBnInferPass, BATCH_NORM)
    assert (changes, [node.op for node in graph.nodes]) == (1, ["BNInfer"])
    assert graph.nodes[0].attributes == {"epsilon": pytest.approx(0.001)}


def test_graph_without_batch_norm_is_left_alone(run_pass: RunPass) -> None:
    graph, changes = run_pass(BatchNormToBnInferPass, DEAD)
    assert (changes, len(graph.nodes)) == (0, 3)
