"""Lowers a source model: every node by its function, or one-to-one by its specification."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from atc_py.diag import (
    BAD_SPEC,
    INTERNAL,
    NOT_LOWERED,
    NOT_PUBLISHED,
    AtcError,
    Diagnostic,
    Place,
    Sink,
)
from atc_py.ir import AttrValue, ConstData, Graph, Node, Phase, Signature, TensorType, Value
from atc_py.lowering.builder import Builder, find_lowering, lowering_versions
from atc_py.lowering.rewritten import lower_beyond, lower_carried
from atc_py.lowering.scope import Scope
from atc_py.onnx_graph.source import SourceModel, SourceNode, SourceTensor
from atc_py.options.compile_options import ANY_LIST
from atc_py.spec import Library, OpSpec, Target, library
from atc_py.spec.model import Value as DefaultValue
from atc_py.system.structs import replace
from atc_py.target import find_operator
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import OpenShapeError
from atc_py.text import Text, Words, plural

if TYPE_CHECKING:
    from atc_py.check.restating import OpsetPlacement


def lower_by_spec(spec: OpSpec, target: Target, b: Builder) -> Sequence[Value]:
    """The node's inputs, in order, under the operator and attribute names of `target`.

    An attribute that the node does not set has the specification's default, whatever the target's.
    """
    inputs = [b.optional_input(position) for position in range(len(b.node.inputs))]
    outputs = [
        (output.name, b.output_type(position))
        for position, output in enumerate(b.node.outputs)
        if output is not None
    ]
    results = b.ops(target.op, inputs, outputs, _renamed(spec, target, b))
    _hold_against_row(spec, target, b.graph.nodes[-1])
    return results


def _hold_against_row(spec: OpSpec, target: Target, node: Node) -> None:
    signature = _signature(target.op)
    if signature is None:
        faults = [Text("the target has no operator {op}", op=target.op)]
    else:
        faults = signature.faults(node)
    if faults:
        raise BAD_SPEC.error(
            Text(
                "target {op} of {op_2} does not fit: {faults}",
                op=target.op,
                op_2=spec.op,
                faults=faults[0],
            ),
            place=Place(spec.file_name),
            help=Text(
                "docs/target.md lists the target operators with their operands and attributes"
            ),
        )


@cache
def _signature(op: str) -> Signature | None:
    row = find_operator(op)
    return None if row is None else Signature(row)


def _renamed(spec: OpSpec, target: Target, b: Builder) -> dict[str, AttrValue]:
    renamed: dict[str, AttrValue] = {}
    for theirs, ours in target.attributes.items():
        value = b.node.attributes.get(ours, _default(spec, ours, b.node.opset))
        if value is None:
            continue
        if isinstance(value, ConstData) or (
            isinstance(value, tuple) and any(isinstance(item, str) for item in value)
        ):
            text = Text("cannot take a tensor or strings as {ours}")
            raise b.bad(text.with_values(ours=ours), f"attribute {ours}")
        renamed[theirs] = value  # type: ignore[assignment]  # strings were refused above
    return renamed


def _default(spec: OpSpec, name: str, opset: int) -> DefaultValue | None:
    """The default of an attribute; a float is rounded as a file would hold it."""
    declared = spec.attribute(name)
    value = None if declared is None else declared.default_at(opset)
    return float(np.float32(value)) if isinstance(value, float) else value


def lower_model(
    model: SourceModel,
    specs: Library | None = None,
    placements: Iterable[OpsetPlacement | None] = (),
) -> Graph:
    """The target graph of `model`, phase `lowered`.

    Every node is in the form of a listed opset; `placements` say by which specifications nodes were
    taken, others are by the first in `specs`. Raised are the findings of all nodes.
    """
    taken = {each.view: each.spec for each in placements if each is not None}
    graph = Graph(model.name, Phase.LOWERED)
    work = _Work(graph, str(model.path), specs or library(ANY_LIST), taken)
    scope = Scope()
    for source in model.inputs:
        scope.bind(source, work.graph.add_input(source.name, _type_of(source)))
    work.lower_nodes(model.nodes, scope)
    work.sink.raise_errors()
    _add_outputs(work.graph, model, scope)
    return work.graph


class _Work(msgspec.Struct, frozen=True):
    """The lowering of one model."""

    graph: Graph
    file: str  # the model's file, for diagnostics
    specs: Library
    taken: Mapping[SourceNode, OpSpec]  # those by which nodes were taken
    # takes the findings of nodes that cannot be lowered
    sink: Sink = msgspec.field(default_factory=Sink)

    def lower_nodes(self, nodes: Sequence[SourceNode], scope: Scope) -> None:
        """Lower `nodes`; one that fails gets stand-ins, so that those after it are looked at."""
        for source in nodes:
            node = _with_typed_outputs(source)
            spec = self.taken.get(source) or self.specs.find(node.op_type, node.domain)
            results = self._lower(spec, Builder(self, scope, node))
            for output, value in zip(node.outputs, results, strict=False):
                if output is not None:
                    scope.bind(output, value)
                    value.stands_for = (*value.stands_for, output.name, *output.holds)

    def _lower(self, spec: OpSpec | None, builder: Builder) -> Sequence[Value]:
        as_listed = partial(_lower_as_listed, spec)
        try:
            results = None
            if spec is not None:
                results = lower_beyond(spec, builder) or lower_carried(spec, builder, as_listed)
            return as_listed(builder) if results is None else results
        except AtcError as error:
            self.sink.extend(error.diagnostics)
        except OpenShapeError as error:
            self.sink.extend(_needs_dims(builder, error).diagnostics)
        return [
            Value(output.name if output else "", _type_of(output))
            for output in builder.node.outputs
        ]


def _with_typed_outputs(node: SourceNode) -> SourceNode:
    """The node without outputs that nothing uses and whose types are not known.

    An output that is used has a type: without one the model would have been refused before.
    """
    outputs = [each if each and each.is_typed else None for each in node.outputs]
    while outputs and outputs[-1] is None:
        outputs.pop()
    return node if tuple(outputs) == node.outputs else replace(node, outputs=tuple(outputs))


def _needs_dims(builder: Builder, error: OpenShapeError) -> AtcError:
    text = Text("{why}, known only at run time; on the device the node needs them fixed")
    return builder.unsupported(
        text.with_values(why=error),
        None,
        Text(
            "compute the shape from constants, fix the inputs with --input-shape, or run the node "
            "on the host"
        ),
    )


def can_lower(op_type: str, domain: str, specs: Library | None = None) -> bool:
    """True if there is a way to lower an operator, at some version at least."""
    if lowering_versions(op_type):
        return True
    spec = (specs or library(ANY_LIST)).find(op_type, domain)
    return spec is not None and spec.target is not None


def _lower_as_listed(spec: OpSpec | None, builder: Builder) -> Sequence[Value]:
    node = builder.node
    function = find_lowering(node.op_type, node.since_version)
    if function is not None:
        return function(builder)
    if spec is None or spec.target is None:
        raise INTERNAL.error(
            Text("{op_type} has no lowering", op_type=node.op_type), place=builder.place()
        )
    return lower_by_spec(spec, spec.target, builder)


def _type_of(source: SourceTensor | None) -> TensorType:
    """The source value's type; an absent output needs one that is never looked at."""
    if source is None:
        return TensorType(DType.FLOAT32, ())
    return TensorType(source.required_dtype, source.required_dims)


def _add_outputs(graph: Graph, model: SourceModel, scope: Scope) -> None:
    """Set the model's outputs; one may be an input or a constant."""
    for source in model.outputs:
        value = scope.find(source)
        if value is None and source.const is not None:
            value = graph.constant(source.name, source.const)
            scope.bind(source, value)
        if value is None:
            raise INTERNAL.error(Text('output "{source}" was not lowered', source=source.name))
        graph.add_output(value, source.name)


def not_lowered(nodes: Iterable[SourceNode], path: str, specs: Library) -> list[Diagnostic]:
    """One finding for each listed operator among `nodes` that cannot be lowered."""
    by_operator: dict[tuple[str, str], list[SourceNode]] = {}
    for node in nodes:
        by_operator.setdefault((node.domain, node.op_type), []).append(node)
    found = []
    for (domain, op_type), views in by_operator.items():
        spec = specs.find(op_type, domain)
        if spec is not None and not can_lower(op_type, domain, specs):
            found.append(_finding(spec, views, path))
    return found


def _finding(spec: OpSpec, views: list[SourceNode], path: str) -> Diagnostic:
    first = views[0]
    count = plural(len(views), "{n} node", "{n} nodes")
    if spec.unpublished is not None:
        return NOT_PUBLISHED.diagnostic(
            Text(
                "the arithmetic of {op_type} is not published: {value}; {count}",
                op_type=first.op_type,
                value=Words(spec.unpublished.en, spec.unpublished.zh),
                count=count,
            ),
            place=Place(path, first.index, first.name, first.op_type),
        )
    return NOT_LOWERED.diagnostic(
        Text(
            "{op_type} is on the operator list, but atc-py does not compile it yet; {count}",
            op_type=first.op_type,
            count=count,
        ),
        place=Place(path, first.index, first.name, first.op_type),
    )
