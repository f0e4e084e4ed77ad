"""Lowering of neural-network operators: convolutions, pools, normalizations."""

from collections.abc import Sequence

from atc_py.diag import ATTR_OUT_OF_RANGE
from atc_py.ir import AttrValue, SplatConst, Value
from atc_py.lowering.builder import Builder, lowering
from atc_py.lowering.pools import POOLED_RANKS, PoolForm, pooled
from atc_py.lowering.windows import (
    SAME_PADS,
    AxisWindow,
    auto_pad_of,
    cann_pads,
    check_room,
    explicit_pads,
    pads_of,
    transposed_pads,
    windows_of,
)
from atc_py.onnx_graph.source import SourceTensor
from atc_py.spec.rewrites import performs
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import (
    OpenShapeError,
    closed_shape,
    element_count,
    format_shape,
    window_count,
)
from atc_py.text import Text

_IMAGE, _VOLUME = 4, 5
"""Ranks of what the device convolves; it pools images."""

_MOST_STRIDE = 63


# Convolutions -----------------------------------------------------------------------------------


@lowering("Conv")
def lower_conv(b: Builder) -> Sequence[Value]:
    """Lower Conv to Conv2D, of volumes to Conv3D; all padding becomes explicit pads.

    Groups stay for a later pass.
    """
    x, w = b.source(0), b.source(1)
    _need_spatial_rank(b, x, "X")
    _need_rank(b, w, "W", x.rank)
    group = b.integer("group", 1)
    wanted = w.shape[1] * group
    _check_channels(b, _channels(x, wanted, group), wanted, w.shape[0], group)
    windows = windows_of(b, _kernel_shape(b, w))
    pads = pads_of(b, windows)
    check_room(b, pads, windows)
    attributes: dict[str, AttrValue] = {
        "strides": (1, 1, *(window.stride for window in windows)),
        "pads": cann_pads(pads),
        "dilations": (1, 1, *(window.dilation for window in windows)),
        "groups": group,
    }
    inputs = b.present(b.input(0), b.input(1), b.optional_input(2))
    op = "Conv3D" if x.rank == _VOLUME else "Conv2D"
    return [b.op(op, inputs, b.output_type(), attributes)]


@lowering("ConvTranspose")
def lower_conv_transpose(b: Builder) -> Sequence[Value]:
    """Lower ConvTranspose to Conv2DTransposeD with the output size and explicit pads worked out.

    In the size -1 stands for a dim that only the run knows. Of volumes it is Conv3DTransposeD.
    """
    x, w = b.source(0), b.source(1)
    _need_spatial_rank(b, x, "X")
    _need_rank(b, w, "W", x.rank)
    axes = x.rank - 2
    group = b.integer("group", 1)
    _check_channels(b, _channels(x, w.shape[0], group), w.shape[0], w.shape[0], group)
    windows = windows_of(b, _kernel_shape(b, w))
    output_padding = b.integers("output_padding", (0,) * axes, axes)
    pads = _transposed_pads(b, x, windows, output_padding)
    if 0 in b.output_type().dims[-axes:]:
        found = format_shape(b.output_type().dims)
        text = Text("has an empty result, {found}: its pads remove every element")
        raise b.bad(text.with_values(found=found), "attribute pads")
    attributes: dict[str, AttrValue] = {
        "input_size": tuple(-1 if dim is None else dim for dim in b.output_type().dims),
        "strides": (1, 1, *(window.stride for window in windows)),
        "pads": cann_pads(pads),
        "dilations": (1, 1, *(window.dilation for window in windows)),
        "groups": group,
        "output_padding": (0, 0, *output_padding),
    }
    inputs = b.present(b.input(0), b.input(1), b.optional_input(2))
    op = "Conv3DTransposeD" if x.rank == _VOLUME else "Conv2DTransposeD"
    return [b.op(op, inputs, b.output_type(), attributes)]


# Pools ------------------------------------------------------------------------------------------


@lowering("MaxPool")
def lower_max_pool(b: Builder) -> Sequence[Value]:
    """Lower MaxPool to MaxPoolV3; the Indices output has no counterpart."""
    if b.wants_output(1):
        raise b.unsupported(
            Text("output Indices is not available on the device"),
            "output Indices",
            Text("export the model without return_indices, or compute them on the host"),
        )
    return [pooled(b, _pool(b, "MaxPoolV3", _pool_windows(b), {}, dilated=True))]


@lowering("AveragePool")
@performs("exclude-padding")
def lower_average_pool(b: Builder) -> Sequence[Value]:
    """Lower AveragePool to AvgPoolV2; count_include_pad becomes its opposite, `exclusive`."""
    windows = _pool_windows(b)
    if any(window.dilation != 1 for window in windows):
        raise b.unsupported(
            Text("dilations must be 1, found {found}", found=[each.dilation for each in windows]),
            "attribute dilations",
            Text("export the model at opset 13, where AveragePool has no dilations"),
        )
    counted = b.integer("count_include_pad", 0) != 0
    if b.input(0).type.dtype is DType.INT8:
        _check_integer_pool(b, windows)
        counted |= auto_pad_of(b) == "VALID"  # nothing is padded; CANN's rule for int8 says so
    exclusive: dict[str, AttrValue] = {"exclusive": not counted}
    return [pooled(b, _pool(b, "AvgPoolV2", windows, exclusive))]


def _check_integer_pool(b: Builder, windows: Sequence[AxisWindow]) -> None:
    """Refuse what CANN has no pool of int8 for: it becomes a convolution with a known filter."""
    x = b.source(0)
    strides = [window.stride for window in windows]
    if x.rank != _IMAGE or None in x.required_dims[1:] or max(strides) > _MOST_STRIDE:
        text = Text(
            "on int8 takes images of known channels, height and width, with strides of at most "
            "{most}, found {dims} and {strides}"
        )
        dims = format_shape(x.required_dims)
        found = text.with_values(most=_MOST_STRIDE, dims=dims, strides=strides)
        help_ = Text("give the dims with --input-shape, or leave the pool in floats")
        raise b.unsupported(found, "input X", help_)


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
    windows = _lp_windows(b, x.type.rank - 2)
    pads = pads_of(b, windows)
    _check_lp_room(b, pads, windows)
    powers = b.op("Abs", [x], x.type, label="magnitudes")
    if p != 1:
        powers = b.op("Power", [powers], x.type, {"power": float(p)}, "powers")
    form = PoolForm(
        "AvgPoolV2",
        list(zip(windows, pads, strict=True)),
        ceil=False,
        attributes={"exclusive": False},
    )
    means = pooled(b, form, powers, "means")
    area: dict[str, AttrValue] = {"value": float(element_count([each.kernel for each in windows]))}
    if p == 1:
        return [b.op("Muls", [means], result, area)]
    sums = b.op("Muls", [means], result, area, "sums")
    return [b.op("Power", [sums], result, {"power": 1.0 / p})]


@lowering("GlobalAveragePool")
@performs("align-ranks")
def lower_global_average_pool(b: Builder) -> Sequence[Value]:
    """Lower GlobalAveragePool to ReduceMeanD over the spatial axes, as CANN's own pass does."""
    axes = tuple(range(2, b.source(0).rank))
    attributes: dict[str, AttrValue] = {"axes": axes, "keep_dims": True}
    return [b.op("ReduceMeanD", [b.input(0)], b.output_type(), attributes)]


# Normalization ----------------------------------------------------------------------------------


@lowering("BatchNormalization")
@performs("drop-training-only")
def lower_batch_normalization(b: Builder) -> Sequence[Value]:
    """Lower BatchNormalization to BatchNorm with given statistics; training forms are refused."""
    training = b.flag("training_mode")
    if training or any(b.wants_output(position) for position in range(1, 5)):
        raise b.unsupported(
            Text("computes statistics, as in training"),
            "attribute training_mode" if training else "output mean",
            Text("export the model in evaluation mode (model.eval() in PyTorch)"),
        )
    if b.integer("spatial", 1) != 1:
        raise b.unsupported(
            Text("spatial = 0 (statistics per position) has no counterpart"),
            "attribute spatial",
            Text("export the model at opset 9 or later, which no longer has this form"),
        )
    attributes: dict[str, AttrValue] = {
        "epsilon": b.number("epsilon", 1e-5),
        "is_training": False,
    }
    inputs = [b.input(position) for position in range(5)]
    return [b.op("BatchNorm", inputs, b.output_type(), attributes)]


@lowering("LRN")
def lower_lrn(b: Builder) -> Sequence[Value]:
    """Lower LRN to LRN; CANN counts a radius, and its alpha applies to the sum, not to the mean."""
    size = b.integer("size", 0)
    if size < 1 or size % 2 == 0:
        raise ATTR_OUT_OF_RANGE.error(
            Text("size of LRN must be odd and positive, found {size}", size=size),
            place=b.place("attribute size"),
            help=Text("use the next odd size and train again, or run this node on the host"),
        )
    attributes: dict[str, AttrValue] = {
        "depth_radius": (size - 1) // 2,
        "bias": b.number("bias", 1.0),
        "alpha": b.number("alpha", 1e-4) / size,
        "beta": b.number("beta", 0.75),
    }
    return [b.op("LRN", [b.input(0)], b.output_type(), attributes)]


@lowering("Dropout")
def lower_dropout(b: Builder) -> Sequence[Value]:
    """Lower Dropout to nothing: at inference it hands its input on, and its mask is all ones."""
    training = b.constant_input(2, "training_mode")
    if training is not None and bool(training.any()):
        raise b.unsupported(
            Text("training_mode is true"),
            "input training_mode",
            Text("export the model in evaluation mode (model.eval() in PyTorch)"),
        )
    results = [b.input(0)]
    if b.wants_output(1):
        mask = b.output_type(1)
        results.append(b.const("mask", SplatConst(1, mask.dtype, mask.shape)))
    return results


# Parts ------------------------------------------------------------------------------------------


def _need_spatial_rank(b: Builder, value: SourceTensor, name: str) -> None:
    if value.rank != _VOLUME:
        _need_rank(b, value, name, _IMAGE)


def _need_rank(b: Builder, value: SourceTensor, name: str, rank: int) -> None:
    if value.rank != rank:
        axes, words = ("NCHW", Text("two")) if rank == _IMAGE else ("NCDHW", Text("three"))
        found = format_shape(value.required_dims)
        text = Text("input {name} must have rank {rank} ({axes}), found {found}")
        advice = Text("add axes of size 1 around the node so that it works on {n} spatial axes")
        raise b.unsupported(
            text.with_values(name=name, rank=rank, axes=axes, found=found),
            Text("input {at}", at=name),
            advice.with_values(n=words),
        )


def _channels(x: SourceTensor, wanted: int, group: int) -> int:
    """Channels of an image, or those wanted if only the run knows them, uncut."""
    channels = x.required_dims[1]
    if channels is None and group == 1:
        return wanted
    if channels is None:
        text = Text("the channels of {shape} are open")
        raise OpenShapeError(text.with_values(shape=format_shape(x.required_dims)))
    return channels


def _check_channels(b: Builder, found: int, wanted: int, outputs: int, group: int) -> None:
    if group < 1 or outputs % group or found % group:
        text = Text(
            "needs group to divide {inputs} input and {outputs} output channels, found {found}"
        )
        raise b.bad(text.with_values(inputs=found, outputs=outputs, found=group), "attribute group")
    if found != wanted:
        text = Text("has {found} input channels, its filter is for {wanted}")
        raise b.bad(text.with_values(found=found, wanted=wanted), "input W")


def _kernel_shape(b: Builder, w: SourceTensor) -> tuple[int, ...]:
    kernel = tuple(w.shape[2:])
    stated = b.optional_integers("kernel_shape")
    if stated is not None and stated != kernel:
        text = Text("states kernel_shape {stated}, its filter has {found}")
        raise b.bad(
            text.with_values(stated=list(stated), found=list(kernel)), "attribute kernel_shape"
        )
    return kernel


def _pool_windows(b: Builder) -> list[AxisWindow]:
    x = b.source(0)
    if x.rank not in POOLED_RANKS:
        _need_rank(b, x, "X", _IMAGE)
    return _kernel_windows(b, x.rank - 2)


def _kernel_windows(b: Builder, axes: int) -> list[AxisWindow]:
    kernel = b.integers("kernel_shape", (), axes)
    if not kernel:
        raise b.bad(Text("needs kernel_shape, found none"), "attribute kernel_shape")
    return windows_of(b, kernel)


def _lp_windows(b: Builder, axes: int) -> list[AxisWindow]:
    if axes + 2 not in POOLED_RANKS:
        raise b.unsupported(
            Text("has {n} spatial axes, the device pools over one to three", n=axes),
            "input X",
            Text("reshape the input so that windows run over one to three axes"),
        )
    windows = _kernel_windows(b, axes)
    if b.flag("ceil_mode") or any(window.dilation != 1 for window in windows):
        raise b.unsupported(
            Text("ceil_mode and dilations have no counterpart"),
            "attribute ceil_mode" if b.flag("ceil_mode") else "attribute dilations",
            Text("export the model at opset 17, where LpPool has neither"),
        )
    return windows


def _check_lp_room(b: Builder, pads: list[tuple[int, int]], windows: list[AxisWindow]) -> None:
    """Refuse windows of which none fits into its axis, where the dim is known."""
    dims = b.source(0).required_dims[2:]
    for axis, (dim, pair, window) in enumerate(zip(dims, pads, windows, strict=True), 2):
        if dim is not None and window_count(dim, pair, window.reach, window.stride) < 1:
            text = Text("has a window of {reach} elements, axis {axis} has {dim} with its padding")
            raise b.bad(
                text.with_values(reach=window.reach, axis=axis, dim=dim + sum(pair)), "input X"
            )


def _pool(
    b: Builder,
    op: str,
    windows: list[AxisWindow],
    more: dict[str, AttrValue],
    *,
    dilated: bool = False,
) -> PoolForm:
    ceil = auto_pad_of(b) not in SAME_PADS and b.flag("ceil_mode")
    pads = pads_of(b, windows)
    check_room(b, pads, windows, ceil=ceil)
    return PoolForm(op, list(zip(windows, pads, strict=True)), ceil, more, dilated)


@performs("explicit-pads")
def _transposed_pads(
    b: Builder, x: SourceTensor, windows: list[AxisWindow], output_padding: tuple[int, ...]
) -> list[tuple[int, int]]:
    """(begin, end) padding per spatial axis of a transposed convolution."""
    auto_pad = auto_pad_of(b)
    # The spatial part: exporters also write all axes.
    stated = (b.optional_integers("output_shape") or ())[-len(windows) :]
    wanted = stated if element_count(stated) > 0 else ()
    if not wanted and auto_pad == "NOTSET":
        return explicit_pads(b)
    pads = [
        transposed_pads(dim, window, extra, auto_pad, wanted[axis] if wanted else None)
        for axis, (dim, window, extra) in enumerate(
            zip(closed_shape(x.required_dims[2:]), windows, output_padding, strict=True)
        )
    ]
    if min(pad for pair in pads for pad in pair) < 0:
        shape = format_shape(b.output_type().shape)
        raise b.unsupported(
            Text("the output {shape} is larger than the span of its windows", shape=shape),
            "attribute output_shape" if wanted else "attribute auto_pad",
            Text("use output_padding for the rest, or a smaller output_shape"),
        )
    return pads
