"""Which of its implementations a node gets, as `--op-precision-mode` says, and what has no effect.

Source: the modes of ATC's --op_precision_mode. Some vector kernels of float16 have two: one keeps
what lies between its steps in float32, the other computes each step in float16. Those are the rows
with the attribute `impl_mode`, and the first is what atc-py takes where nobody says otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag.codes import NO_SUCH_IMPLEMENTATION
from atc_py.ir import Engine
from atc_py.passes.precision.products import multiplies_float32
from atc_py.target import Unit, find_operator
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from atc_py.ir import Graph, Node
    from atc_py.passes.base import PassContext
    from atc_py.target import TargetOp

__all__ = ["IMPLEMENTATIONS", "assign_implementations"]

IMPL_MODE = "impl_mode"
_PRECISE, _FAST = "high_precision", "high_performance"

_ATTRIBUTE = {_PRECISE: _PRECISE, _FAST: _FAST, "super_performance": _FAST, "keep_fp16": _FAST}
"""The implementation by the mode that asks for it; nothing is faster than float16 throughout."""

_AS_IT_IS = {
    "enable_float_32_execution": "float32 is multiplied as float32 here",
    "enable_hi_float_32_execution": "the narrowed float32 of that mode is not simulated",
    "support_out_of_bound_index": "indices are always checked here",
}
"""Why a mode changes nothing, for those that are about something else than float16."""

IMPLEMENTATIONS = (*_ATTRIBUTE, *_AS_IT_IS)
"""The modes of `--op-precision-mode`."""


def assign_implementations(graph: Graph, context: PassContext) -> None:
    """Give typed nodes their implementations; of what has no effect, warn once an operator."""
    idle: dict[tuple[str, str, str], list[Node]] = {}
    for node in graph.nodes:
        mode = context.controls.implementation_of(node)
        row = find_operator(node.op)
        if mode is None or row is None or row.unit is Unit.LOCAL or node.op == "Cast":
            continue
        if context.soc.cube_hf32 and multiplies_float32(node):
            continue
        reason = _why_idle(node, row, mode)
        if reason is not None:
            idle.setdefault((node.op, mode, reason), []).append(node)
            continue
        node.attributes[IMPL_MODE] = _ATTRIBUTE[mode]
        context.decisions.implement(node.name, _ATTRIBUTE[mode])
    for (op, mode, reason), nodes in idle.items():
        _warn(context, nodes, f"{mode} changes nothing for {op}: {reason}")


def _why_idle(node: Node, row: TargetOp, mode: str) -> str | None:
    """Return why the mode has no effect on the node, or None."""
    if mode in _AS_IT_IS:
        return _AS_IT_IS[mode]
    if row.attribute(IMPL_MODE) is None:
        return "it has one implementation"
    dtype = node.present_inputs[0].type.dtype
    if node.engine is not Engine.AICORE or dtype is not DType.FLOAT16:
        engine = node.engine.value if node.engine else "no engine"
        return (
            f"there are two for float16 on the AI Core, and it computes {dtype.value} on {engine}"
        )
    return None


def _warn(context: PassContext, nodes: list[Node], message: str) -> None:
    """Warn once for all nodes of one operator."""
    count = f"; {len(nodes)} nodes" if len(nodes) > 1 else ""
    place = context.place(nodes[0])
    context.sink.add(NO_SUCH_IMPLEMENTATION.diagnostic(message + count, place=place))
