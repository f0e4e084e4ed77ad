"""Folding batch normalization into convolutions."""

import numpy as np
import pytest

from atc_py.ir import DenseConst, Graph
from atc_py.passes.fusion.fuse_conv_batch_norm import FuseConvBatchNormPass
from tests.passes.conftest import RunPass

CONV = "{pads=[0,0,0,0], strides=[1,1,1,1]}"
TEXT = f"""
graph @g phase lowered {{
  input %x : float32[1,1,2,2] ND
  const %w : float32[2,1,1,1] ND = dense [1.0, -2.0]
  const %b : float32[2] ND = dense [0.5, 1.0]
  const %scale : float32[2] ND = dense [2.0, 3.0]
  const %offset : float32[2] ND = dense [0.25, -0.25]
  const %mean : float32[2] ND = dense [1.0, -1.0]
  const %variance : float32[2] ND = dense [4.0, 9.0]
  %y = Conv2D(%x, %w, %b) {CONV} : float32[1,2,2,2] ND from [3 "conv" Conv]
  %z = BatchNorm(%y, %scale, %offset, %mean, %variance) {{epsilon=0.0}} : float32[1,2,2,2] ND from [4 "bn" BatchNormalization]
  output %z
}}
"""


def test_filter_and_bias_take_scale_and_shift(run_pass: RunPass) -> None:
    graph, changes = run_pass(FuseConvBatchNormPass, TEXT)
    (conv,) = graph.nodes
    assert changes == 1
    assert conv.op == "Conv2D"
    # k = scale / sqrt(variance) = [1, 1]; W' = W k; b' = (b - mean) k + offset
    np.testing.assert_array_equal(_data(graph, 1).ravel(), [1.0, -2.0])
    np.testing.assert_array_equal(_data(graph, 2), [-0.25, 1.75])


def test_fused_node_keeps_both_origins_and_the_output_name(run_pass: RunPass) -> None:
    graph, _ = run_pass(FuseConvBatchNormPass, TEXT)
    assert [origin.op_type for origin in graph.nodes[0].origins] == ["Conv", "BatchNormalization"]
    assert graph.outputs[0].name == "z"


def test_convolution_without_bias_gets_one(run_pass: RunPass) -> None:
    text = TEXT.replace("(%x, %w, %b)", "(%x, %w)").replace("%b : ", "%unused : ", 1)
    graph, _ = run_pass(FuseConvBatchNormPass, text)
    np.testing.assert_array_equal(_data(graph, 2), [-0.75, 0.75])


def test_transposed_convolution_scales_the_second_filter_axis(run_pass: RunPass) -> None:
    text = (
        TEXT.replace(
            "float32[2,1,1,1] ND = dense [1.0, -2.0]", "float32[1,2,1,1] ND = dense [1.0, -2.0]"
        )
        .replace("Conv2D", "Conv2DTransposeD")
        .replace("{pads", "{input_size=[1,2,2,2], pads")
        .replace("dense [4.0, 9.0]", "dense [1.0, 9.0]")
    )
    graph, changes = run_pass(FuseConvBatchNormPass, text)
    assert changes == 1
    np.testing.assert_array_equal(_data(graph, 1).ravel(), [2.0, -2.0])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("output %z", "output %z\n  output %y"),
        ("  output %z", "  %other = Relu(%y) : float32[1,2,2,2] ND\n  output %z\n  output %other"),
        ("const %w : float32[2,1,1,1] ND = dense [1.0, -2.0]", "input %w : float32[2,1,1,1] ND"),
        ("const %mean : float32[2] ND = dense [1.0, -1.0]", "input %mean : float32[2] ND"),
        ("%y = Conv2D(%x, %w, %b) " + CONV, "%y = Relu(%x) {}"),
    ],
    ids=["result handed out", "second consumer", "filter computed", "mean computed", "no conv"],
)
def test_nothing_is_folded_when(run_pass: RunPass, old: str, new: str) -> None:
    text = TEXT.replace(old, new)
    assert text != TEXT
    if "Relu(%x)" in new:
        text = text.replace("float32[1,1,2,2]", "float32[1,2,2,2]")
    _, changes = run_pass(FuseConvBatchNormPass, text)
    assert changes == 0


def test_epsilon_is_added_to_the_variance(run_pass: RunPass) -> None:
    graph, _ = run_pass(FuseConvBatchNormPass, TEXT.replace("epsilon=0.0", "epsilon=5.0"))
    expected = np.array([2 / 3, 3 / np.sqrt(14)]) * [1.0, -2.0]
    np.testing.assert_allclose(_data(graph, 1).ravel(), expected, rtol=1e-7)


def test_folding_reads_no_weights_before_they_are_asked_for(run_pass: RunPass) -> None:
    text = TEXT.replace("dense [1.0, -2.0]", 'opaque "file"')
    graph, changes = run_pass(FuseConvBatchNormPass, text)
    assert changes == 1
    const = graph.nodes[0].inputs[1]
    assert const is not None
    assert not isinstance(const.const, DenseConst)


def test_statistics_of_another_length_are_not_folded(run_pass: RunPass) -> None:
    text = TEXT.replace(
        "const %mean : float32[2] ND = dense [1.0, -1.0]",
        "const %mean : float32[1] ND = dense [1.0]",
    )
    assert run_pass(FuseConvBatchNormPass, text)[1] == 0


def test_factor_beyond_float16_is_multiplied_before_it_is_rounded(run_pass: RunPass) -> None:
    text = TEXT.replace("float32", "float16").replace("dense [1.0, -2.0]", "dense [0.0001, 0.0]")
    text = text.replace("dense [2.0, 3.0]", "dense [300.0, 300.0]").replace(
        "dense [4.0, 9.0]", "dense [0.0, 0.0]"
    )
    graph, _ = run_pass(FuseConvBatchNormPass, text.replace("epsilon=0.0", "epsilon=1e-05"))
    expected = np.float64(np.float16(0.0001)) * 300 / np.sqrt(1e-05)
    assert _data(graph, 1).ravel()[0] == np.float16(expected)
    assert _data(graph, 1).ravel()[1] == 0


def _data(graph: Graph, position: int) -> np.ndarray:
    """Return the constant at an input of the first node."""
    value = graph.nodes[0].inputs[position]
    assert value is not None
    assert value.const is not None
    return np.asarray(value.const.numpy())
