"""The two rewrites of grouped convolutions."""

import numpy as np
import pytest

from atc_py.passes.fusion.rewrite_depthwise_conv import RewriteDepthwiseConvPass
from atc_py.passes.fusion.split_grouped_conv import SplitGroupedConvPass
from tests.passes.conftest import RunPass

TEXT = """
graph @g phase lowered {
  input %x : float32[1,4,3,3] ND
  const %w : float32[4,2,1,1] ND = dense [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
  const %b : float32[4] ND = dense [1.0, 2.0, 3.0, 4.0]
  %y = Conv2D(%x, %w, %b) {groups=2, pads=[0,0,0,0], strides=[1,1,1,1]} : float32[1,4,3,3] ND from [0 "c" Conv]
  output %y
}
"""


def test_grouped_convolution_becomes_split_convolutions_and_concat(run_pass: RunPass) -> None:
    graph, changes = run_pass(SplitGroupedConvPass, TEXT)
    assert changes == 1
    assert [node.op for node in graph.nodes] == ["SplitVD", "Conv2D", "Conv2D", "ConcatD"]
    second = graph.nodes[2]
    filter_, bias = second.inputs[1], second.inputs[2]
    assert filter_ is not None
    assert filter_.const is not None
    assert bias is not None
    assert bias.const is not None
    np.testing.assert_array_equal(filter_.const.numpy().ravel(), [5.0, 6.0, 7.0, 8.0])
    np.testing.assert_array_equal(bias.const.numpy(), [3.0, 4.0])
    assert second.inputs[0] is graph.nodes[0].outputs[1]
    assert graph.outputs[0].type.shape == (1, 4, 3, 3)
    assert all(node.origins[0].name == "c" for node in graph.nodes)


@pytest.mark.parametrize(
    "soc", ["Ascend310", "Ascend310P3", "Ascend310B1", "Ascend610", "Ascend910A", "Ascend910B3"]
)
def test_grouped_convolution_is_one_node_where_a_kernel_takes_groups(
    run_pass: RunPass, soc: str
) -> None:
    """Check that nothing is split for CANN: Conv2D takes `groups`, in one launch, on all SoCs."""
    graph, changes = run_pass(SplitGroupedConvPass, TEXT, soc=soc)
    assert changes == 0
    assert [node.op for node in graph.nodes] == ["Conv2D"]
    assert graph.nodes[0].attributes["groups"] == 2


def test_computed_filter_is_split_by_a_node(run_pass: RunPass) -> None:
    text = TEXT.replace(
        "const %w : float32[4,2,1,1] ND = dense [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]",
        "input %w : float32[4,2,1,1] ND",
    )
    graph, _ = run_pass(SplitGroupedConvPass, text)
    assert [node.op for node in graph.nodes].count("SplitVD") == 2


def test_plain_convolution_is_left_alone(run_pass: RunPass) -> None:
    text = TEXT.replace("groups=2, ", "").replace(
        "float32[1,4,3,3] ND\n  const", "float32[1,2,3,3] ND\n  const"
    )
    assert run_pass(SplitGroupedConvPass, text)[1] == 0
    assert run_pass(RewriteDepthwiseConvPass, text)[1] == 0


def test_one_group_per_channel_becomes_depthwise(run_pass: RunPass) -> None:
    text = TEXT.replace("float32[1,4,3,3] ND\n  const", "float32[1,2,3,3] ND\n  const").replace(
        "float32[4,2,1,1] ND = dense [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]",
        "float32[4,1,1,1] ND = dense [1.0, 2.0, 3.0, 4.0]",
    )
    graph, changes = run_pass(RewriteDepthwiseConvPass, text)
    assert changes == 1
    assert graph.nodes[0].op == "DepthwiseConv2D"
    assert "groups" not in graph.nodes[0].attributes


def test_two_channels_per_group_are_not_depthwise(run_pass: RunPass) -> None:
    graph, changes = run_pass(RewriteDepthwiseConvPass, TEXT)
    assert (changes, graph.nodes[0].op) == (0, "Conv2D")
