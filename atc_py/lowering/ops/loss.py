"""Lowering of losses."""

from collections.abc import Sequence

from atc_py.ir import AttrValue, TensorType, Value
from atc_py.lowering.builder import Builder
from atc_py.lowering.registry import lowering
from atc_py.text import Text

_NO_CLASS = -1
"""An ignore_index that no label has: labels are 0 or more."""

_REDUCTIONS = ("none", "sum", "mean")


@lowering("SoftmaxCrossEntropyLoss", since=12)
def lower_softmax_cross_entropy_loss(b: Builder) -> Sequence[Value]:
    """Lower SoftmaxCrossEntropyLoss to the operator of that name, which always has both results.

    Its default ignores label 0, ONNX's none.
    """
    reduction = b.string("reduction", "mean")
    if reduction not in _REDUCTIONS:
        raise b.bad(
            Text(
                "takes {known}, found {found}", known=", ".join(_REDUCTIONS), found=repr(reduction)
            ),
            "attribute reduction",
        )
    attributes: dict[str, AttrValue] = {
        "ignore_index": b.integer("ignore_index", _NO_CLASS),
        "reduction": reduction,
    }
    scores = b.input(0)
    inputs = [scores, b.input(1), b.optional_input(2)]
    if inputs[-1] is None:
        inputs.pop()
    loss = b.output_type()
    logs = b.output_name(1) if b.wants_output(1) else "log_prob"
    outputs = [(b.output_name(0), loss), (logs, TensorType(loss.dtype, scores.type.dims))]
    return b.ops("SoftmaxCrossEntropyLoss", inputs, outputs, attributes)
