"""Grouped convolution becomes a split, one convolution per group, and a concatenation."""

import msgspec

from atc_py.ir import AttrValue, DeferredConst, Graph, Node, TensorType, Value
from atc_py.passes.base import Pass, PassContext
from atc_py.spec.rewrites import performs
from atc_py.tensor.shapes import closed_shape
from atc_py.text import Text

_CONVOLUTIONS = ("Conv2D", "Conv3D")


@performs("split-groups")
class SplitGroupedConvPass(Pass):
    """Conv2D(x, W, b, o; groups = G) = Concat_g Conv2D(x_g, W_g, b_g, o_g) along channels.

    Alike for Conv3D.

    x_g are C / G channels of x, W_g and b_g the O / G output channels of group g, and o_g the
    offsets of their weights; one for all channels serves each group. The operator list allows Conv
    only with group 1; this is one of the two rewrites into what it allows. SoCs whose Conv2D takes
    its groups in one launch, as that of CANN does, keep the node.
    """

    def run(self, graph: Graph, context: PassContext) -> int:
        if context.soc.storage.grouped_conv:
            return 0
        grouped = [
            node
            for node in graph.nodes
            if node.op in _CONVOLUTIONS and node.attributes.get("groups", 1) != 1
        ]
        for node in grouped:
            node.output.replace_by(_split(graph, node))
        graph.remove_nodes(grouped)
        return len(grouped)


def _split(graph: Graph, conv: Node) -> Value:
    groups = int(conv.attributes["groups"])  # type: ignore[arg-type]  # verified: an int
    x, filter_, bias = conv.input(0), conv.input(1), conv.input(2)
    if x is None or filter_ is None:
        raise ValueError(Text("{conv} lacks an input", conv=repr(conv)))
    cutter = _Cutter(graph, conv, groups)
    xs = cutter.cut(x, axis=1)
    filters = cutter.cut(filter_, axis=0)
    biases = cutter.cut(bias, axis=0) if bias is not None else [None] * groups
    offsets = cutter.cut_offsets(conv.input(3))
    attributes = {**conv.attributes, "groups": 1}
    type_ = _divided(conv.output.type, 1, groups)
    parts = []
    for group in range(groups):
        inputs = [xs[group], filters[group], biases[group], offsets[group]]
        while inputs[-1] is None:
            inputs.pop()
        name = f"{conv.output.name}.group{group}"
        node = graph.add_node(conv.op, inputs, [(name, type_)], attributes, conv.origins)
        parts.append(node.output)
    joined = {"concat_dim": 1, "N": groups}
    outputs = [(f"{conv.output.name}.joined", conv.output.type)]
    return graph.add_node("ConcatD", parts, outputs, joined, conv.origins).output


class _Cutter(msgspec.Struct, frozen=True):
    """Cuts values of one convolution into equal parts."""

    graph: Graph
    conv: Node
    groups: int

    def cut(self, value: Value, axis: int) -> list[Value]:
        """`value` in equal parts along `axis`; a constant is cut without a node."""
        if value.const is not None:
            return [self._cut_constant(value, axis, group) for group in range(self.groups)]
        type_ = _divided(value.type, axis, self.groups)
        outputs = [(f"{value.name}.part{group}", type_) for group in range(self.groups)]
        dims = closed_shape(type_.dims[axis : axis + 1]) * self.groups
        attributes: dict[str, AttrValue] = {
            "size_splits": dims,
            "split_dim": axis,
            "num_split": self.groups,
        }
        node = self.graph.add_node("SplitVD", [value], outputs, attributes, self.conv.origins)
        return list(node.outputs)

    def cut_offsets(self, offset: Value | None) -> list[Value | None]:
        """Offset_w in parts, where it is there; a single element is for all channels."""
        if offset is None or offset.type.dims == (1,):
            return [offset] * self.groups
        return [*self.cut(offset, axis=0)]

    def _cut_constant(self, value: Value, axis: int, group: int) -> Value:
        if value.const is None:
            raise ValueError(Text("{value} is not a constant", value=repr(value)))
        part = _divided(value.type, axis, self.groups)
        dim = part.shape[axis]
        index = (slice(None),) * axis + (slice(group * dim, (group + 1) * dim),)
        data = DeferredConst(
            part.dtype, part.shape, [value.const], lambda array: array[index], f"group {group}"
        )
        return self.graph.constant(f"{value.name}.group{group}", data)


def _divided(type_: TensorType, axis: int, parts: int) -> TensorType:
    (dim,) = closed_shape(type_.dims[axis : axis + 1])
    dims = (*type_.dims[:axis], dim // parts, *type_.dims[axis + 1 :])
    return TensorType(type_.dtype, dims, type_.format)
