"""Lowering of LpPool: the root of sums of powers over sliding windows."""

from collections.abc import Mapping, Sequence

from atc_py.diag import ATTR_OUT_OF_RANGE
from atc_py.ir import AttrValue, Value
from atc_py.lowering.builder import Builder
from atc_py.lowering.pools import POOLED_RANKS, PoolForm, pooled
from atc_py.lowering.registry import lowering
from atc_py.lowering.windows import AUTO_PADS, AxisWindow, forward_pads
from atc_py.spec.rewrites import performs
from atc_py.tensor.shapes import element_count, window_count
from atc_py.text import Text

_FIRST = 2
"""The first spatial axis, after batch and channel."""

_WITH_PADDING: Mapping[str, AttrValue] = {"exclusive": False}


@lowering("LpPool")
def lower_lp_pool(b: Builder) -> Sequence[Value]:
    """Lower LpPool to Abs, Power, AvgPoolV2, Muls and Power, as CANN's parser does.

    Padding counts as 0, so the mean times the window's size is the sum. Where p is 1 there is no
    power. For volumes CANN has AvgPool3D; here the means are those of pools of images.
    """
    p = b.integer("p", 2)
    if p < 1:
        raise b.bad(Text("takes a p of 1 or more, found {found}", found=p), "attribute p")
    x, result = b.input(0), b.output_type()
    windows = _windows(b, x.type.rank - _FIRST)
    pads = _pads(b, windows)
    _check_room(b, pads, windows)
    powers = b.op("Abs", [x], x.type, label="magnitudes")
    if p != 1:
        powers = b.op("Power", [powers], x.type, {"power": float(p)}, "powers")
    form = PoolForm(
        "AvgPoolV2", list(zip(windows, pads, strict=True)), ceil=False, attributes=_WITH_PADDING
    )
    means = pooled(b, form, powers, "means")
    area: dict[str, AttrValue] = {"value": float(element_count([each.kernel for each in windows]))}
    if p == 1:
        return [b.op("Muls", [means], result, area)]
    sums = b.op("Muls", [means], result, area, "sums")
    return [b.op("Power", [sums], result, {"power": 1.0 / p})]


def _windows(b: Builder, axes: int) -> list[AxisWindow]:
    if axes + _FIRST not in POOLED_RANKS:
        raise b.unsupported(
            Text("has {n} spatial axes, the device pools over one to three", n=axes),
            "input X",
            Text("reshape the input so that windows run over one to three axes"),
        )
    kernel = b.integers("kernel_shape", (), axes)
    if not kernel:
        raise b.bad(Text("needs kernel_shape, found none"), "attribute kernel_shape")
    strides = b.integers("strides", (1,) * axes, axes)
    for name, numbers in (("kernel_shape", kernel), ("strides", strides)):
        if min(numbers) < 1:
            text = Text("needs positive {name}, found {found}")
            raise b.bad(text.with_values(name=name, found=list(numbers)), f"attribute {name}")
    dilations = b.optional_integers("dilations") or ()
    if b.integer("ceil_mode", 0) or any(each != 1 for each in dilations):
        raise b.unsupported(
            Text("ceil_mode and dilations have no counterpart"),
            "attribute ceil_mode" if b.integer("ceil_mode", 0) else "attribute dilations",
            Text("export the model at opset 17, where LpPool has neither"),
        )
    return [AxisWindow(size, step, 1) for size, step in zip(kernel, strides, strict=True)]


@performs("explicit-pads")
def _pads(b: Builder, windows: list[AxisWindow]) -> list[tuple[int, int]]:
    """(begin, end) padding per spatial axis in whatever form the node gives it."""
    auto_pad = b.string("auto_pad", "NOTSET") or "NOTSET"
    if auto_pad not in AUTO_PADS:
        raise b.bad(
            Text("takes {known}, found {found}", known=", ".join(AUTO_PADS), found=repr(auto_pad)),
            "attribute auto_pad",
        )
    if auto_pad != "NOTSET":
        dims = b.source(0).shape[_FIRST:]
        return [
            forward_pads(dim, window, auto_pad) for dim, window in zip(dims, windows, strict=True)
        ]
    count = len(windows)
    pads = b.integers("pads", (0,) * 2 * count, 2 * count)
    if min(pads) < 0:
        raise ATTR_OUT_OF_RANGE.error(
            Text("pads of LpPool must be at least 0, found {pads}", pads=list(pads)),
            place=b.place("attribute pads"),
            help=Text("crop with a Slice before the node instead"),
        )
    return list(zip(pads[:count], pads[count:], strict=True))


def _check_room(b: Builder, pads: list[tuple[int, int]], windows: list[AxisWindow]) -> None:
    """Refuse windows of which none fits into its axis, where the dim is known."""
    dims = b.source(0).required_dims[_FIRST:]
    for axis, (dim, pair, window) in enumerate(zip(dims, pads, windows, strict=True), _FIRST):
        if dim is not None and window_count(dim, pair, window.reach, window.stride) < 1:
            text = Text("has a window of {reach} elements, axis {axis} has {dim} with its padding")
            raise b.bad(
                text.with_values(reach=window.reach, axis=axis, dim=dim + sum(pair)), "input X"
            )
