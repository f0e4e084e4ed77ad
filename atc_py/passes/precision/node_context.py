"""A node as the rules of precision see it: its own dtypes, its list, and what comes before it."""

from collections.abc import Mapping

from atc_py.ir import Node, Value
from atc_py.passes.base import PassContext
from atc_py.passes.precision.mix_lists import MixList, has_lists
from atc_py.passes.precision.requested_dtypes import NodeTensors
from atc_py.target import TargetOp
from atc_py.tensor.dtypes import DType
from atc_py.text import Text


def tensors_of(
    node: Node, row: TargetOp, origin: Mapping[Value, DType], context: PassContext
) -> NodeTensors:
    """Return the facts about `node`; `origin` has the dtypes of the model."""
    controls, family = context.controls, context.soc.family
    published = has_lists(family) and not controls.moves(node.op)
    return NodeTensors(
        node.op,
        tuple(origin.get(value, value.type.dtype) if value else None for value in node.inputs),
        tuple(origin[value] for value in node.outputs),
        frozenset(row.numbers_at(len(node.inputs))),
        controls.list_of(node.op, family),
        source_of(node, context),
        family.value if published else "",
    )


def source_of(node: Node, context: PassContext) -> tuple[str, DType] | None:
    """Return the source of the first float input, and its dtype; None without such an input.

    Inputs of the model count like nodes. Constants come last, as CANN's fusion engine sorts them.
    """
    floats = [value for value in node.present_inputs if value.type.dtype.is_float]
    for value in sorted(floats, key=lambda each: each.const is not None):
        found = _before_cast(value, context)
        return _name(found), found.type.dtype
    return None


def _name(value: Value) -> str:
    """Return the name of a value's source in a reason."""
    if value.producer is not None:
        return value.producer.op
    return (
        f"constant {value.name}" if value.const is not None else Text("input {at}", at=value.name)
    )


def _before_cast(value: Value, context: PassContext) -> Value:
    """Return what a Cast off the black list makes wider: the mode's 16 bits; else the value."""
    cast = value.producer
    if cast is None or cast.op != "Cast":
        return value
    source = cast.present_inputs[0]
    narrow = DType.BFLOAT16 if context.precision_mode.is_bfloat16 else DType.FLOAT16
    widens = source.type.dtype is narrow and value.type.dtype in _MADE[narrow]
    black = context.controls.list_of("Cast", context.soc.family) is MixList.BLACK
    return source if widens and not black else value


_MADE = {
    DType.FLOAT16: frozenset({DType.FLOAT32, DType.BFLOAT16}),
    DType.BFLOAT16: frozenset({DType.FLOAT32, DType.FLOAT16}),
}
"""The dtype to which a Cast widens the mode's 16 bits if a gray node looks through it."""
