"""Losses."""

import numpy as np

from atc_py.device.sim.kernel import Call, kernel
from atc_py.device.sim.typing_rules import require_float
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.text import Text

_REDUCTIONS = ("none", "sum", "mean")
_CLASSES = 1
"""The axis of scores that runs over classes."""


def _loss_types(node: NodeView) -> tuple[TensorFacts, ...]:
    scores, labels, weights = node.x, node.required(1), node.input(2)
    require_float(scores)
    if scores.rank <= _CLASSES:
        raise NodeError(Text("scores must have an axis of classes, found {found}", found=scores))
    wanted = scores.shape[:_CLASSES] + scores.shape[_CLASSES + 1 :]
    if not labels.dtype.is_integer or labels.shape != wanted:
        text = Text("labels must be integers of shape {wanted}, found {found}")
        raise NodeError(text.with_values(wanted=list(wanted), found=labels))
    classes = scores.shape[_CLASSES : _CLASSES + 1]
    if weights is not None and (weights.shape != classes or weights.dtype is not scores.dtype):
        text = Text("weights must be like scores of shape {shape}, found {found}")
        raise NodeError(text.with_values(shape=list(classes), found=weights))
    reduction = node.text("reduction")
    if reduction not in _REDUCTIONS:
        text = Text("reduction must be one of {known}, found {found}")
        raise NodeError(text.with_values(known=", ".join(_REDUCTIONS), found=repr(reduction)))
    loss = wanted if reduction == "none" else ()
    return (TensorFacts(scores.dtype, loss), scores)


@kernel("SoftmaxCrossEntropyLoss", _loss_types)
def softmax_cross_entropy_loss(call: Call) -> None:
    """Compute `-log_prop[label] * weights[label]`, reduced, and `log_prop`, the log of the softmax.

    A label that is ignore_index or no class counts for nothing: 0 is its loss, and its weight.
    """
    x, logs = call.x, call.outputs[1]
    np.subtract(x, x.max(axis=_CLASSES, keepdims=True, initial=-np.inf), out=logs)
    powers = np.exp(logs, out=call.workspace.take("powers", x.shape, x.dtype))
    np.subtract(logs, np.log(powers.sum(axis=_CLASSES, keepdims=True)), out=logs)
    classes = logs.shape[_CLASSES]
    labels = call.input(1)
    counts = (labels != call.node.integer("ignore_index")) & (labels >= 0) & (labels < classes)
    places = np.where(counts, labels, 0).astype(np.intp)
    weights = call.optional(2)
    shares = counts.astype(logs.dtype)
    if weights is not None and classes:
        shares *= weights[places]
    losses = np.zeros_like(shares)
    if classes:
        picked = np.take_along_axis(logs, np.expand_dims(places, _CLASSES), _CLASSES)
        np.multiply(-picked.reshape(losses.shape), shares, out=losses, where=counts)
    reduction = call.node.text("reduction")
    if reduction == "none":
        np.copyto(call.out, losses)
        return
    np.copyto(call.out, losses.sum())
    if reduction == "mean":
        np.divide(call.out, shares.sum(), out=call.out)
