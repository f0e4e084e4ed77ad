"""Comparisons, logic, and the choice between two tensors."""

import numpy as np

from atc_py.device.sim.kernel import Call, Rounding, kernel
from atc_py.device.sim.typing_rules import broadcast, one_dtype, require_float
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import broadcast_shapes
from atc_py.text import Text, error_text


def _comparison_types(node: NodeView) -> tuple[TensorFacts, ...]:
    """Two inputs of one dtype, broadcast against each other, give bools."""
    (facts,) = broadcast(node)
    return (TensorFacts(DType.BOOL, facts.shape),)


def _ordered_types(node: NodeView) -> tuple[TensorFacts, ...]:
    """The types of `_comparison_types`, without bools, which have no order."""
    if node.x.dtype is DType.BOOL:
        raise NodeError(Text("bools have no order"))
    return _comparison_types(node)


def _test_types(node: NodeView) -> tuple[TensorFacts, ...]:
    require_float(node.x)
    return (TensorFacts(DType.BOOL, node.x.shape),)


@kernel("IsInf", _test_types)
def is_inf(call: Call) -> None:
    """Compute whether `|x|` is infinite."""
    np.isinf(call.x, out=call.out)


@kernel("IsNan", _test_types)
def is_nan(call: Call) -> None:
    """Compute whether x is not a number."""
    np.isnan(call.x, out=call.out)


def _logic_types(node: NodeView) -> tuple[TensorFacts, ...]:
    """Bools, broadcast against each other where there are two."""
    for facts in node.present:
        _require_bool(facts)
    return broadcast(node) if len(node.inputs) > 1 else (node.x,)


def _require_bool(facts: TensorFacts) -> None:
    if facts.dtype is not DType.BOOL:
        raise NodeError(Text("the kernel takes bool, found {found}", found=facts.dtype.value))


@kernel("Equal", _comparison_types)
def equal(call: Call) -> None:
    """Compute `y = x1 == x2`; NaN equals nothing."""
    np.equal(call.input(0), call.input(1), out=call.out)


@kernel("Greater", _ordered_types)
def greater(call: Call) -> None:
    """Compute `y = x1 > x2`."""
    np.greater(call.input(0), call.input(1), out=call.out)


@kernel("GreaterEqual", _ordered_types)
def greater_equal(call: Call) -> None:
    """Compute `y = x1 >= x2`."""
    np.greater_equal(call.input(0), call.input(1), out=call.out)


@kernel("Less", _ordered_types)
def less(call: Call) -> None:
    """Compute `y = x1 < x2`."""
    np.less(call.input(0), call.input(1), out=call.out)


@kernel("LessEqual", _ordered_types)
def less_equal(call: Call) -> None:
    """Compute `y = x1 <= x2`."""
    np.less_equal(call.input(0), call.input(1), out=call.out)


@kernel("LogicalAnd", _logic_types, in_place=True)
def logical_and(call: Call) -> None:
    """Compute `y = x1 and x2`."""
    np.logical_and(call.input(0), call.input(1), out=call.out)


@kernel("LogicalNot", _logic_types, in_place=True)
def logical_not(call: Call) -> None:
    """Compute `y = not x`."""
    np.logical_not(call.x, out=call.out)


@kernel("LogicalOr", _logic_types, in_place=True)
def logical_or(call: Call) -> None:
    """Compute `y = x1 or x2`."""
    np.logical_or(call.input(0), call.input(1), out=call.out)


def _select_types(node: NodeView) -> tuple[TensorFacts, ...]:
    """A condition and two inputs of one dtype, broadcast together."""
    _require_bool(node.x)
    then = node.required(1)
    one_dtype((then, node.required(2)))
    try:
        shape = broadcast_shapes(*(facts.shape for facts in node.present))
    except ValueError as error:
        raise NodeError(error_text(error)) from None
    return (TensorFacts(then.dtype, shape),)


@kernel("SelectV2", _select_types, rounding=Rounding.ON_GRID)
def select(call: Call) -> None:
    """Compute `result = then` where the condition is true, `else` elsewhere."""
    np.copyto(call.out, call.input(2))
    np.copyto(call.out, call.input(1), where=call.x)
