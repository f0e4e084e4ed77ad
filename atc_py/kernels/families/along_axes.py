"""What runs along axes of one tensor: reductions, normalizations, and a loss."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.kernels.boxes import dense
from atc_py.kernels.family import Buffer, Family, InputSample, KernelFacts, Launch, Plan, queues
from atc_py.kernels.planes import PATTERN
from atc_py.kernels.reduction import (
    AxesTiling,
    ChannelsTiling,
    Folded,
    RowsTiling,
    axes_tiling,
    folded,
)
from atc_py.kernels.tiling import DEPTH, extended, numbers, wide
from atc_py.tensor.dtypes import DType, Format
from atc_py.tensor.shapes import Shape, element_count
from atc_py.tensor.storage import Storage, c0_of

F16, F32, BF16 = DType.FLOAT16, DType.FLOAT32, DType.BFLOAT16
_FLOATS = frozenset({F16, F32, BF16})
_BYTES = frozenset({DType.INT8, DType.UINT8, DType.BOOL})

_EXTREMES = frozenset({"ReduceMaxD", "ReduceMinD"})
_POSITIONS = frozenset({"ArgMaxD", "ArgMinD"})
_REDUCTIONS = _EXTREMES | _POSITIONS | {
    "GlobalLpPool", "LpNorm", "ReduceLogSumExp", "ReduceMeanD", "ReduceProdD", "ReduceSumD", "SquareSumV1",
}  # fmt: skip
_NORMALIZATIONS = frozenset({
    "GroupNorm", "InstanceNorm", "LayerNorm", "LogSoftmaxV2", "LpNormalize", "MVNV2", "RmsNorm", "SoftmaxV2",
})  # fmt: skip

_PRODUCT = "ReduceProdD"
_SCANS = frozenset({"CumsumD", "HardMax"})

_OF_ROWS = frozenset({"LayerNorm", "RmsNorm"})
_OF_CHANNELS = frozenset({"GlobalLpPool", "GroupNorm", "InstanceNorm"})
_WITH_PARAMETERS = _OF_CHANNELS - {"GlobalLpPool"}
_PIXELS = 2
"""The first axis that operators of channels run along, after batch and channel."""

_AXES = ("axes", "axis", "dimension")
"""Names of the attribute of CANN's operators that holds their axes."""

_TENSORS = 4
"""Tensors of 32 bits beside the queues: the piece, two statistics, an intermediate result."""

_PARAMETERS = 2
"""Tensors of 32 bits that parameters of a normalization need at most."""

_IMAGE, _CHANNELS, _COLUMNS = 4, 1, 3
_WORK = 64
"""Elements of which a reduction keeps one in its working space."""


def _axes(launch: Launch) -> tuple[int, ...]:
    attributes, rank = launch.kernel.attributes, len(launch.inputs[0])
    if launch.kernel.op == "LayerNorm":
        return tuple(range(int(attributes["begin_norm_axis"]) % max(1, rank), rank))  # type: ignore[arg-type]
    if launch.kernel.op in _OF_CHANNELS:
        return tuple(range(_PIXELS, rank))
    if launch.kernel.op == "RmsNorm":
        return tuple(range(rank - len(launch.inputs[1]), rank))
    value = next((attributes[name] for name in _AXES if name in attributes), ())
    axes = value if isinstance(value, tuple) else (value,)
    return tuple(int(axis) for axis in axes) or tuple(range(rank))  # type: ignore[arg-type]


def _block(kernel: KernelFacts) -> int:
    """The lanes of a block in rows of blocks; 0 where rows run lane by lane."""
    value = next((kernel.attributes[name] for name in _AXES if name in kernel.attributes), ())
    axes = value if isinstance(value, tuple) else (value,)
    across = _COLUMNS in {int(axis) % _IMAGE for axis in axes}  # type: ignore[arg-type]
    return c0_of(kernel.inputs[0].dtype) if across and kernel.op not in _POSITIONS else 0


def _patterns(kernel: KernelFacts) -> tuple[str, ...]:
    """The patterns that mark padding lanes where these count for a statistic."""
    if kernel.op in {"SoftmaxV2", "LogSoftmaxV2"}:
        return "pattern", "least"
    return ("pattern",) if kernel.op in {"LayerNorm", "MVNV2"} else ()


def room_of(launch: Launch) -> tuple[int, Callable[[int], tuple[Buffer, ...]]]:
    """Elements that there is room for, and what buffers of a length take."""
    kernel = launch.kernel
    ports = (*kernel.inputs, *kernel.outputs)
    tensors = _TENSORS + (_PARAMETERS if len(kernel.inputs) > 1 else 0)
    wide = 8 if kernel.inputs[0].dtype is DType.INT64 else 4
    each = DEPTH * sum(port.dtype.itemsize for port in ports) + wide * tensors + 1
    spare = 256 * each
    room = max(1, (launch.soc.ub_kib * 1024 - spare) // each // 256 * 256)

    def buffers(length: int) -> tuple[Buffer, ...]:
        work = Buffer("work", "ub", wide * (length // _WORK + 8))
        return (*queues(ports, length), Buffer("tensors", "ub", wide * tensors * length), work)

    return room, buffers


def _channels_tiling(launch: Launch, room: int) -> ChannelsTiling:
    """Groups of one channel, or of several as runs, of one image each, whatever dims are 1."""
    images, channels, *pixels = launch.inputs[0]
    length = prod(pixels)
    groups = int(launch.kernel.attributes.get("num_groups", channels))  # type: ignore[arg-type]
    runs = channels // max(1, groups)
    rows = Folded(((images * groups, runs * length),), ((runs, length),) * (runs > 1), 1, length)
    base = axes_tiling(rows, room, launch.soc)
    return extended(ChannelsTiling, base, channels=groups)


class _AlongAxes(Family):
    """Operators that run along axes of one tensor row by row."""

    def __init__(self, name: str, operators: Iterable[str]) -> None:
        self.name = self.template = name
        self.operators = frozenset(operators)

    def plan(self, launch: Launch) -> Plan:
        """Take pieces as long as the unified buffer takes with all that is computed from them."""
        room, buffers = room_of(launch)
        axes = folded(launch.inputs[0], _axes(launch))
        if launch.kernel.op in _WITH_PARAMETERS:
            tiling: AxesTiling = _channels_tiling(launch, room)
        elif launch.kernel.op in _OF_ROWS and axes.lanes != 1:
            rows = prod(launch.inputs[0])  # of one element each: parameters go along the row
            tiling = axes_tiling(Folded(((rows, 1),), (), 1, 1), room, launch.soc)
        else:
            tiling = axes_tiling(axes, room, launch.soc)
        return Plan(tiling, tiling.core_num, buffers(tiling.buffer_length), launch.moved)

    def covers(self, kernel: KernelFacts) -> bool:
        """True for floats; of integers for what loses nothing on the way.

        Axes that are an input must be constant.
        """
        if kernel.op == "ReduceLogSumExp" and "axes" not in kernel.attributes:
            return False
        dtype = kernel.inputs[0].dtype
        if kernel.op in _EXTREMES or kernel.op == "CumsumD":
            return dtype in _FLOATS | _BYTES | {DType.INT32}
        if kernel.op == _PRODUCT:
            return dtype in _FLOATS | _BYTES
        return dtype in _FLOATS | ({DType.INT32, DType.INT64} if kernel.op in _POSITIONS else set())

    def context(self, kernel: KernelFacts) -> Mapping[str, Any]:
        x, y = kernel.inputs[0], kernel.outputs[0]
        return {
            "T": {DType.INT32: "int32_t", DType.INT64: "int64_t"}.get(x.dtype, "float"),
            "bytes": x.dtype in _BYTES,
            "is_wide": y.dtype is F32,
            "mixed": x.dtype is not F32 and any(port.dtype is F32 for port in kernel.inputs[1:]),
            "low": {"int8": "-128", "uint8": "0", "bool": "0"}.get(x.dtype.value),
            "high": {"int8": "127", "uint8": "255", "bool": "1"}.get(x.dtype.value),
            "p": kernel.attributes.get("p"),
            "reverse": bool(kernel.attributes.get("reverse")),
            "exclusive": bool(kernel.attributes.get("exclusive")),
            "lanes": 0,
            "block": 0,
        }

    def exact(self, kernel: KernelFacts) -> bool:
        """True for what selects elements or positions, for sums in order, and for integers."""
        exact = kernel.op in _EXTREMES | _POSITIONS | _SCANS
        return exact or not kernel.outputs[0].dtype.is_float

    def sums(self, kernel: KernelFacts) -> bool:
        """True for sums, which may cancel, and so may differences from a mean."""
        return kernel.op in {"ReduceSumD", "ReduceMeanD", "MVNV2", "LayerNorm", "LogSoftmaxV2"}


class _AlongImages(_AlongAxes):
    """Operators that run along axes of images in NC1HWC0, past their blocks of channels."""

    in_blocks = True

    def plan(self, launch: Launch) -> Plan:
        """Take blocks of channels as lanes; axes keep their places.

        Where columns are run along, a row is all lanes of all columns, of which one block is left.
        """
        room, buffers = room_of(launch)
        images, planes, height, width, c0 = launch.stored_inputs[0]
        axes = [axis % _IMAGE for axis in _axes(launch)]
        if _block(launch.kernel):
            shape: Shape = (images, planes, height, width * c0)
            tiling = axes_tiling(folded(shape, axes), room, launch.soc)
            tiling = extended(type(tiling), tiling, count=tiling.count // c0)
        else:
            tiling = axes_tiling(folded(launch.stored_inputs[0], axes), room, launch.soc, c0)
        return Plan(tiling, tiling.core_num, buffers(tiling.buffer_length), launch.moved)

    def covers(self, kernel: KernelFacts) -> bool:
        """True for images whose blocks are alike, and what makes zeros of lanes of zeros."""
        storages = {port.storage for port in (*kernel.operands, *kernel.outputs)}
        blocks = {c0_of(port.dtype) for port in (*kernel.operands, *kernel.outputs)}
        alike = storages == {Storage(Format.NC1HWC0)} and len(blocks) == 1
        wraps = kernel.op == _PRODUCT and kernel.inputs[0].dtype in _BYTES
        return alike and kernel.op != "LpNorm" and not wraps and super().covers(kernel)

    def fits(self, launch: Launch) -> bool:
        """True for axes that go past the blocks, along at least one element each."""
        axes = {axis % _IMAGE for axis in _axes(launch)}
        return _CHANNELS not in axes and all(launch.inputs[0])

    def context(self, kernel: KernelFacts) -> Mapping[str, Any]:
        return {**super().context(kernel), "block": _block(kernel)}


class _AlongMatrices(_AlongAxes):
    """Operators that run along the rows of matrices in FRACTAL_NZ."""

    in_blocks = True

    def plan(self, launch: Launch) -> Plan:
        room, buffers = room_of(launch)
        *stack, columns, upper, side, c0 = launch.stored_inputs[0]
        plane = upper * side * c0
        rows = Folded(((prod(stack), columns * plane),), ((columns, plane),), plane, 1)
        base = axes_tiling(rows, room, launch.soc, c0)
        height, width = launch.inputs[0][-2:]
        tiling = extended(
            RowsTiling, base, count=width, valid=height * c0, tail=width % c0, columns=width
        )
        patterns = tuple(
            Buffer(name, "ub", PATTERN) for name in (*_patterns(launch.kernel), "resultPattern")
        )
        placed = (*buffers(tiling.buffer_length), *patterns)
        return Plan(tiling, tiling.core_num, placed, launch.moved)

    def covers(self, kernel: KernelFacts) -> bool:
        """True for matrices in FRACTAL_NZ with parameters row by row."""
        x, y = kernel.inputs[0], kernel.outputs[0]
        nz = Storage(Format.FRACTAL_NZ)
        parameters = all(port.storage is None for port in kernel.inputs[1:])
        if len(kernel.outputs) > 1:
            return False
        return {x.storage, y.storage} == {nz} and parameters and super().covers(kernel)

    def fits(self, launch: Launch) -> bool:
        """True along the last axis alone, with parameters for each column."""
        shape, *parameters = launch.inputs
        axes = {axis % len(shape) for axis in _axes(launch)}
        whole = all(element_count(each) == shape[-1] for each in parameters)
        return axes == {len(shape) - 1} and whole and all(shape)

    def context(self, kernel: KernelFacts) -> Mapping[str, Any]:
        own = _patterns(kernel)
        lanes = c0_of(kernel.inputs[0].dtype)
        return {**super().context(kernel), "lanes": lanes, "pattern": PATTERN, "patterns": own}


_CLASSES = 1
"""The axis of scores that runs over classes."""


class _Losses(Family):
    """The cross entropy of a softmax."""

    name = template = "loss"
    operators = frozenset({"SoftmaxCrossEntropyLoss"})

    def plan(self, launch: Launch) -> Plan:
        """Cut as a softmax along the classes is; one core adds up where losses are reduced."""
        room, buffers = room_of(launch)
        tiling = axes_tiling(folded(launch.inputs[0], (_CLASSES,)), room, launch.soc)
        if launch.kernel.attributes["reduction"] != "none":
            tiling = extended(type(tiling), tiling, core_num=1)
        return Plan(tiling, tiling.core_num, buffers(tiling.buffer_length), launch.moved)

    def context(self, kernel: KernelFacts) -> Mapping[str, Any]:
        return {
            "T": "float",
            "bytes": False,
            "block": 0,
            "lanes": 0,
            "result": 1,
            "parameters": ("weight", "loss"),
            "reduction": kernel.attributes["reduction"],
            "weighted": len(kernel.inputs) > 2,  # noqa: PLR2004  (scores and labels)
        }

    def exact(self, kernel: KernelFacts) -> bool:
        return False

    def sums(self, kernel: KernelFacts) -> bool:
        return True

    def draw(self, sample: InputSample, generator: np.random.Generator) -> NDArray[Any] | None:
        scores, labels = sample.shapes[:2]
        if sample.position != 1 or scores is None or labels is None:
            return None
        return generator.integers(-1, scores[_CLASSES] + 1, labels)


class MaskedTiling(AxesTiling):
    """Work along the last axis, with the place of each row's mask."""

    mask_strides: tuple[int, ...] = numbers("elements between neighbors in the mask", pad=0)
    mask_length: int = wide("elements of the mask for each row; 1 where all of a row share one")


class _MaskedSoftmax(Family):
    """Softmax along the last axis of scores beside which a mask stands."""

    name = template = "masked_softmax"
    operators = frozenset({"ScaledMaskedSoftmax"})

    def plan(self, launch: Launch) -> Plan:
        """Assign rows of x to cores; dims of 1 stay, so that strides of the mask match them."""
        shape, mask = launch.inputs
        room, buffers = room_of(launch)
        before = shape[:-1] or (1,)
        kept = tuple(zip(before, dense(shape)[:-1] or (0,), strict=True))
        tiling = axes_tiling(Folded(kept, (), 1, shape[-1]), room, launch.soc)
        full = (1,) * (len(shape) - len(mask)) + mask
        pairs = zip(full, dense(full), strict=True)
        strides = tuple(0 if dim == 1 else stride for dim, stride in pairs)
        placed = extended(
            MaskedTiling, tiling, mask_strides=strides[:-1] or (0,), mask_length=full[-1]
        )
        return Plan(placed, tiling.core_num, buffers(tiling.buffer_length), launch.moved)

    def covers(self, kernel: KernelFacts) -> bool:
        x, mask = kernel.inputs
        floats = {DType.FLOAT16, DType.FLOAT32, DType.BFLOAT16}
        return x.dtype in floats and mask.dtype is DType.BOOL

    def context(self, kernel: KernelFacts) -> Mapping[str, Any]:
        return {
            "T": "float",
            "bytes": False,
            "lanes": 0,
            "parameters": ("shown",),
            "load": "LoadMasked",
        }

    def exact(self, kernel: KernelFacts) -> bool:
        return False


FAMILIES = (
    _AlongAxes("reduce", _REDUCTIONS),
    _AlongImages("reduce", _REDUCTIONS),
    _AlongAxes("normalize", _NORMALIZATIONS),
    _AlongMatrices("normalize", _NORMALIZATIONS),
    _AlongAxes("scan", _SCANS),
    _Losses(),
    _MaskedSoftmax(),
)
