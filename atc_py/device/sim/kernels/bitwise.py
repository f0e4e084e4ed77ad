"""Arithmetic of the bits of integers."""

from collections.abc import Callable

import numpy as np

from atc_py.device.sim.kernel import Call, kernel
from atc_py.device.sim.typing_rules import broadcast
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.text import Text


def _require_integers(node: NodeView) -> None:
    for facts in node.present:
        if not facts.dtype.is_integer:
            text = Text("the kernel computes integers, found {found}")
            raise NodeError(text.with_values(found=facts.dtype.value))


def _pair_types(node: NodeView) -> tuple[TensorFacts, ...]:
    """Two integers of one dtype, broadcast against each other."""
    _require_integers(node)
    return broadcast(node)


def _same_types(node: NodeView) -> tuple[TensorFacts, ...]:
    _require_integers(node)
    return (node.x,)


def _declare(
    op: str, function: np.ufunc, types: Callable[[NodeView], tuple[TensorFacts, ...]] = _pair_types
) -> None:
    """Register a kernel that is one function of numpy.

    Shifts by the width of the dtype or more leave 0, or -1 of negative numbers shifted right; so do
    shifts by negative numbers.
    """

    @kernel(op, types, in_place=True)
    def run(call: Call) -> None:
        function(*call.present, out=call.out)


_declare("BitwiseAnd", np.bitwise_and)
_declare("BitwiseOr", np.bitwise_or)
_declare("BitwiseXor", np.bitwise_xor)
_declare("Invert", np.invert, _same_types)
_declare("LeftShift", np.left_shift)
_declare("RightShift", np.right_shift)
