"""Operators whose definition inference knows in part: it lacks a default, a mask, an open dim."""

import onnx
from onnx import TensorProto, helper

from atc_py.onnx_graph.folding.graph import ValueType
from atc_py.onnx_graph.typing.type_rules import Override, Question, Shown, Withheld, type_rule
from atc_py.tensor.shapes import Dims

_RECURRENT_RANK = 3
"""Axes of X and of R of a recurrent layer."""

_TYPED_MASK = 10
"""The version of Dropout from which on inference knows the mask."""


def _has_untyped_mask(asked: Question) -> bool:
    """True for a Dropout with a mask of a version that gives it no type."""
    node = asked.node
    masked = len(node.outputs) > 1 and bool(node.outputs[1])
    return masked and node.schema is not None and node.schema.since_version < _TYPED_MASK


@type_rule("Dropout", when=_has_untyped_mask)
@type_rule("MeanVarianceNormalization", when=lambda asked: "axes" not in asked.attributes)
def _like_the_data(asked: Question) -> Override | None:
    """The type of the data.

    Inference of the versions of Dropout before 10 gives its mask no type. That of
    MeanVarianceNormalization looks into its function and lacks the default of axes.
    """
    x = asked.type(0)
    return None if x is None or x.dims is None else Override(asked.outputs(x, x))


@type_rule("GRU", "LSTM", when=lambda asked: "hidden_size" not in asked.attributes)
def _recurrent(asked: Question) -> Override | None:
    """Types of Y, Y_h and, of LSTM, Y_c; inference lacks the hidden size, R's last dim.

    X is (steps, batch, inputs), or (batch, steps, inputs) with layout 1; R is (directions, gates,
    hidden).
    """
    x, weights = asked.type(0), asked.type(2)
    if x is None or x.dims is None or weights is None or weights.shape is None:
        return None
    if len(weights.shape) != _RECURRENT_RANK or len(x.dims) != _RECURRENT_RANK:
        return None
    directions, _, hidden = weights.shape
    first, second, _ = x.dims
    whole: Dims = (first, directions, second, hidden)
    last: Dims = (directions, second, hidden)
    if asked.attributes.get("layout"):
        whole, last = (first, second, directions, hidden), (first, directions, hidden)
    return Override(asked.outputs(*(ValueType(x.element, dims) for dims in (whole, last, last))))


@type_rule("NonMaxSuppression")
def _boxes(asked: Question) -> Override:
    """Rows of batch, class and box; inference of the versions before 11 knows no rank."""
    return Override(asked.outputs(ValueType(TensorProto.INT64, (None, 3))))


@type_rule("STFT", before=True, when=lambda asked: asked.node.schema is not None)
def _stft(asked: Question) -> Shown | None:
    """Show the default of onesided, 1: inference takes the result to be two-sided without it."""
    plain = asked.node.plain
    if any(each.name == "onesided" for each in plain.attribute):
        return None
    whole = onnx.NodeProto()
    whole.CopyFrom(plain)
    whole.attribute.append(helper.make_attribute("onesided", 1))
    return Shown((whole,))


@type_rule("Attention", before=True)
def _attention(asked: Question) -> Withheld | None:
    """Withhold Attention while a dim of Q, K or V is open: inference takes one of V for 0."""
    return None if all(map(asked.is_closed, range(3))) else Withheld()


@type_rule("StringNormalizer", before=True)
def _string_normalizer(asked: Question) -> Withheld | None:
    """Withhold it while a dim of its input is open: inference refuses what may be right."""
    return None if asked.is_closed(0) else Withheld()
