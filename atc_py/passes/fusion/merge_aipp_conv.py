"""AIPP shares the launch of the convolution that reads its images.

The copy into L1 does its work there, so that the images never are in device memory. Nothing is rounded
otherwise than in launches of their own.
"""

from collections.abc import Sequence

from atc_py.ir import Engine, Graph, Node
from atc_py.passes.base import Miss, Pass, PassContext
from atc_py.passes.fusion.matching import scalar
from atc_py.passes.fusion.merge_kernels import any_open, only_reader
from atc_py.target import Soc
from atc_py.target.soc import Isa
from atc_py.target.stored_nodes import numbers_of
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

_TAKEN_BY = {Isa.V100, Isa.V200, Isa.V300}
"""The guide to CANN's rules names 310P, 310B and 910; what atc wrote for 310 has TbeAippConvZ."""

_RELUS = frozenset({"Relu", "LeakyRelu"})
_CLIP = "ClipByValue"
_UNIT = (1, 1)


class MergeAippConvPass(Pass):
    """Aipp, the TransData of its images, Conv2D and a relu of it get one scope.

    Conditions are those of CANN's TbeAippCommonFusionPass but the size of L1: settings are in the model
    and pad nothing, and the convolution is not 1 by 1 without strides and padding, and higher than its
    padding. Functions of its launch from the first one that is not a relu on become a launch of their own.
    """

    def run(self, graph: Graph, context: PassContext) -> int:
        if context.soc.isa not in _TAKEN_BY:
            return 0
        record = context.fusions[self.row.name]
        count = 0
        for aipp in [node for node in graph.nodes if node.op == "Aipp"]:
            chain, reason = _chain(aipp)
            if reason:
                origins = tuple(origin.name for origin in aipp.origins)
                record.missed(
                    Miss(reason, chain[-1].name, origins, len(chain), aipp.name), matched=False
                )
                continue
            _join(graph, chain, context.soc)
            record.applied()
            count += 1
        return count


def _chain(aipp: Node) -> tuple[list[Node], str]:
    """Aipp, what converts its storage, and the convolution; and why they stay apart, if they do."""
    chain = [aipp]
    if aipp.engine is not Engine.AICORE or aipp.attributes.get("aipp_mode") != "static":
        return chain, Text("settings of AIPP must be in the model, and its kernel on the AI Core")
    if aipp.attributes.get("padding") or aipp.output.type.dtype is not DType.FLOAT16:
        return chain, Text("AIPP must give float16 without padding")
    while chain[-1].op != "Conv2D":
        reason, reader = only_reader(chain[-1])
        if reader is None:
            return chain, reason
        if (
            reader.op not in {"TransData", "Conv2D"}
            or reader.present_inputs[0] is not chain[-1].output
        ):
            return chain, Text("a convolution must read the images, found {op}", op=reader.op)
        chain.append(reader)
    return chain, _refused(chain[-1])


def _refused(conv: Node) -> str:
    types = [value.type for value in (*conv.present_inputs, *conv.outputs)]
    if conv.engine is not Engine.AICORE or any_open(types):
        return Text("dims of the convolution must be known, and its kernel on the AI Core")
    kernel, pads = types[1].shape[2:], numbers_of(conv.attributes["pads"])
    if kernel == _UNIT and numbers_of(conv.attributes["strides"])[2:] == _UNIT and not any(pads):
        return Text("a 1x1 convolution loads its images in another way")
    if kernel[0] <= max(pads[:2]):
        return Text(
            "the kernel must be higher than its padding, found {height} and {pads}",
            height=kernel[0],
            pads=list(pads),
        )
    return ""


def _join(graph: Graph, chain: Sequence[Node], soc: Soc) -> None:
    conv = chain[-1]
    free = max((node.scope for node in graph.nodes), default=0) + 1
    members = [node for node in graph.nodes if conv.scope and node.scope == conv.scope]
    after = members[members.index(conv) + 1 :] if members else []
    kept = next((at for at, node in enumerate(after) if not _is_relu(node, soc)), len(after))
    cut = after[kept:]
    for node in cut:
        node.scope = free + 1 if len(cut) > 1 else 0
    for node in (*chain, *after[:kept]):
        node.scope = free


def _is_relu(node: Node, soc: Soc) -> bool:
    if node.op == _CLIP:
        return scalar(node.input(1)) == 0
    return node.op in _RELUS or (soc.fix_pipe and node.op in soc.fix_pipe_functions)
