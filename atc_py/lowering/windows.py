"""Sliding windows of a node: their sizes, and explicit padding for every padding form of ONNX.

Sizes and pads are per spatial axis, outermost first. Sources: ONNX operator definitions of
Conv, MaxPool, AveragePool and ConvTranspose (attributes auto_pad, pads, output_shape).
"""

import msgspec

from atc_py.diag import ATTR_OUT_OF_RANGE
from atc_py.lowering.builder import Builder
from atc_py.onnx_graph.source import SourceTensor
from atc_py.spec.rewrites import performs
from atc_py.tensor.shapes import OpenShapeError, format_shape, window_count
from atc_py.text import Text

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


# Attributes of a node --------------------------------------------------------------------------


def windows_of(b: Builder, kernel: tuple[int, ...]) -> list[AxisWindow]:
    axes = len(kernel)
    strides = b.integers("strides", (1,) * axes, axes)
    dilations = b.integers("dilations", (1,) * axes, axes)
    for name, numbers in (("kernel_shape", kernel), ("strides", strides), ("dilations", dilations)):
        if min(numbers) < 1:
            text = Text("needs positive {name}, found {found}")
            raise b.bad(text.with_values(name=name, found=list(numbers)), f"attribute {name}")
    return [AxisWindow(*axis) for axis in zip(kernel, strides, dilations, strict=True)]


def check_room(
    b: Builder, pads: list[tuple[int, int]], windows: list[AxisWindow], *, ceil: bool = False
) -> None:
    """Refuse windows of which none fits into its axis, where the dim is known."""
    dims = b.source(0).required_dims[2:]
    for name, dim, pair, window in zip("DHW"[-len(dims) :], dims, pads, windows, strict=True):
        if dim is None:
            continue
        if window_count(dim, pair, window.reach, window.stride, ceil=ceil) < 1:
            padded = Text(", {n} with its padding", n=dim + sum(pair)) if any(pair) else ""
            text = Text(
                "has a window that reaches over {reach} elements, its axis {axis} has {dim}{pads}"
            )
            values = {"reach": window.reach, "axis": name, "dim": dim}
            raise b.bad(text.with_values(pads=padded, **values), "input X")


def auto_pad_of(b: Builder) -> str:
    """The attribute auto_pad; refuse one that ONNX does not define."""
    auto_pad = b.string("auto_pad", "NOTSET") or "NOTSET"
    if auto_pad not in AUTO_PADS:
        raise b.bad(
            Text("takes {known}, found {found}", known=", ".join(AUTO_PADS), found=repr(auto_pad)),
            "attribute auto_pad",
        )
    return auto_pad


@performs("explicit-pads")
def pads_of(b: Builder, windows: list[AxisWindow]) -> list[tuple[int, int]]:
    """(begin, end) padding per spatial axis in whatever form the node gives it."""
    auto_pad = auto_pad_of(b)
    if auto_pad == "NOTSET":
        return explicit_pads(b)
    return [
        forward_pads(_padded_dim(b.source(0), axis, window, auto_pad), window, auto_pad)
        for axis, window in enumerate(windows, 2)
    ]


def _padded_dim(x: SourceTensor, axis: int, window: AxisWindow, auto_pad: str) -> int:
    """A dim to pad; any if only the run knows it and the pads are the same for all."""
    dim = x.required_dims[axis]
    if dim is not None:
        return dim
    if auto_pad == "VALID" or window.stride == 1:
        return 1
    text = Text("{auto_pad} pads by the open dims of {shape}")
    raise OpenShapeError(text.with_values(auto_pad=auto_pad, shape=format_shape(x.required_dims)))


def explicit_pads(b: Builder) -> list[tuple[int, int]]:
    axes = b.source(0).rank - 2
    pads = b.integers("pads", (0,) * 2 * axes, 2 * axes)
    if min(pads) < 0:
        raise ATTR_OUT_OF_RANGE.error(
            Text(
                "pads of {op_type} must be at least 0, found {pads}",
                op_type=b.node.op_type,
                pads=list(pads),
            ),
            place=b.place("attribute pads"),
            help=Text("crop with a Slice before the node instead"),
        )
    return list(zip(pads[:axes], pads[axes:], strict=True))
