"""Activations: functions of each element that networks put between their layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.export.body import is_rounded
from atc_py.export.numbers import number
from atc_py.export.registry import emulates
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from atc_py.export.body import Body

__all__: list[str] = []


def _step(body: Body, value: str) -> str:
    """Return a step's result: rounded to float16 in the implementation that rounds each step."""
    mode = body.node.attributes.get("impl_mode")
    narrow = body.node.dtype() is DType.FLOAT16 and mode == "high_performance"
    return body.rounded(value, DType.FLOAT16) if narrow else value


@emulates("Sigmoid")
def sigmoid(body: Body) -> str:
    """Write `y = 1 / (1 + exp(-x))`."""
    dtype, x = body.node.dtype(), body.x()
    if is_rounded(dtype) and body.node.attributes.get("impl_mode") != "high_performance":
        return body.add("Sigmoid", x)
    power = _step(body, body.add("Exp", body.add("Neg", x)))
    return body.add("Reciprocal", _step(body, body.add("Add", power, number(body, 1))))


@emulates("HardSigmoid")
def hard_sigmoid(body: Body) -> str:
    """Write `y = max(0, min(1, alpha * x + beta))`; NaN stays NaN."""
    alpha, beta = (number(body, body.node.number(name)) for name in ("alpha", "beta"))
    line = body.add("Add", body.add("Mul", body.x(), alpha), beta)
    return body.add("Clip", line, number(body, 0), number(body, 1))
