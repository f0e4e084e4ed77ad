"""Convolution with one group per input channel becomes DepthwiseConv2D."""

from atc_py.ir import Graph, Node
from atc_py.passes.base import Pass, PassContext
from atc_py.spec.rewrites import performs


@performs("split-groups")
class RewriteDepthwiseConvPass(Pass):
    """Conv2D(groups = C) = DepthwiseConv2D when the filter has one input channel.

    The operator list allows Conv only with group 1; this is one of the two rewrites into what it
    allows.
    """

    def run(self, graph: Graph, context: PassContext) -> int:
        matches = [node for node in graph.nodes if _is_depthwise(node)]
        for node in matches:
            node.op = "DepthwiseConv2D"
            node.attributes.pop("groups")
        return len(matches)


def _is_depthwise(node: Node) -> bool:
    if node.op != "Conv2D":
        return False
    groups, x = node.attributes.get("groups", 1), node.input(0)
    return groups != 1 and x is not None and x.type.dims[1] == groups
