"""Functions of each element are launched together with what computes their operand.

CANN calls it UB fusion: the graph stays as it is, and nodes with one scope become one kernel, whose
functions work on what is still in the unified buffer. Where cube and vector unit share no buffer,
the fix pipe alone works on what leaves the cube. Nothing is rounded otherwise than before, but that
slopes of PRelu are not rounded to the dtype of the data in a fix pipe.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from atc_py.ir import (
    CastConst,
    ConstData,
    Engine,
    Graph,
    Node,
    TensorType,
    Value,
    launches_in,
    producers_first,
)
from atc_py.passes.base import Miss, Pass, PassContext
from atc_py.passes.fusion.matching import listed_readers, scalar
from atc_py.target import VIEWS, Soc, Unit, find_operator, unit_of
from atc_py.target.soc import IMAGE_CONVS, SLOPED, SUMS, fix_pipe_length
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import element_count
from atc_py.text import Text

ELEMENTWISE = frozenset({"unary", "binary"})
"""Families of operators that are functions of each element."""

BY_CHANNEL = frozenset({SLOPED, "BNInferenceD"})
"""Functions of each element with constants for each channel, which have conditions of their own."""

MOST = 16
"""Nodes after a head: the code of a kernel and what it reads from outside are bounded."""


class MergePass(Pass):
    """A head and the functions of each element after it get one scope.

    Each is the only reader of the result before it, which is not a model output; all have one float
    dtype and one storage and run on the AI Core. Other operands are single numbers, tensors of the
    result's size, or, where `repeats` says so, what is repeated along axes of the head's own dims.
    A SoC whose cube has no way into the unified buffer has the functions of its fix pipe after a
    cube operator. PRelu joins in a fix pipe, and on vector cores where the SoC says so.
    """

    families: ClassVar[frozenset[str]]  # template families of the heads
    repeats: ClassVar[bool] = False  # whether parts of a head's result are seen with its own dims

    def run(self, graph: Graph, context: PassContext) -> int:
        record = context.fusions[self.row.name]
        scope = max((node.scope for node in graph.nodes), default=0)
        first = scope
        slopes = _Slopes(graph)
        for head in graph.nodes:
            if head.scope or not self._is_head(head, context.soc):
                continue
            members, reason, at = self._members(head, context.soc)
            if members:
                scope += 1
                for node in (head, *members):
                    node.scope = scope
                if unit_of(head.op) is Unit.CUBE:
                    slopes.widen(members)
                record.applied()
            else:
                depth = 2 if at is not head and is_function(at) else 1
                record.missed(Miss.at(at, reason, depth, head.name), matched=False)
        return scope - first

    def _is_head(self, node: Node, soc: Soc) -> bool:
        row = find_operator(node.op)
        if row is None or node.engine is not Engine.AICORE:
            return False
        by_channel = self.families == ELEMENTWISE and node.op in BY_CHANNEL and soc.channel_fusion
        if row.family not in self.families and not by_channel:
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
            if len(found) == MOST:
                return (
                    found[:count],
                    Text("a launch holds at most {most} nodes after its head", most=MOST),
                    reader,
                )
            if reader.op not in VIEWS:
                functions = [node for node in found if node.op not in VIEWS]
                reason = self._unfit(start, before, reader) or unreached(
                    head, start, [*functions, reader], soc
                )
                if reason:
                    return found[:count], reason, reader
                count = len(found) + 1
            found.append(reader)
            before = reader

    def _unfit(self, head: Node, before: Node, node: Node) -> str:
        """The reason why `node` is not an elementwise function that the head's launch can do."""
        value, result = before.output, node.output.type
        if not is_function(node):
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
        if node.op in BY_CHANNEL:
            return _unfit_numbers(head, value, node)
        return self._unfit_operand(head, value, node)

    def _unfit_operand(self, head: Node, value: Value, node: Node) -> str:
        """The reason why an operand beside `value` is not read tile by tile as the result is."""
        size, dims = element_count(head.output.type.shape), node.output.type.dims
        for operand in node.present_inputs:
            repeated = self.repeats and dims == head.output.type.dims
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


class _Slopes:
    """Slopes of one graph as float32 constants, each made once."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._wide: dict[Value, Value] = {}

    def widen(self, functions: Sequence[Node]) -> None:
        """Give every PRelu its slopes as the model has them; those of other floats in float32."""
        for node in functions:
            value = node.input(1) if node.op == SLOPED else None
            if value is None or value.const is None or value.type.dtype is DType.FLOAT32:
                continue
            if value not in self._wide:
                data = in_float32(value.const)
                self._wide[value] = self._graph.constant(value.name, data, like=value.type)
            node.set_input(1, self._wide[value])


def in_float32(data: ConstData) -> ConstData:
    """A constant in float32; of one that was cast to fewer bits, what it was cast from."""
    while isinstance(data, CastConst) and data.source.dtype.is_float:
        data = data.source
    return data if data.dtype is DType.FLOAT32 else CastConst(data, DType.FLOAT32)


def is_function(node: Node) -> bool:
    row = find_operator(node.op)
    if row is None or row.unit is not Unit.VECTOR:
        return False
    return row.family in ELEMENTWISE or node.op in BY_CHANNEL


def _unfit_numbers(head: Node, value: Value, node: Node) -> str:
    """The reason why a launch has no place for the numbers of a function of channels."""
    if node.input(0) is not value or any(each.const is None for each in node.present_inputs[1:]):
        return Text("{op} must read the result and constants, found {node}").with_values(
            op=node.op, node=repr(node)
        )
    row, result = find_operator(head.op), head.output.type
    rows = row is not None and row.family == "matmul" and result.rank != len("mn")
    single = all(element_count(each.type.shape) == 1 for each in node.present_inputs[1:])
    if not single and (rows or node.output.type.dims != result.dims):
        return Text("numbers of {op} must be those of channels of {result}").with_values(
            op=node.op, result=result
        )
    return ""


def unreached(head: Node, start: Node, functions: Sequence[Node], soc: Soc) -> str:
    """The reason why the last of `functions` is not in the launch of `head`, all others being.

    What a fix pipe stores is in device memory: nothing joins by the unified buffer after one of its
    functions. That is inferred from a file for 310B, where a sum that the pipe does not do is apart.
    """
    node = functions[-1]
    alone = ""
    if node.op in BY_CHANNEL:
        alone = Text("{soc} launches {op} separately", soc=soc.name, op=node.op)
    if unit_of(head.op) is not Unit.CUBE:
        if not soc.vector_fusion:
            return Text("{soc} launches vector operators one by one", soc=soc.name)
        return "" if soc.channel_fusion else alone
    by_pipe = not soc.fix_pipe_half_images or head.op in IMAGE_CONVS
    pipe = soc.fix_pipe_functions if by_pipe else frozenset()
    done = _done_by_fix_pipe(functions, soc) if pipe else 0
    if done == len(functions):
        return ""
    if soc.ub_fusion and (done == 0 or head is not start):
        return alone
    if not pipe:
        return Text(
            "{soc} has no path from the cube to the vector unit within a core", soc=soc.name
        )
    known = ", ".join(sorted(pipe))
    if soc.fix_pipe_sums:
        text = Text("the fix pipe of {soc} does one of {known}, a sum, one more; found {node}")
    else:
        text = Text("after the cube {soc} applies only one of {known}, found {node}")
    return text.with_values(soc=soc.name, known=known, node=repr(node))


def _done_by_fix_pipe(functions: Sequence[Node], soc: Soc) -> int:
    """The number of functions at the front that the fix pipe of `soc` does."""
    named = [(node.op, node.output.type.dtype) for node in functions]
    length = fix_pipe_length(named, soc)
    return next((at for at, node in enumerate(functions[:length]) if not _fits_pipe(node)), length)


def _fits_pipe(node: Node) -> bool:
    """True if the fix pipe takes the operands of a function of its own.

    A clipped relu is one from 0 up. A sum is of tensors of equal dims and format. What ConcatD gives is not added there: so it is in a real file
    of CANN 8.0, twice of two; why is not known.
    """
    if node.op == "ClipByValue":
        return scalar(node.input(1)) == 0
    if node.op not in SUMS:
        return True
    kinds = {(operand.type.dims, operand.type.storage) for operand in node.present_inputs}
    return len(kinds) == 1 and all(maker.op != "ConcatD" for maker in node.producers)


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
    return any(type_.is_open for type_ in types)


def node_between(launch: Sequence[Node], place: Mapping[Node, int]) -> Node | None:
    """A node outside of `launch` that must run after one of its nodes and before another.

    What stands after the launch is not read by it, unless another launch holds nodes of both sides
    together: of a node that is reached all nodes of its launch are.
    """
    inside, last = set(launch), place[launch[-1]]
    reached = {node for member in launch for node in member.output.consumers} - inside
    waiting = [*reached]
    while waiting:
        node = waiting.pop()
        readers = [reader for value in node.outputs for reader in value.consumers]
        after = [reader for reader in readers if place.get(reader, last + 1) <= last]
        if node.scope:
            after += [other for other in node.producers + readers if other.scope == node.scope]
        if not inside.isdisjoint(after):
            return node
        waiting += [other for other in dict.fromkeys(after) if other not in reached]
        reached.update(after)
    return None


def between_text(node: Node) -> Text:
    text = Text("{node} reads a part of the launch, and another part reads it")
    return text.with_values(node=repr(node))


def put_launches_in_order(graph: Graph) -> None:
    """Sort nodes so that launches, each at its last node, stand after what they read."""
    launches = launches_in(graph.nodes)
    launch_of = {node: launch for launch in launches for node in launch}

    def needs(launch: tuple[Node, ...]) -> list[tuple[Node, ...]]:
        needed = dict.fromkeys(launch_of[maker] for node in launch for maker in node.producers)
        needed.pop(launch, None)
        return [*needed]

    graph.nodes = [node for launch in producers_first(launches, needs) for node in launch]
