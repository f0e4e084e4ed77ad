"""Attributes, features and labels of ai.onnx.ml's operators, as several rules write them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from atc_py.fix.case import CaseInput, RuleCase, case
from atc_py.fix.context import RuleContext
from atc_py.fix.parts.codes import INTEGERS
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

_DOMAIN = "ai.onnx.ml"
_MATRIX = 2


def ml_case(op_type: str, *inputs: CaseInput, outputs: int = 1, **attributes: Any) -> RuleCase:
    return case(op_type, *inputs, opset=3, outputs=outputs, domain=_DOMAIN, **attributes)


def number_list(ctx: RuleContext, name: str) -> NDArray[np.float32]:
    value = ctx.node.attributes.get(name, ())
    require(isinstance(value, tuple), "{name} is a list of numbers", name=name)
    return np.array(cast("tuple[float, ...]", value), np.float32)


def features_of(ctx: RuleContext) -> tuple[str, int]:
    """The input as float32, and how many features a sample has."""
    dims = ctx.dims(0)
    require(
        len(dims) == _MATRIX and dims[1] is not None,
        "X has samples of as many features as are known",
    )
    require(ctx.element is DType.FLOAT32 or ctx.element in INTEGERS, "X is float32 or integer")
    x = ctx.name(0)
    return (x if ctx.element is DType.FLOAT32 else ctx.cast(x, DType.FLOAT32)), dims[1] or 0


def floats(ctx: RuleContext, data: NDArray[Any], label: str) -> str:
    return ctx.const(data, DType.FLOAT32, label)


Transform = Callable[[RuleContext, str], str]
"""Writer of what is done to scores in the end."""

_TRANSFORMS: Mapping[str, Transform] = {
    "NONE": lambda _ctx, y: y,
    "LOGISTIC": lambda ctx, y: ctx.op("Sigmoid", y),
    "SOFTMAX": lambda ctx, y: ctx.op("Softmax", y, axis=1),
}


def transform_of(ctx: RuleContext) -> Transform:
    name = ctx.text("post_transform", "NONE")
    require(name in _TRANSFORMS, "post_transform is NONE, LOGISTIC or SOFTMAX")
    return _TRANSFORMS[name]


def labels_of(ctx: RuleContext) -> NDArray[np.int64] | None:
    """The labels, by class; None where nothing reads them."""
    labels = ctx.integers("classlabels_ints") or ctx.integers("classlabels_int64s")
    read = ctx.output(0) is not None
    require(labels or not read, "labels are integers, or nothing reads them")
    return np.array(labels, np.int64) if read else None


def label_of(ctx: RuleContext, labels: NDArray[np.int64] | None, best: str) -> str:
    """Write the labels of classes, given their numbers; "" where nothing reads them."""
    if labels is None:
        return ""
    if (labels == range(labels.size)).all():
        return best
    return ctx.op("Gather", ctx.const(labels, label="labels"), best, axis=0)


def ranked_classes(
    ctx: RuleContext, labels: NDArray[np.int64] | None, transform: Transform, scores: str
) -> Sequence[str]:
    """Write the label of the largest score of each sample, and the transformed scores."""
    best = "" if labels is None else ctx.op("ArgMax", scores, axis=1, keepdims=0)
    return [label_of(ctx, labels, best), transform(ctx, scores)]


def class_count(ctx: RuleContext) -> int:
    names = ("classlabels_ints", "classlabels_int64s", "classlabels_strings")
    lists = (ctx.node.attributes.get(name, ()) for name in names)
    return max(len(value) if isinstance(value, tuple) else 0 for value in lists)
