"""Rules of ai.onnx.ml, the operators of classical machine learning: linear models and scaling."""

from collections.abc import Sequence

import numpy as np

from atc_py.fix.case import Fed
from atc_py.fix.context import RuleContext
from atc_py.fix.parts.classical import (
    class_count,
    features_of,
    floats,
    labels_of,
    ml_case,
    number_list,
    ranked_classes,
    transform_of,
)
from atc_py.fix.rule import EQUAL, REORDERED, rule
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType


@rule(
    REORDERED,
    ml_case("Scaler", [4, 3], offset=[1.0, 2.0, 3.0], scale=[0.5, 2.0, 1.0]),
    miss=ml_case("Scaler", Fed((4, 3), DType.FLOAT64), offset=[1.0], scale=[0.5]),
)
def scaler_as_product(ctx: RuleContext) -> str:
    """Scaler of ai.onnx.ml -> Sub, Mul, if X is float32 or integer."""
    x, count = features_of(ctx)
    offset, scale = (number_list(ctx, name) for name in ("offset", "scale"))
    sizes = {1, count}
    require(
        offset.size == scale.size and offset.size in sizes, "there is one factor, or one a feature"
    )
    return ctx.op(
        "Mul", ctx.op("Sub", x, floats(ctx, offset, "offset")), floats(ctx, scale, "scale")
    )


@rule(
    REORDERED,
    ml_case("Normalizer", [4, 3], norm="L2"),
    miss=ml_case("Normalizer", [4, 3], norm="MAX"),
)
def normalizer_as_quotient(ctx: RuleContext) -> str:
    """Normalizer of ai.onnx.ml -> ReduceL1 or ReduceL2, Where, Div, if norm is L1 or L2.

    Samples of zeros stay.
    """
    x, _ = features_of(ctx)
    norm = ctx.text("norm", "MAX")
    require(norm in {"L1", "L2"}, "norm is L1 or L2")
    size = ctx.reduce(f"Reduce{norm}", x, [1])
    zero, one = (floats(ctx, np.array(value), "number") for value in (0, 1))
    return ctx.op("Div", x, ctx.op("Where", ctx.op("Equal", size, zero), one, size))


@rule(
    EQUAL,
    ml_case("Binarizer", [4, 3], threshold=0.25),
    miss=ml_case("Binarizer", Fed((4, 3), DType.FLOAT64), threshold=0.25),
)
def binarizer_as_comparison(ctx: RuleContext) -> str:
    """Binarizer of ai.onnx.ml -> Greater, Cast, if X is float32."""
    require(ctx.element is DType.FLOAT32, "X is float32", found=ctx.element.value)
    threshold = floats(ctx, np.array(ctx.number("threshold", 0.0)), "threshold")
    return ctx.cast(ctx.op("Greater", ctx.name(0), threshold), DType.FLOAT32)


def _linear(ctx: RuleContext, results: int) -> str:
    x, count = features_of(ctx)
    weights, bias = number_list(ctx, "coefficients"), number_list(ctx, "intercepts")
    require(weights.size == results * count, "coefficients are as many as features and results")
    require(bias.size in {0, results}, "there is an intercept for each result")
    y = ctx.op("MatMul", x, floats(ctx, weights.reshape(results, count).T, "coefficients"))
    return ctx.op("Add", y, floats(ctx, bias, "intercepts")) if bias.size else y


_COEFFICIENTS = [0.1, 0.2, -0.3, 0.4, 0.5, 0.6, -0.1, -0.2, 0.3]


@rule(
    REORDERED,
    ml_case("LinearRegressor", [4, 3], coefficients=_COEFFICIENTS[:3], intercepts=[0.5]),
    miss=ml_case("LinearRegressor", [4, 2], coefficients=_COEFFICIENTS[:3], intercepts=[0.5]),
)
def linear_regressor_as_product(ctx: RuleContext) -> str:
    """LinearRegressor of ai.onnx.ml -> MatMul, Add, if coefficients are as many as features and
    targets.
    """
    transform = transform_of(ctx)
    return transform(ctx, _linear(ctx, ctx.integer("targets", 1)))


@rule(
    REORDERED,
    ml_case(
        "LinearClassifier", [4, 3], outputs=2, coefficients=_COEFFICIENTS,
        intercepts=[0.1, 0.2, 0.3], classlabels_ints=[3, 5, 7], post_transform="SOFTMAX",
        multi_class=1,
    ),
    miss=ml_case(
        "LinearClassifier", [4, 3], outputs=2, coefficients=_COEFFICIENTS[:3], intercepts=[0.1],
        classlabels_ints=[0, 1],
    ),
    boundary=ml_case(
        "LinearClassifier", [4, 3], outputs=2, coefficients=_COEFFICIENTS[:6],
        intercepts=[0.1, 0.2], classlabels_ints=[0, 1], post_transform="LOGISTIC",
    ),
)  # fmt: skip
def linear_classifier_as_product(ctx: RuleContext) -> Sequence[str]:
    """LinearClassifier of ai.onnx.ml -> MatMul, Add, ArgMax, Gather, if each class has
    coefficients, and labels are integers or unread.
    """
    labels, transform, count = labels_of(ctx), transform_of(ctx), class_count(ctx)
    require(count >= 2, "there are two classes or more")  # noqa: PLR2004
    return ranked_classes(ctx, labels, transform, _linear(ctx, count))
