"""Comparisons, logic of bools, arithmetic of bits, the choice of a tensor, and of a way."""

import numpy as np

from atc_py.device.sim.kernel import Call, Rounding, TypeRule, kernel
from atc_py.device.sim.typing_rules import broadcast, broadcast_dims, one_dtype, require_float
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.tensor.dtypes import DType
from atc_py.text import Text


def _comparison_types(node: NodeView) -> tuple[TensorFacts, ...]:
    (facts,) = broadcast(node)
    return (TensorFacts(DType.BOOL, facts.shape),)


def _ordered_types(node: NodeView) -> tuple[TensorFacts, ...]:
    if node.x.dtype is DType.BOOL:
        raise NodeError(Text("bools cannot be ordered"))
    return _comparison_types(node)


def _test_types(node: NodeView) -> tuple[TensorFacts, ...]:
    require_float(node.x)
    return (TensorFacts(DType.BOOL, node.x.shape),)


def _logic_types(node: NodeView) -> tuple[TensorFacts, ...]:
    for facts in node.present:
        _require_bool(facts)
    return broadcast(node)


def _require_bool(facts: TensorFacts) -> None:
    if facts.dtype is not DType.BOOL:
        raise NodeError(Text("the kernel takes bool, found {found}", found=facts.dtype.value))


def _integer_types(node: NodeView) -> tuple[TensorFacts, ...]:
    for facts in node.present:
        if not facts.dtype.is_integer:
            text = Text("the kernel computes integers, found {found}")
            raise NodeError(text.with_values(found=facts.dtype.value))
    return broadcast(node)


def _declare(op: str, function: np.ufunc, types: TypeRule, *, in_place: bool = False) -> None:
    """Register a kernel that is one function of numpy.

    NaN equals nothing. Shifts by the width of the dtype or more leave 0, or -1 of negative numbers
    shifted right; so do shifts by negative numbers.
    """

    @kernel(op, types, in_place=in_place)
    def run(call: Call) -> None:
        function(*call.present, out=call.out)


_declare("Equal", np.equal, _comparison_types)
_declare("Greater", np.greater, _ordered_types)
_declare("GreaterEqual", np.greater_equal, _ordered_types)
_declare("IsInf", np.isinf, _test_types)
_declare("IsNan", np.isnan, _test_types)
_declare("Less", np.less, _ordered_types)
_declare("LessEqual", np.less_equal, _ordered_types)
_declare("LogicalAnd", np.logical_and, _logic_types, in_place=True)
_declare("LogicalNot", np.logical_not, _logic_types, in_place=True)
_declare("LogicalOr", np.logical_or, _logic_types, in_place=True)
_declare("BitwiseAnd", np.bitwise_and, _integer_types, in_place=True)
_declare("BitwiseOr", np.bitwise_or, _integer_types, in_place=True)
_declare("BitwiseXor", np.bitwise_xor, _integer_types, in_place=True)
_declare("Invert", np.invert, _integer_types, in_place=True)
_declare("LeftShift", np.left_shift, _integer_types, in_place=True)
_declare("RightShift", np.right_shift, _integer_types, in_place=True)


def _select_types(node: NodeView) -> tuple[TensorFacts, ...]:
    _require_bool(node.x)
    then = node.required(1)
    one_dtype((then, node.required(2)))
    shape = broadcast_dims(*(facts.shape for facts in node.present))
    return (TensorFacts(then.dtype, shape),)


@kernel("SelectV2", _select_types, rounding=Rounding.ON_GRID)
def select(call: Call) -> None:
    """Compute `result = then` where the condition is true, `else` elsewhere."""
    np.copyto(call.out, call.input(2))
    np.copyto(call.out, call.input(1), where=call.x)


def _switch_types(node: NodeView) -> tuple[TensorFacts, ...]:
    """The type of the data for both outputs; the condition is one truth value."""
    condition = node.required(1)
    if condition.dtype is not DType.BOOL or condition.elements != 1:
        raise NodeError(Text("pred must be one truth value, found {found}", found=condition))
    return (node.x, node.x)


def _open_way(call: Call) -> tuple[bool, ...]:
    holds = bool(call.input(1).reshape(-1)[0])
    return (not holds, holds)


@kernel("Switch", _switch_types, rounding=Rounding.ON_GRID, alias=True, gate=_open_way)
def switch(call: Call) -> None:
    """Pass the data on, on one of two ways."""


def _merge_types(node: NodeView) -> tuple[TensorFacts, ...]:
    """The type of the inputs, of one dtype and rank; dims that differ are open."""
    one_dtype(node.present)
    if len({facts.rank for facts in node.present}) != 1:
        text = Text("inputs must have the same rank, found {found}")
        raise NodeError(text.with_values(found=", ".join(map(str, node.present))))
    sides = zip(*(facts.dims for facts in node.present), strict=True)
    dims = tuple(side[0] if len(set(side)) == 1 else None for side in sides)
    return (TensorFacts(node.present[0].dtype, dims),)


@kernel("Merge", _merge_types, rounding=Rounding.ON_GRID, joins=True)
def merge(call: Call) -> None:
    """Pass on the input that is alive."""
    np.copyto(call.out, call.present[0])
