"""Arithmetic of sliding windows: explicit padding for every padding form of ONNX.

Sizes and pads are per spatial axis, outermost first. Sources: ONNX operator definitions of
Conv, MaxPool, AveragePool and ConvTranspose (attributes auto_pad, pads, output_shape).
"""

import msgspec

SAME_PADS = ("SAME_UPPER", "SAME_LOWER")
AUTO_PADS = ("NOTSET", *SAME_PADS, "VALID")


class AxisWindow(msgspec.Struct, frozen=True):
    """Size, stride and dilation of a window along one axis."""

    kernel: int
    stride: int
    dilation: int

    @property
    def reach(self) -> int:
        """Elements from the first to the last tap, both included."""
        return (self.kernel - 1) * self.dilation + 1


def forward_pads(dim: int, window: AxisWindow, auto_pad: str) -> tuple[int, int]:
    """(begin, end) padding that SAME_UPPER, SAME_LOWER or VALID ask for.

    SAME gives ceil(dim / stride) windows; the odd element of padding goes to the end for
    SAME_UPPER and to the beginning for SAME_LOWER.
    """
    if auto_pad == "VALID":
        return 0, 0
    windows = -(-dim // window.stride)
    total = max((windows - 1) * window.stride + window.reach - dim, 0)
    return _halves(total, upper=auto_pad == "SAME_UPPER")


def transposed_pads(
    dim: int, window: AxisWindow, output_padding: int, auto_pad: str, output: int | None
) -> tuple[int, int]:
    """(begin, end) padding of a transposed convolution from auto_pad or a wanted size.

    total = stride * (dim - 1) + output_padding + reach - output, where SAME wants
    output = dim * stride, and no padding where the windows do not reach that far. A negative
    total for an output that was asked for is an error of the model; the caller must refuse it.
    """
    whole = window.stride * (dim - 1) + output_padding + window.reach
    if output is None:
        if auto_pad == "VALID":
            return 0, 0
        output = min(dim * window.stride, whole)
    return _halves(whole - output, upper=auto_pad == "SAME_UPPER")


def cann_pads(pads: list[tuple[int, int]]) -> tuple[int, ...]:
    """[top, bottom, left, right] as CANN writes it, from (begin, end) per axis."""
    return tuple(pad for pair in pads for pad in pair)


def _halves(total: int, *, upper: bool) -> tuple[int, int]:
    """`total` in two parts; the larger one last for `upper`, else first."""
    small = total // 2
    return (small, total - small) if upper else (total - small, small)
