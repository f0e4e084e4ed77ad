"""Normalization of rows by statistics of their own."""

from collections.abc import Sequence

from atc_py.device.ort.axes import mean
from atc_py.device.ort.body import Body
from atc_py.device.ort.numbers import carrier, number
from atc_py.device.ort.registry import emulates
from atc_py.tensor.dtypes import DType

_CHANNEL_AXES = 2
"""Axes that InstanceNorm keeps: image and channel."""


def _centered(body: Body, axes: Sequence[int]) -> tuple[str, str, str]:
    x = body.x()
    means = mean(body, x, axes)
    centered = body.add("Sub", x, means)
    return centered, means, mean(body, body.add("Mul", centered, centered), axes)


def _root(body: Body, squares: str) -> str:
    """`sqrt(squares + epsilon)`."""
    epsilon = number(body, body.node.number("epsilon"))
    return body.add("Sqrt", body.add("Add", squares, epsilon))


def _has_elements(body: Body, axes: Sequence[int]) -> bool:
    """True if no dim of x among `axes` is known to be 0."""
    return all(body.node.required(0).dims[axis] != 0 for axis in axes)


@emulates("LayerNorm")
def layer_norm(body: Body) -> Sequence[str]:
    """Write `y = (x - mean) / sqrt(mean((x - mean)^2) + epsilon) * gamma + beta`, row by row."""
    rank, epsilon = body.node.rank(), body.node.number("epsilon")
    axis = body.node.integer("begin_norm_axis") % rank
    axes = range(axis, rank)
    gamma, beta = body.x(1), body.x(2)
    single = len(body.outputs) == 1 and carrier(body.node.dtype()) is DType.FLOAT32
    if single and _has_elements(body, axes):
        return [body.add("LayerNormalization", body.x(), gamma, beta, axis=axis, epsilon=epsilon)]
    centered, means, variances = _centered(body, axes)
    normal = body.add("Div", centered, _root(body, variances))
    result = body.add("Add", body.add("Mul", normal, gamma), beta)
    return [result, means, variances][: len(body.outputs)]


@emulates("InstanceNorm")
def instance_norm(body: Body) -> str:
    """Write `y = (x - mean) / sqrt(mean((x - mean)^2) + epsilon) * gamma + beta` by channel."""
    rank, epsilon = body.node.rank(), body.node.number("epsilon")
    axes = range(_CHANNEL_AXES, rank)
    gamma, beta = body.x(1), body.x(2)
    plain = carrier(body.node.dtype()) is DType.FLOAT32 and rank > _CHANNEL_AXES
    if plain and _has_elements(body, range(rank)):
        return body.add("InstanceNormalization", body.x(), gamma, beta, epsilon=epsilon)
    centered, _, variances = _centered(body, axes)
    normal = body.add("Div", centered, _root(body, variances))
    shape = body.ints(-1, *(1,) * len(axes))
    gamma, beta = (body.add("Reshape", each, shape) for each in (gamma, beta))
    return body.add("Add", body.add("Mul", normal, gamma), beta)


@emulates("RmsNorm")
def rms_norm(body: Body) -> str:
    """Write `y = x / sqrt(mean(x^2) + epsilon) * gamma`, over the axes of gamma."""
    x, rank = body.x(), body.node.rank()
    axes = range(rank - body.node.rank(1), rank)
    squares = mean(body, body.add("Pow", x, number(body, 2)), axes)
    return body.add("Mul", body.add("Div", x, _root(body, squares)), body.x(1))
