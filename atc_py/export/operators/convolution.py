"""Convolutions and transposed convolutions of images and volumes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.export.hf32 import factors
from atc_py.export.node import NoFormError
from atc_py.export.registry import emulates
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from atc_py.export.body import Body

__all__: list[str] = []


@emulates("Conv2D", "Conv3D")
def convolution(body: Body) -> str:
    """Write `y[n, o] = bias[o] + sum over c and taps of (w - offset_w)[o, c] * x[n, c]`."""
    return _convolved(body, body.node.integer("groups"))


@emulates("DepthwiseConv2D")
def depthwise(body: Body) -> str:
    """Write a convolution in as many groups as channels."""
    return _convolved(body, _channels(body))


def _channels(body: Body) -> int:
    """Return the channels of the data."""
    channels = body.node.type(0).dims[1]
    if channels is None:
        raise NoFormError("input 'x' has an open number of channels")
    return channels


def _convolved(body: Body, groups: int) -> str:
    """Return a convolution of floats."""
    _check_float64(body)
    operands = [*factors(body), *_bias(body)]
    return body.add("Conv", *operands, group=groups, **_geometry(body))


@emulates("Conv2DTransposeD", "Conv3DTransposeD")
def transposed(body: Body) -> str:
    """Write the sum of the filter times each element, which falls on `i * stride + tap - pad`."""
    _check_float64(body)
    node = body.node
    return body.add(
        "ConvTranspose",
        *factors(body),
        *_bias(body),
        group=node.integer("groups"),
        output_padding=node.integers("output_padding")[2:],
        **_geometry(body),
    )


def _check_float64(body: Body) -> None:
    """Refuse what onnxruntime has no kernels for.

    Raises:
        NoFormError: the operands are of float64.
    """
    if body.node.dtype() is DType.FLOAT64:
        raise NoFormError("onnxruntime has no convolution of float64")


def _bias(body: Body) -> list[str]:
    """Return the bias as a list of one, or of none."""
    return [body.x(2)] if body.node.has(2) else []


def _geometry(body: Body) -> dict[str, tuple[int, ...]]:
    """Return the attributes of ONNX's convolutions: CANN's pads alternate, ONNX's do not."""
    node = body.node
    pads = node.integers("pads")
    return {
        "strides": node.integers("strides")[2:],
        "dilations": node.integers("dilations")[2:],
        "pads": (*pads[::2], *pads[1::2]),
    }
