"""Convolutions of real models, with strides, pads and dilations from wherever they are known.

A fused convolution keeps none of them: the network has them, the kernel's loads have those of a
convolution, and shapes allow few.
"""

from collections.abc import Sequence

from atc_py.ir import AttrValue, Value
from atc_py.onnx_graph.graph import OnnxNode
from atc_py.pipeline.huawei.building import LaunchBuilder, LaunchOperator, stated_attributes, vector
from atc_py.pipeline.huawei.tensors import NotModeledError
from atc_py.pipeline.huawei.windows import WindowAxis, kernel_windows, solve
from atc_py.target import find_operator
from atc_py.text import Text


def add_convolution(operation: LaunchOperator, builder: LaunchBuilder) -> Value:
    """A convolution, with strides and pads from the file, the network, or the shapes."""
    row = find_operator(operation.type)
    if row is None:
        raise NotModeledError(Text("the arithmetic of {op} is not known", op=operation.type))
    names = [operand.name for operand in row.inputs]
    inputs = [operation.operands.get(name) for name in names]
    bias = inputs[2]
    inputs[2] = None if bias is None else vector(bias, builder)
    while inputs[-1] is None:
        inputs.pop()
    attributes = stated_attributes(row, operation.attributes, {})
    attributes["data_format"] = "NCHW"
    if "strides" not in attributes or "pads" not in attributes:
        attributes |= _window(operation, attributes.get("dilations"))
        if "groups" in attributes:
            attributes["groups"] = filter_groups(operation.type, *_channels(operation))
    elif operation.attributes.text("data_format") == "NHWC":
        raise NotModeledError(Text("{op} has its channels last", op=operation.type))
    if row.name == "Conv2DTransposeD":
        attributes["input_size"] = tuple(operation.results[0].shape)
    return builder.add(row.name, inputs, attributes, operation.own_results)


def filter_groups(type_: str, channels: int, results: int, filters: Sequence[int | None]) -> int:
    """The groups of a convolution, which a fused one no longer has, by the channels of its filter."""
    if len(filters) < 2 or not filters[0] or not filters[1]:  # noqa: PLR2004
        return 1
    return max(results if type_ == "Conv2DTransposeD" else channels, 1) // filters[1] or 1


def _channels(operation: LaunchOperator) -> tuple[int, int, Sequence[int | None]]:
    """Channels of the data and of the result, and the filter's dims."""
    kinds = operation.x.type, operation.results[0], operation.operand("filter").type
    data, result = (kind.dims[1] if len(kind.dims) > 1 else 0 for kind in kinds[:2])
    return data or 0, result or 0, kinds[2].dims


def _window(operation: LaunchOperator, stated: AttrValue | None) -> dict[str, AttrValue]:
    """Strides, pads and dilations of a convolution that has lost them.

    The dilations that the file then states are a default [proven]; others are taken as they are.
    """
    node = operation.node
    if node is not None and node.op_type in _CONVOLUTIONS:
        down, right = _numbers(node, "strides", (1, 1))
        far, wide = _numbers(node, "dilations", (1, 1))
        given = {"strides": (1, 1, down, right), "dilations": (1, 1, far, wide)}
        if node.text("auto_pad", "NOTSET") == "NOTSET":
            top, left, bottom, end = _numbers(node, "pads", (0, 0, 0, 0))
            return {**given, "pads": (top, bottom, left, end)}
        return {**given, "pads": _solved(operation, (far, wide), (down, right))[1]}
    known = _kernel_window(operation)
    if known is not None:
        return known
    dilations = tuple(map(int, stated)) if isinstance(stated, tuple) else ()
    far, wide = dilations[2:4] if len(dilations) == 4 else (1, 1)  # noqa: PLR2004
    strides, pads, assumed = _solved(operation, (far, wide), None)
    if assumed:
        text = Text("strides {strides}, pads {pads} and dilations {dilations} are not in the file")
        shown = {
            name: ",".join(map(str, numbers))
            for name, numbers in (
                ("strides", strides[2:]), ("pads", pads), ("dilations", (far, wide))
            )
        }  # fmt: skip
        operation.assumptions.append(text.with_values(**shown))
    return {"strides": strides, "pads": pads, "dilations": (1, 1, far, wide)}


_CONVOLUTIONS = frozenset({"Conv", "ConvTranspose"})


def _numbers(node: OnnxNode, name: str, default: tuple[int, ...]) -> tuple[int, ...]:
    """An attribute; `default` where it is absent or of another length."""
    given = node.integers(name)
    return given if len(given) == len(default) else default


def _kernel_window(operation: LaunchOperator) -> dict[str, AttrValue] | None:
    """The window of the kernel's loads, where it leads to the result's dims; else None."""
    taps = operation.operand("filter").type.dims[2:]
    if operation.type == "Conv2DTransposeD" or len(taps) != 2 or None in taps:  # noqa: PLR2004
        return None
    windows = kernel_windows(operation.kernel(), (taps[0] or 0, taps[1] or 0))
    if len(windows.loads) != 1:
        return None
    (load,) = windows.loads
    axes = _axes(operation, load.dilations, load.strides)
    if axes is None or solve(axes) is None:
        return None
    for start in sorted(windows.starts, reverse=True):  # pieces after the first have no pad above
        ends: list[int | None] = []
        for axis, stride, first in zip(axes, load.strides, start, strict=True):
            fitting = [both - first for both in axis.pads(stride) if both >= first]
            # As long as the pad at the start, or else the shortest.
            ends.append(first if first in fitting else min(fitting, default=None))
        if None not in ends:
            return {
                "strides": (1, 1, *load.strides),
                "pads": (start[0], ends[0] or 0, start[1], ends[1] or 0),
                "dilations": (1, 1, *load.dilations),
            }
    return None


def _axes(
    operation: LaunchOperator, dilations: tuple[int, int], strides: tuple[int, int] | None
) -> list[WindowAxis] | None:
    """Height and width of a convolution; None where it is not of images."""
    x, filter_, result = operation.x.type, operation.operand("filter").type, operation.results[0]
    is_transposed = operation.type == "Conv2DTransposeD"
    long, short = (result.dims, x.dims) if is_transposed else (x.dims, result.dims)
    extra = operation.attributes.numbers("output_padding") or (0, 0, 0, 0)
    if not len(long) == len(short) == len(filter_.dims) == len(extra) == 4:  # noqa: PLR2004
        return None
    axes = [
        WindowAxis(
            long[at] or 0,
            short[at] or 0,
            filter_.dims[at] or 0,
            dilations[at - 2],
            extra[at] if is_transposed else None,
        )
        for at in (2, 3)
    ]
    if strides is None:
        return axes
    return [axis._replace(strides=(step,)) for axis, step in zip(axes, strides, strict=True)]


def _solved(
    operation: LaunchOperator, dilations: tuple[int, int], strides: tuple[int, int] | None
) -> tuple[tuple[int, ...], tuple[int, ...], bool]:
    """Strides and pads that lead to the result's dims, and whether others do so as well."""
    axes = _axes(operation, dilations, strides)
    solved = None if axes is None else solve(axes)
    if axes is None or solved is None:
        raise NotModeledError(Text("no strides and pads lead to the dims of its result"))
    height, width = solved
    pads = (height.before, height.after, width.before, width.after)
    is_point = all(axis.reach == 1 for axis in axes)
    assumed = height.assumed or width.assumed or not is_point
    return (1, 1, height.stride, width.stride), pads, assumed
