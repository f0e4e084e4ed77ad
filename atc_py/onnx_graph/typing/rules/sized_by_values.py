"""Operators whose results are as large as the values of an input say."""

from atc_py.onnx_graph.folding.fold_views import ints_of
from atc_py.onnx_graph.folding.graph import ValueType
from atc_py.onnx_graph.typing.type_rules import Negative, Override, Question, type_rule
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Dims, normalize_axis

_OUTPUT_SHAPE = 2
"""Position of the wanted shape among the inputs of MaxUnpool."""


@type_rule("Compress")
def _compress(asked: Question) -> Override | None:
    """As many slices as a constant condition chooses, else an open dim.

    Inference leaves that dim open, and before opset 11 even the dtype.
    """
    x = asked.type(0)
    if x is None or not x.element or x.dims is None:
        return None
    chosen = _count_true(asked)
    axis = asked.attributes.get("axis")
    dims: Dims = (chosen,)
    if axis is not None:
        try:
            at = normalize_axis(axis, len(x.dims))
        except ValueError:
            return None
        dims = (*x.dims[:at], chosen, *x.dims[at + 1 :])
    return Override(asked.outputs(ValueType(x.element, dims)))


def _count_true(asked: Question) -> int | None:
    """Return how often a constant condition holds; None for a computed one."""
    condition = asked.const(1)
    if condition is None or condition.dtype is not DType.BOOL:
        return None
    return int(condition.numpy().sum())


def _has_output_shape(asked: Question) -> bool:
    """True if the shape of the result is an input."""
    return asked.has(_OUTPUT_SHAPE)


@type_rule("MaxUnpool", before=True, when=_has_output_shape)
def _max_unpool_to_negative_dims(asked: Question) -> Negative | None:
    """Refuse a constant shape with negative dims, which inference passes over."""
    wanted = ints_of(asked.const(_OUTPUT_SHAPE)) or ()
    return Negative(wanted) if min(wanted, default=0) < 0 else None


@type_rule("MaxUnpool", when=_has_output_shape)
def _max_unpool(asked: Question) -> Override | None:
    x, wanted = asked.type(0), ints_of(asked.const(_OUTPUT_SHAPE))
    if x is None or not x.element or x.dims is None:
        return None
    if wanted is not None and len(wanted) != len(x.dims):
        return None
    dims = (None,) * len(x.dims) if wanted is None else wanted
    return Override(asked.outputs(ValueType(x.element, dims)))
