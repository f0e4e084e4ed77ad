"""A node as the rules of precision see it: its own dtypes, its list, and what comes before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.passes.precision.mix_lists import MixList
from atc_py.passes.precision.requested_dtypes import NodeTensors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from atc_py.ir import Node, Value
    from atc_py.passes.precision.controls import Controls
    from atc_py.target import TargetOp
    from atc_py.tensor.dtypes import DType

__all__ = ["tensors_of"]


def tensors_of(
    node: Node, row: TargetOp, origin: Mapping[Value, DType], controls: Controls
) -> NodeTensors:
    """Return the facts about `node`; `origin` has the dtypes of the model."""
    return NodeTensors(
        node.op,
        tuple(origin.get(value, value.type.dtype) if value else None for value in node.inputs),
        tuple(origin[value] for value in node.outputs),
        frozenset(row.numbers_at(len(node.inputs))),
        controls.list_of(node.op),
        _before(node, controls),
    )


def _before(node: Node, controls: Controls) -> tuple[str, DType] | None:
    """Return operator and dtype of the producer of the first float input, or None."""
    for value in node.present_inputs:
        if value.type.dtype.is_float and value.producer is not None:
            found = _behind_casts(value, controls)
            return (found.producer or value.producer).op, found.type.dtype
    return None


def _behind_casts(value: Value, controls: Controls) -> Value:
    """Return the value that a Cast off the black list reads, where a node computes it as floats."""
    while value.producer is not None and value.producer.op == "Cast":
        source = value.producer.present_inputs[0]
        black = controls.list_of("Cast") is MixList.BLACK
        if black or source.producer is None or not source.type.dtype.is_float:
            break
        value = source
    return value
