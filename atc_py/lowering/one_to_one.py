"""One-to-one lowering: the operator's specification names the target operator."""

from collections.abc import Sequence
from functools import cache

from atc_py.diag import Place
from atc_py.diag.codes import BAD_SPEC
from atc_py.ir import AttrValue, ConstData, Node, Value
from atc_py.ir.signature import Signature
from atc_py.lowering.builder import Builder
from atc_py.spec import OpSpec, Target
from atc_py.spec.model import Value as DefaultValue
from atc_py.target import find_operator
from atc_py.text import Text


def lower_by_spec(spec: OpSpec, target: Target, b: Builder) -> Sequence[Value]:
    """Return the node's inputs, in order, under the operator and attribute names of `target`.

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
    """Refuse a specification whose target operator is none, or takes another node.

    Raises:
        AtcError: BAD_SPEC with what does not fit.
    """
    signature = _signature(target.op)
    if signature is None:
        faults = [f"there is no target operator {target.op}"]
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
            help="docs/target.md lists the target operators with their operands and attributes",
        )


@cache
def _signature(op: str) -> Signature | None:
    """Return the signature of a target operator, or None where there is none of this name."""
    row = find_operator(op)
    return None if row is None else Signature(row)


def _renamed(spec: OpSpec, target: Target, b: Builder) -> dict[str, AttrValue]:
    """Return the node's attributes under the target's names."""
    renamed: dict[str, AttrValue] = {}
    for theirs, ours in target.attributes.items():
        value = b.node.attributes.get(ours, _default(spec, ours, b.node.opset))
        if value is None:
            continue
        if isinstance(value, ConstData) or (
            isinstance(value, tuple) and any(isinstance(item, str) for item in value)
        ):
            raise b.bad(f"cannot take a tensor or strings as {ours}", f"attribute {ours}")
        renamed[theirs] = value  # type: ignore[assignment]  # strings were refused above
    return renamed


def _default(spec: OpSpec, name: str, opset: int) -> DefaultValue | None:
    """Return the default of an attribute; a float is rounded as a file would hold it."""
    import numpy as np

    declared = spec.attribute(name)
    value = None if declared is None else declared.default_at(opset)
    return float(np.float32(value)) if isinstance(value, float) else value
