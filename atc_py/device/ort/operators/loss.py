"""Losses."""

from collections.abc import Sequence

from atc_py.device.ort.axes import reduced
from atc_py.device.ort.body import Body
from atc_py.device.ort.numbers import number
from atc_py.device.ort.registry import emulates
from atc_py.tensor.dtypes import DType

_CLASSES = 1
"""The axis of scores that runs over classes."""


@emulates("SoftmaxCrossEntropyLoss")
def softmax_cross_entropy_loss(body: Body) -> Sequence[str]:
    """Write `-log_prop[label] * weights[label]`, reduced, and `log_prop`, the log of the softmax.

    A label that is ignore_index or no class has the loss and the weight 0.
    """
    node, x = body.node, body.x()
    difference = body.add("Sub", x, reduced(body, "ReduceMax", x, [_CLASSES]))
    total = reduced(body, "ReduceSum", body.add("Exp", difference), [_CLASSES])
    logs = body.add("Sub", difference, body.add("Log", total))
    labels, nothing = body.cast(body.own(1), DType.INT64), body.const(0, DType.INT64)
    classes = body.add("Shape", x, start=_CLASSES, end=_CLASSES + 1)
    ignored = body.add("Equal", labels, body.const(node.integer("ignore_index"), DType.INT64))
    outside = body.add(
        "Or", body.add("Less", labels, nothing), body.add("GreaterOrEqual", labels, classes)
    )
    left_out = body.add("Or", ignored, outside)
    zero, one = number(body, 0), number(body, 1)
    if node.required(0).dims[_CLASSES] == 0:
        losses = shares = body.add("Where", left_out, zero, zero)
    else:
        places = body.add("Where", left_out, nothing, labels)
        weights = body.add("Gather", body.x(2), places) if node.has(2) else one
        shares = body.add("Where", left_out, zero, weights)
        column = body.add("Unsqueeze", places, body.ints(_CLASSES))
        picked = body.add("GatherElements", logs, column, axis=_CLASSES)
        negated = body.add("Neg", body.add("Squeeze", picked, body.ints(_CLASSES)))
        losses = body.add("Where", left_out, zero, body.add("Mul", negated, shares))
    reduction = node.text("reduction")
    if reduction == "none":
        return [losses, logs]
    loss = body.add("ReduceSum", losses, keepdims=0)
    if reduction == "mean":
        loss = body.add("Div", loss, body.add("ReduceSum", shares, keepdims=0))
    return [loss, logs]
