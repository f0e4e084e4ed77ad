"""Sums, norms and functions of each element of stacked rows work on the rows of one matrix."""

from math import prod

import numpy as np

from atc_py.ir import DenseConst, Graph, Node, TensorType, Value
from atc_py.passes.base import Miss, Pass, PassContext
from atc_py.passes.fusion.matching import listed_readers
from atc_py.passes.fusion.merge_kernels import ELEMENTWISE
from atc_py.target import find_operator
from atc_py.target.stored_nodes import axes_along
from atc_py.tensor.shapes import Shape, element_count
from atc_py.text import Text

_NORM = "LayerNorm"
_MATRIX = 2


class FlattenStacksPass(Pass):
    """f(Reshape(x to a stack)) = Reshape(f(x)), x the rows of a product and f working along rows.

    A stack times one matrix is a product of all its rows. FRACTAL_NZ of those rows is other memory
    than that of the stack, so that what stands between two products would leave the blocks. CANN's
    kernels for Ascend310P show the same: its ConfusionTransposeD splits heads off in FRACTAL_NZ from
    the rows of a matrix alone, and lists matrices of the rows of all words of BERT. How CANN comes
    to them from stacks is not published. SoCs whose copies make fractals of rows need none of this.
    """

    def run(self, graph: Graph, context: PassContext) -> int:
        if context.soc.fractal_copies:
            return 0
        record = context.fusions[self.row.name]
        gone: list[Node] = []
        for node in list(graph.nodes):
            if not any(_rows_of(value) for value in node.present_inputs):
                continue
            reason = _unfit(node)
            if reason:
                record.missed(Miss.at(node, reason), matched=False)
                continue
            views = [value.producer for value in node.present_inputs if _rows_of(value)]
            node.output.replace_by(_flattened(graph, node))
            node.drop_inputs()
            gone += [node, *dict.fromkeys(view for view in views if view and _is_idle(view))]
            record.applied()
        graph.remove_nodes(gone)
        return record.effective


def _is_idle(view: Node) -> bool:
    if view.output.is_used:
        return False
    view.drop_inputs()
    return True


def _rows_of(value: Value) -> Value | None:
    """The matrix whose rows a stack shows, or None."""
    view = value.producer
    source = None if view is None or view.op != "Reshape" else view.input(0)
    if source is None or source.type.is_open or value.type.is_open:
        return None
    return source if _flat(value.type.shape) == source.type.shape else None


def _flat(shape: Shape) -> Shape | None:
    """The dims of all rows of a stack as one matrix; None for what is no stack of several."""
    if len(shape) <= _MATRIX or prod(shape[:-_MATRIX]) <= 1:
        return None
    return (prod(shape[:-1]), shape[-1])


def _unfit(node: Node) -> Text | None:
    """The reason why a node does not work along rows, or None."""
    row = find_operator(node.op)
    is_norm = node.op == _NORM
    if row is None or not (is_norm or row.family in ELEMENTWISE):
        return Text("a norm or a function of each element must follow, found {op}", op=node.op)
    others = [value for value in node.outputs[1:] if value.is_used]
    result = node.outputs[0].type
    if others or result.is_open or _flat(result.shape) is None:
        found = listed_readers([reader for value in others for reader in value.consumers])
        return Text("one stack must be computed, found {result}, {found}").with_values(
            result=result, found=found
        )
    if is_norm and axes_along(node) != {result.rank - 1}:
        return Text("the norm must be along the last axis")
    for value in node.present_inputs:
        kind = value.type
        whole = not kind.is_open and kind.shape == result.shape
        if kind.is_open or (whole and value.const is not None):
            return Text("stacks must be computed, of known dims, found {kind}", kind=kind)
        if not whole and not (is_norm or _is_same_for_all_rows(kind, result.shape[-1])):
            return Text("other operands must be the same for all rows, found {kind}", kind=kind)
    return None


def _is_same_for_all_rows(kind: TensorType, columns: int) -> bool:
    count = element_count(kind.shape)
    return count == 1 or (count == columns == kind.shape[-1])


def _flattened(graph: Graph, node: Node) -> Value:
    """The result of `node`, computed on rows, in a view of the shape that it had."""
    result = node.outputs[0].type
    flat = _flat(result.shape) or result.shape
    inputs = [
        value if value is None else _operand(graph, node, value, flat) for value in node.inputs
    ]
    attributes = dict(node.attributes)
    if node.op == _NORM:
        attributes |= {"begin_norm_axis": 1, "begin_params_axis": 1}
    outputs = [(f"{node.output.name}.rows", TensorType(result.dtype, flat))]
    done = graph.add_node(node.op, inputs, outputs, attributes, node.origins)
    return _reshaped(graph, node, done.output, result.shape)


def _operand(graph: Graph, node: Node, value: Value, flat: Shape) -> Value:
    """An operand of rows: the matrix that a stack shows, a view of the stack, or as it is."""
    if _flat(value.type.shape) != flat:
        # The result has the axes of an operand that has more than rows do.
        most = len(flat) if element_count(value.type.shape) == 1 else 1
        fits = value.type.rank <= most
        return value if fits else _reshaped(graph, node, value, value.type.shape[-1:])
    return _rows_of(value) or _reshaped(graph, node, value, flat)


def _reshaped(graph: Graph, node: Node, value: Value, shape: Shape) -> Value:
    dims = graph.constant(f"{value.name}.shape", DenseConst(np.array(shape, np.int64)))
    outputs = [(f"{value.name}.seen", TensorType(value.type.dtype, shape))]
    return graph.add_node("Reshape", [value, dims], outputs, {}, node.origins).output
