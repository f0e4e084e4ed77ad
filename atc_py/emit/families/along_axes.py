"""Reductions and normalisations: what runs along axes of one tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from atc_py.dtypes import DType
from atc_py.emit.family import Family
from atc_py.emit.plan import Buffer, Plan
from atc_py.emit.reduction import axes_tiling, folded
from atc_py.emit.tiling import DEPTH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from atc_py.emit.plan import KernelFacts, Launch

__all__ = ["FAMILIES"]

F16, F32, BF16 = DType.FLOAT16, DType.FLOAT32, DType.BFLOAT16
_FLOATS = frozenset({F16, F32, BF16})
_BYTES = frozenset({DType.INT8, DType.UINT8, DType.BOOL})

_EXTREMES = frozenset({"ReduceMaxD", "ReduceMinD"})
_POSITIONS = frozenset({"ArgMaxD", "ArgMinD"})
_REDUCTIONS = _EXTREMES | _POSITIONS | {
    "LpNorm", "ReduceMeanD", "ReduceProdD", "ReduceSumD", "SquareSumV1",
}  # fmt: skip
_NORMALISATIONS = frozenset({
    "LayerNorm", "LogSoftmaxV2", "LpNormalize", "MVNV2", "RmsNorm", "SoftmaxV2",
})  # fmt: skip

_AXES = ("axes", "axis", "dimension")
"""What CANN's operators call the attribute that names their axes."""

_TENSORS = 4
"""Tensors of 32 bits beside the queues: the piece, two statistics, an intermediate result."""

_PARAMETERS = 2
"""Tensors of 32 bits that parameters of a normalisation need at most."""

_WORK = 64
"""Elements of which a reduction keeps one in its working space."""


def _axes(launch: Launch) -> tuple[int, ...]:
    """The axes that the operator runs along; none named means all of them."""
    attributes, rank = launch.kernel.attributes, len(launch.inputs[0])
    if launch.kernel.op == "LayerNorm":
        return tuple(range(int(attributes["begin_norm_axis"]) % max(1, rank), rank))  # type: ignore[arg-type]
    if launch.kernel.op == "RmsNorm":
        return tuple(range(rank - len(launch.inputs[1]), rank))
    value = next((attributes[name] for name in _AXES if name in attributes), ())
    axes = value if isinstance(value, tuple) else (value,)
    return tuple(int(axis) for axis in axes) or tuple(range(rank))  # type: ignore[arg-type]


def _plan(launch: Launch) -> Plan:
    """Pieces as long as the unified buffer takes with all that is computed from them."""
    kernel = launch.kernel
    queued = [(port.name, port.dtype.itemsize) for port in (*kernel.inputs, *kernel.outputs)]
    tensors = _TENSORS + (_PARAMETERS if len(kernel.inputs) > 1 else 0)
    each = DEPTH * sum(size for _, size in queued) + 4 * tensors + 1
    spare = 256 * each
    room = max(1, (launch.soc.ub_kib * 1024 - spare) // each // 256 * 256)
    tiling = axes_tiling(folded(launch.inputs[0], _axes(launch)), room, launch.soc)
    length = tiling.buffer_length
    buffers = [Buffer(f"{name}Queue", "ub", DEPTH * size * length) for name, size in queued]
    buffers.append(Buffer("tensors", "ub", 4 * tensors * length))
    buffers.append(Buffer("work", "ub", 4 * (length // _WORK + 8)))
    return Plan(tiling, tiling.core_num, tuple(buffers), launch.moved)


def _covers(kernel: KernelFacts) -> bool:
    """Floats; of integers the extremes, which lose nothing on the way."""
    dtype = kernel.inputs[0].dtype
    if kernel.op in _EXTREMES:
        return dtype in _FLOATS | _BYTES | {DType.INT32}
    return dtype in _FLOATS


def _context(kernel: KernelFacts) -> Mapping[str, Any]:
    """The type that is computed in, and how operands become it."""
    x, y = kernel.inputs[0], kernel.outputs[0]
    return {
        "T": "int32_t" if x.dtype is DType.INT32 else "float",
        "bytes": x.dtype in _BYTES,
        "is_wide": y.dtype is F32,
        "low": {"int8": "-128", "uint8": "0", "bool": "0"}.get(x.dtype.value),
        "high": {"int8": "127", "uint8": "255", "bool": "1"}.get(x.dtype.value),
        "p": kernel.attributes.get("p"),
        "axes": [each for each in _AXES if each in kernel.attributes],
    }


def _exact(kernel: KernelFacts) -> bool:
    """What chooses among elements, or their places, rounds nothing."""
    return kernel.op in _EXTREMES | _POSITIONS


def _sums(kernel: KernelFacts) -> bool:
    """Sums may cancel, and so may differences from a mean."""
    return kernel.op in {"ReduceSumD", "ReduceMeanD", "MVNV2", "LayerNorm", "LogSoftmaxV2"}


FAMILIES = (
    Family("reduce", "reduce", _REDUCTIONS, _plan, _covers, _context, _exact, _sums),
    Family("normalize", "normalize", _NORMALISATIONS, _plan, _covers, _context, _exact, _sums),
)
