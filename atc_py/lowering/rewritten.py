"""Nodes in dtypes that the list lacks, as their specifications say that they are taken.

A dtype that is `carried` is cast to the one that carries it, the node is lowered in that, and its
results are cast back. A dtype `beyond` the list is taken by the rewrite that is named with it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from atc_py.check.restating import OpsetPlacement
from atc_py.ir import Value
from atc_py.lowering.builder import Builder
from atc_py.onnx_graph.source import SourceModel, SourceNode, SourceTensor
from atc_py.spec import OperandSpec, OpSpec
from atc_py.spec.rewrites import performers, performs
from atc_py.system.structs import replace
from atc_py.tensor.dtypes import DType


def lower_beyond(spec: OpSpec, b: Builder) -> Sequence[Value] | None:
    """Lower a node with an input beyond the list's dtypes; None where there is none."""
    if all(row.beyond is None for row in spec.inputs):
        return None
    for value, row in _operands(spec.inputs, b.node, b.node.inputs):
        if row.beyond is not None and value.dtype in row.beyond.dtypes:
            code = performers(row.beyond.rewrite)
            results: Sequence[Value] | None = code[0](b) if code else None
            return results
    return None


@performs("cast-through")
def lower_carried(
    spec: OpSpec, b: Builder, lower: Callable[[Builder], Sequence[Value]]
) -> Sequence[Value] | None:
    """Lower a node in another dtype; None where nothing is carried."""
    node = b.node
    new = _stand_ins(spec, node)
    if not new:
        return None
    for source, carried in new.items():
        if source in node.inputs:
            b.bind(carried, b.cast(b.value(source), carried.required_dtype))
    carried_node = replace(
        node,
        inputs=tuple(value and new.get(value, value) for value in node.inputs),
        outputs=tuple(value and new.get(value, value) for value in node.outputs),
    )
    return [
        value if output is None else b.cast(value, output.required_dtype, output.name)
        for value, output in zip(lower(b.with_node(carried_node)), node.outputs, strict=False)
    ]


def _stand_ins(spec: OpSpec, node: SourceNode) -> Mapping[SourceTensor, SourceTensor]:
    """Stand-ins for the carried inputs, and for the outputs that share their dtypes."""
    found: dict[SourceTensor, SourceTensor] = {}
    if not any(row.carried for row in spec.inputs):
        return found
    carriers: dict[str, DType] = {}
    for value, row in _operands(spec.inputs, node, node.inputs):
        if value.dtype in row.carried:
            carriers[row.name] = row.carried[value.dtype]
            found[value] = _carried(value, carriers[row.name])
    if not carriers:
        return found
    for value, row in _operands(spec.outputs, node, node.outputs):
        if row.same_as in carriers:
            found[value] = _carried(value, carriers[row.same_as])
    return found


def _carried(value: SourceTensor, carrier: DType) -> SourceTensor:
    return SourceTensor(f"{value.name}.{carrier.value}", carrier.value, value.dims)


def _operands(
    rows: Sequence[OperandSpec], node: SourceNode, values: Sequence[SourceTensor | None]
) -> Iterator[tuple[SourceTensor, OperandSpec]]:
    """Yield the operands present with their rows; the last row is for all further ones."""
    there = [row for row in rows if row.exists_at(node.opset)]
    for position, value in enumerate(values if there else ()):
        if value is not None:
            yield value, there[min(position, len(there) - 1)]


@performs("dissolve")
def _dissolve(b: Builder) -> Sequence[Value]:
    return [b.input(0)]


@performs("reshape-instead")
def _reshape_instead(b: Builder) -> Sequence[Value]:
    """A Reshape to the shape of the result, one dim of which only the run may know."""
    result = b.output_type()
    if result.dims.count(None) != 1 or 0 in result.dims:
        return [b.reshape(b.input(0), result.shape)]
    wanted = [-1 if dim is None else dim for dim in result.dims]
    shape = b.const("shape", np.array(wanted, dtype=np.int64))
    return [b.op("Reshape", [b.input(0), shape], result)]


@performs("restate")
def restated(model: SourceModel, placements: Sequence[OpsetPlacement | None]) -> SourceModel:
    """`model`, or some of its nodes, with every node that was restated in its new form."""
    forms = {each.node: each.view for each in placements if each is not None and each.restated}
    if not forms:
        return model
    return replace(model, nodes=_nodes(model.nodes, forms))


def _nodes(
    nodes: Sequence[SourceNode], forms: Mapping[SourceNode, SourceNode]
) -> tuple[SourceNode, ...]:
    return tuple(_with_branches(forms.get(node, node), forms) for node in nodes)


def _with_branches(node: SourceNode, forms: Mapping[SourceNode, SourceNode]) -> SourceNode:
    if not node.branches:
        return node
    branches = {
        name: replace(branch, nodes=_nodes(branch.nodes, forms))
        for name, branch in node.branches.items()
    }
    return replace(node, branches=branches)
