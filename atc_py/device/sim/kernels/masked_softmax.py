"""Softmax of scores of which a mask leaves some out."""

from functools import partial

import numpy as np

from atc_py.device.sim.kernel import Call, Launch, kernel, sequence
from atc_py.device.sim.primitives.softmax import softmaxing
from atc_py.device.sim.typing_rules import require_float
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import broadcast_shapes
from atc_py.text import Text, error_text

_LOWEST = np.finfo(np.float32).min
"""What a masked element counts as."""


def _types(node: NodeView) -> tuple[TensorFacts, ...]:
    """The type of x; the mask is bool and broadcast to x; no mask is made here."""
    x, mask = node.x, node.required(1)
    require_float(x)
    node.expect("fixed_triu_mask", allowed=False)
    if not x.rank:
        raise NodeError(Text("x must have an axis, found {found}", found=x))
    if mask.dtype is not DType.BOOL:
        raise NodeError(Text("mask must be bool, found {found}", found=mask.dtype.value))
    try:
        shape = broadcast_shapes(x.shape, mask.shape)
    except ValueError as error:
        raise NodeError(error_text(error)) from None
    if shape != x.shape:
        raise NodeError(Text("mask must be broadcast to {x}, found {found}", x=x, found=mask))
    return (x,)


def _bind(call: Call) -> Launch:
    x, out = call.x, call.out
    masked = np.broadcast_to(call.input(1), x.shape)
    scale = x.dtype.type(call.node.number("scale"))
    return sequence(
        [
            partial(np.multiply, x, scale, out),
            partial(np.copyto, out, _LOWEST, where=masked),
            softmaxing(out, out, (x.ndim - 1,)),
        ]
    )


@kernel("ScaledMaskedSoftmax", _types, in_place=True, bind=_bind)
def scaled_masked_softmax(call: Call) -> None:
    """Compute `y = exp(v - m) / sum of exp(v - m)` along the last axis, with m the largest v.

    `v = x * scale`, and the lowest finite float32 where the mask is true: whatever x holds there
    counts for nothing, a row with any other element above it gives its masked ones 0, and a row
    that is masked as a whole gives all of them the same share.
    """
    _bind(call)()
