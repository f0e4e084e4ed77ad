"""Conversions of the cube's sums are launched together with the operator that computed them.

A SoC whose cube reaches the unified buffer converts sums there, goes on with functions of each
element and may quantize the result again. Elsewhere the fix pipe converts them as it stores them,
and applies one function after that.
"""

from typing import ClassVar

from atc_py.ir import Engine, Graph, Node
from atc_py.passes.base import PassContext
from atc_py.passes.fusion.merge_kernels import MergePass, any_open, in_float32, only_reader
from atc_py.target import Soc, find_operator
from atc_py.target.soc import IMAGE_CONVS
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

_QUANT = "AscendQuant"
_BIAS = 2
_NARROW = frozenset({DType.FLOAT16, DType.BFLOAT16})


class ConversionPass(MergePass):
    """A cube operator, one conversion of its sums and what follows it get one scope.

    Nothing is rounded otherwise than in launches of their own.
    """

    families = frozenset({"conv", "matmul"})
    conversions: ClassVar[frozenset[str]]  # operators that convert

    def run(self, graph: Graph, context: PassContext) -> int:
        return super().run(graph, context) if context.soc.conversion_fusion else 0

    def _is_head(self, node: Node, soc: Soc) -> bool:
        row = find_operator(node.op)
        if row is None or row.family not in self.families or node.engine is not Engine.AICORE:
            return False
        sums = node.output.type.dtype in {DType.INT32, DType.FLOAT32}
        return sums and not any_open([value.type for value in node.present_inputs])

    def _members(self, head: Node, soc: Soc) -> tuple[list[Node], str, Node]:
        """The conversion and what follows it, why no more does, and the node to blame."""
        reason, node = only_reader(head)
        if node is None:
            return [], reason, head
        reason = self._refused(head, node, soc)
        if reason:
            return [], reason, node
        members, reason, at = [node], "", node
        if node.output.type.dtype.is_float:
            functions, reason, at = self._functions(head, node, soc)
            members += functions
        _, last = only_reader(members[-1])
        if last is not None and last.op == _QUANT and soc.ub_fusion and _goes_along(last, node):
            members.append(last)
        return members, reason, at

    def _refused(self, head: Node, node: Node, soc: Soc) -> str:
        if node.op not in self.conversions or node.input(0) is not head.output:
            return Text(
                "{conversions} must read the sums, found {op}",
                conversions=Text(" or ").join(sorted(self.conversions)),
                op=node.op,
            )
        if node.engine is not Engine.AICORE or node.scope or not _goes_along(node, head):
            return Text(
                "{op} must run on the AI Core and keep the storage, found {node}",
                op=node.op,
                node=repr(node),
            )
        made = node.output.type.dtype
        casts = soc.fix_pipe and not soc.fix_pipe_half_images
        if node.op == "Cast" and not (casts and made in _NARROW):
            return Text(
                "a fix pipe must narrow the sums, found {made} on {soc}",
                made=made.value,
                soc=soc.name,
            )
        if made is DType.FLOAT32 and not soc.ub_fusion:
            return Text(
                "the fix pipe of {soc} makes float16 of sums, found {made}",
                soc=soc.name,
                made=made.value,
            )
        return ""


class MergeDequantPass(ConversionPass):
    """Convolution or product, AscendDequant or Cast, functions, AscendQuant are one launch.

    A fix pipe alone narrows sums of floats, and it has one function and no AscendQuant after a
    conversion.
    """

    conversions = frozenset({"AscendDequant", "Cast"})


class MergeRequantPass(ConversionPass):
    """Convolution or product and AscendRequant are one launch.

    On Ascend950 so are a float16 convolution of images and AscendQuant, and its sums are rounded
    once: Conv2DPostCubeToExtendConv2DFusionPass of ops-nn. That takes int8 codes and scales that are
    not negative. That the pipe adds the offset before it rounds, as AscendQuant does, is inferred.
    """

    conversions = frozenset({"AscendRequant"})

    def run(self, graph: Graph, context: PassContext) -> int:
        changed = super().run(graph, context)
        for conv in graph.nodes:
            if conv.scope and _quant_of_sums(conv, context.soc) is not None:
                conv.output.type = conv.output.type.with_dtype(DType.FLOAT32)
                bias = conv.input(_BIAS)
                if bias is not None and bias.const is not None:
                    data = in_float32(bias.const)
                    conv.set_input(_BIAS, graph.constant(bias.name, data, like=bias.type))
        return changed

    def _is_head(self, node: Node, soc: Soc) -> bool:
        return super()._is_head(node, soc) or _quant_of_sums(node, soc) is not None

    def _members(self, head: Node, soc: Soc) -> tuple[list[Node], str, Node]:
        quant = _quant_of_sums(head, soc)
        return super()._members(head, soc) if quant is None else ([quant], "", head)


def _quant_of_sums(conv: Node, soc: Soc) -> Node | None:
    """The AscendQuant that alone reads a float16 convolution and joins it in the pipe of `soc`."""
    if conv.op not in IMAGE_CONVS or not soc.fix_pipe_half_images:
        return None
    values, bias = (*conv.present_inputs, conv.output), conv.input(_BIAS)
    _, quant = only_reader(conv)
    if quant is None or quant.op != _QUANT or quant.scope != conv.scope:
        return None
    known = {value.type.dtype for value in values} == {DType.FLOAT16} and (
        bias is None or bias.const is not None
    )
    if not known or any_open([value.type for value in values]):
        return None
    if {conv.engine, quant.engine} != {Engine.AICORE} or not _goes_along(quant, conv):
        return None
    scale = quant.attributes["scale"]
    positive = isinstance(scale, float) and scale >= 0
    return quant if positive and quant.output.type.dtype is DType.INT8 else None


def _goes_along(node: Node, before: Node) -> bool:
    """True if a node gives elements of known places one for one, and no others."""
    made, had = node.output.type, before.output.type
    return made.storage == had.storage and made.dims == had.dims and not made.is_open
