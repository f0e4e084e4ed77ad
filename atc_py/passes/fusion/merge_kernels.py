"""Functions of each element are launched together with what computes their operand.

CANN calls it UB fusion: the graph stays as it is, and nodes with one scope become one kernel, whose
functions work on what is still in the unified buffer. Nothing is rounded otherwise than before.
Where cube and vector unit share no buffer, the fix pipe alone works on what leaves the cube.
"""

from typing import ClassVar

from atc_py.ir import Engine, Graph, Node, TensorType
from atc_py.passes.base import Miss, Pass, PassContext
from atc_py.passes.fusion.matching import listed_readers, scalar
from atc_py.target import VIEWS, Soc, Unit, find_operator
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import element_count
from atc_py.text import Text

ELEMENTWISE = frozenset({"unary", "binary"})
"""Families of operators that are functions of each element."""

_MOST = 16
"""Nodes after a head: the code of a kernel and what it reads from outside are bounded."""


class MergePass(Pass):
    """A head and the functions of each element after it get one scope.

    Each is the only reader of the result before it, which is not a model output; all have one float
    dtype and one storage and run on the AI Core. Other operands are single numbers, tensors of the
    result's size, or, where `repeats` says so, what is repeated along axes of the head's own dims.
    A SoC whose cube has no way into the unified buffer has one function of its fix pipe after a
    cube operator.

    Attributes:
        families: template families of the heads.
        repeats: whether parts of a head's result are seen with its own dims.
    """

    families: ClassVar[frozenset[str]]
    repeats: ClassVar[bool] = False

    def run(self, graph: Graph, context: PassContext) -> int:
        """Give every chain a scope; returns how many chains there are."""
        record = context.fusions.of(self.row.name)
        scope = max((node.scope for node in graph.nodes), default=0)
        first = scope
        for head in graph.nodes:
            if head.scope or not self._is_head(head):
                continue
            members, reason, at = self._members(head, context.soc)
            if members:
                scope += 1
                for node in (head, *members):
                    node.scope = scope
                record.applied()
            else:
                origins = tuple(origin.name for origin in at.origins)
                depth = 2 if at is not head and _is_function(at) else 1
                record.missed(Miss(reason, at.name, origins, depth, head.name), matched=False)
        return scope - first

    def _is_head(self, node: Node) -> bool:
        """True if `node` computes one tensor of floats of known dims on the AI Core."""
        row = find_operator(node.op)
        if row is None or row.family not in self.families or node.engine is not Engine.AICORE:
            return False
        types = [value.type for value in (*node.present_inputs, *node.outputs)]
        return len(node.outputs) == 1 and types[-1].dtype.is_float and not any_open(types)

    def _members(self, head: Node, soc: Soc) -> tuple[list[Node], str, Node]:
        """The nodes that follow `head`, why no more do, and the node to blame."""
        return self._functions(head, head, soc)

    def _functions(self, head: Node, start: Node, soc: Soc) -> tuple[list[Node], str, Node]:
        """The functions after `start` in the launch of `head`, as `_members` does.

        Views between functions belong to the launch as well; after the last function they do not.
        """
        found: list[Node] = []
        count, before = 0, start
        while True:
            reason, reader = only_reader(before)
            if reader is None:
                return found[:count], reason, before
            if len(found) == _MOST:
                return (
                    found[:count],
                    Text("a launch holds at most {most} nodes after its head", most=_MOST),
                    reader,
                )
            if reader.op not in VIEWS:
                reason = self._unfit(start, before, reader) or _unreached(head, count, reader, soc)
                if reason:
                    return found[:count], reason, reader
                count = len(found) + 1
            found.append(reader)
            before = reader

    def _unfit(self, head: Node, before: Node, node: Node) -> str:
        """The reason why `node` is not an elementwise function that the head's launch can do."""
        value, result = before.output, node.output.type
        if not _is_function(node):
            return Text("a function of each element must follow, found {op}", op=node.op)
        if node.engine is not Engine.AICORE or node.scope:
            return Text("{op} must run on the AI Core in no other launch", op=node.op)
        types = [operand.type for operand in (*node.present_inputs, *node.outputs)]
        if any_open(types) or {each.dtype for each in types} != {head.output.type.dtype}:
            return Text(
                "all must be {dtype} of known dims, found {node}",
                dtype=head.output.type.dtype.value,
                node=repr(node),
            )
        size = element_count(head.output.type.shape)
        if element_count(result.shape) != size or result.storage != head.output.type.storage:
            return Text(
                "the result must keep {size} elements and their storage, found {result}",
                size=size,
                result=result,
            )
        for operand in node.present_inputs:
            repeated = self.repeats and result.dims == head.output.type.dims
            if operand is not value and not repeated:
                count = element_count(operand.type.shape)
                if count not in {1, size}:
                    return Text(
                        "the other operand must have 1 or {size} elements, found {type}",
                        size=size,
                        type=operand.type,
                    )
        return ""


class MergeConvElemwisePass(MergePass):
    """Convolution, bias and functions of each element, such as Relu, are one launch."""

    families = frozenset({"conv"})


class MergeMatmulElemwisePass(MergePass):
    """Matrix product, bias and functions of each element are one launch."""

    families = frozenset({"matmul"})
    repeats = True


class MergeElemwisePass(MergePass):
    """Functions of each element that follow one another are one launch."""

    families = ELEMENTWISE


def _is_function(node: Node) -> bool:
    """True if a node is a function of each element on the vector unit."""
    row = find_operator(node.op)
    return row is not None and row.family in ELEMENTWISE and row.unit is Unit.VECTOR


def _unreached(head: Node, count: int, node: Node, soc: Soc) -> str:
    """The reason why a SoC does not apply `node` after `count` nodes in the launch of the head."""
    row = find_operator(head.op)
    if row is None or row.unit is not Unit.CUBE:
        return (
            ""
            if soc.vector_fusion
            else Text("{soc} launches vector operators one by one", soc=soc.name)
        )
    if soc.ub_fusion:
        return ""
    if not soc.fix_pipe_functions:
        return Text(
            "{soc} has no path from the cube to the vector unit within a core", soc=soc.name
        )
    if count or not _is_of_fix_pipe(node, soc):
        known = ", ".join(sorted(soc.fix_pipe_functions))
        return Text(
            "after the cube {soc} applies only one of {known}, found {node}",
            soc=soc.name,
            known=known,
            node=repr(node),
        )
    return ""


def _is_of_fix_pipe(node: Node, soc: Soc) -> bool:
    """True if a SoC's fix pipe applies a function: a clipped relu is one from 0 up."""
    if node.op not in soc.fix_pipe_functions:
        return False
    if node.op == "ClipByValue" and scalar(node.input(1)) != 0:
        return False
    return node.op == "Relu" or node.output.type.dtype is DType.FLOAT16


def only_reader(node: Node) -> tuple[str, Node | None]:
    """The one node that reads the result of `node`; else why there is none."""
    value = node.output
    if value.is_output:
        return Text("%{output} is an output of the model", output=value.name), None
    readers = value.consumers
    if len(readers) != 1:
        return Text(
            "one node must read %{value}, found {listed_readers}",
            value=value.name,
            listed_readers=listed_readers(readers),
        ), None
    return "", readers[0]


def any_open(types: list[TensorType]) -> bool:
    """True if a dim of one of the types is known to the run alone."""
    return any(type_.is_open for type_ in types)
