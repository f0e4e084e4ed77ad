"""Predicates on the axes of Resize that only deviations of CANN ask."""

from typing import Any, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import NDArray

from atc_py.check.bound_node import BoundNode
from atc_py.check.predicate import deviation
from atc_py.check.reading import HOLDS, Answer, NamedTensor, all_of, fails, operand, unknown
from atc_py.spec.deviations import OuterDimsKept, ResizedByKernel
from atc_py.tensor.resampling import MOST_PLACES, KernelAxis, ResizedAxis
from atc_py.text import Text

_IMAGE = 4
_OUTER = 2
"""Axes before those that the kernels resize: batch and channels."""

_WITH_MODES = 11
"""Opset since which attributes say how coordinates are transformed and rounded."""

_NEAR = 1e-3
"""Distance of two places in X, in elements, below which linear results are alike."""

_SHIFTED = frozenset({"asymmetric", "half_pixel", "tf_half_pixel_for_nn"})
"""Modes in which places in X do not depend on its length, but at the ends."""

_ANY_SIZE = 4
"""Elements that have two ends and what is between them."""

_CROP = "tf_crop_and_resize"
_WHOLE = (0.0, 1.0)
_HELP = Text("express it with other operators")


class _Change(NamedTuple):
    """One axis: its length in X, that of the result, and the scale; None where that is open."""

    size: int | None
    made: int | None
    scale: np.float32 | None

    @property
    def is_kept(self) -> bool:
        """True if the axis stays as it is, whatever its length."""
        return self.scale == 1 and self.size == self.made


@deviation(demand="{op} must keep the first two dims of {tensor}", help_=_HELP)
def _outer_dims_kept(rule: OuterDimsKept, node: BoundNode) -> Answer:
    tensor = operand(node, rule.tensor)
    if tensor is None:
        return HOLDS
    changes = _changes(node, tensor)[:_OUTER]
    return all_of(_kept(axis, change) for axis, change in enumerate(changes))


def _kept(axis: int, change: _Change) -> Answer:
    if change.is_kept:
        return HOLDS
    if change.size is None or change.made is None:
        return unknown(Text("axis {axis} is open", axis=axis))
    if change.size == change.made:
        return HOLDS
    return fails(
        Text("{size} made {made} on axis {axis}", size=change.size, made=change.made, axis=axis)
    )


@deviation(
    demand="{op} must read {tensor} where the kernel does, which centers pixels with {halves} and "
    "takes the {ties} one of two at ties",
    help_=_HELP,
)
def _resized_by_kernel(rule: ResizedByKernel, node: BoundNode) -> Answer:
    tensor = operand(node, rule.tensor)
    if tensor is None:
        return HOLDS
    dims = tensor.dims
    if dims is not None and len(dims) != _IMAGE:
        return HOLDS  # the rule on the rank reports it
    changes = _changes(node, tensor)
    roi = operand(node, "roi")
    if _coordinates(node) == _CROP and (roi is None or not roi.is_known):
        return unknown(Text("roi is not constant"))
    return all_of(_alike(rule, node, axis, change) for axis, change in enumerate(changes))


def _alike(rule: ResizedByKernel, node: BoundNode, axis: int, change: _Change) -> Answer:
    mode = _coordinates(node)
    region = _region(node, axis) if mode == _CROP else _WHOLE
    if region == _WHOLE and (change.is_kept or axis < _OUTER):
        return HOLDS  # the rule on the outer dims reports these
    if 0 in {change.size, change.made}:
        return HOLDS
    if change.size is None and _doubles(change.scale) and mode in _SHIFTED:
        any_size = _Change(_ANY_SIZE, int(_ANY_SIZE * change.scale), change.scale)
        alike = _alike(rule, node, axis, any_size)
        return alike if alike is HOLDS else unknown(Text("axis {axis} is open", axis=axis))
    if change.size is None or change.made is None or change.scale is None:
        return unknown(Text("axis {axis} is open", axis=axis))
    if change.made > MOST_PLACES:
        return unknown(Text("axis {axis} grows to {made}", axis=axis, made=change.made))
    defined = ResizedAxis(axis, change.size, change.made, change.scale, *region)
    kernel = KernelAxis(
        change.size,
        change.made,
        halves=mode in rule.halves,
        corners=mode == "align_corners",
        upper=rule.ties == "upper",
    )
    return _compared(node, defined, kernel)


def _doubles(scale: np.float32 | None) -> TypeGuard[np.float32]:
    """True for a power of two above 1, by which every step is exact, whatever the length of X."""
    return scale is not None and bool(scale > 1 and np.frexp(scale)[0] == 0.5)  # noqa: PLR2004  (its mantissa)


def _compared(node: BoundNode, defined: ResizedAxis, kernel: KernelAxis) -> Answer:
    mode = _coordinates(node)
    outside = defined.outside(mode)
    meant: NDArray[Any]
    taken: NDArray[Any]
    if node.value("mode") == "nearest":
        meant, taken = (
            defined.nearest(
                mode, "simple" if node.opset < _WITH_MODES else str(node.value("nearest_mode"))
            ),
            kernel.nearest,
        )
        differs = (meant != taken) | outside
    else:
        meant = np.clip(defined.coordinates(mode), 0, defined.size - 1)
        taken = kernel.linear
        differs = (np.abs(meant - taken) > _NEAR) | outside
    if not differs.any():
        return HOLDS
    at = int(differs.argmax())
    source = "extrapolation_value" if outside[at] else f"X[{meant[at]:g}]"
    other = f"X[{taken[at]:g}]"
    return fails(
        Text(
            "element {at} of axis {axis} from {source}, in CANN from {other}",
            at=at,
            axis=defined.axis,
            source=source,
            other=other,
        )
    )


def _coordinates(node: BoundNode) -> str:
    if node.opset < _WITH_MODES:
        return "asymmetric"
    return str(node.value("coordinate_transformation_mode"))


def _region(node: BoundNode, axis: int) -> tuple[float, float]:
    """Begin and end of the region on one axis; the whole axis where it is not well formed."""
    roi = operand(node, "roi")
    data = None if roi is None else roi.constant()
    if data is None or isinstance(data, Text) or data.size != 2 * _IMAGE:
        return _WHOLE
    flat = data.reshape(-1)
    return float(flat[axis]), float(flat[axis + _IMAGE])


def _changes(node: BoundNode, tensor: NamedTensor) -> list[_Change]:
    dims = tensor.known_dims()
    for name in ("sizes", "scales"):
        given = operand(node, name)
        if given is None or given.tensor.dims == (0,):
            continue
        flat = given.data().reshape(-1)
        if len(flat) != len(dims):
            return []  # the rule on the count reports it
        make = _by_size if name == "sizes" else _by_scale
        return [make(size, flat[axis : axis + 1]) for axis, size in enumerate(dims)]
    return []  # the list demands one of them


def _by_size(size: int | None, wanted: NDArray[np.int64]) -> _Change:
    count = int(wanted[0])
    if not size:
        return _Change(size, count, None)
    return _Change(size, count, (wanted.astype("float32") / size).astype("float32")[0])


def _by_scale(size: int | None, scale: NDArray[np.float32]) -> _Change:
    rate = scale.astype("float32")[0]
    count = None if size is None else int((scale * size).astype("float32")[0])
    return _Change(size, count, rate)
