"""Pad, as its rules read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from atc_py.fix.site import Site

__all__ = ["LISTED", "Pads", "pads_of"]

LISTED = frozenset({DType.FLOAT16, DType.FLOAT32, DType.INT32})
"""Dtypes that Pad has on the lists."""

_AS_INPUT = 11
"""Opset since which pads and the value are inputs."""

_VALUE, _AXES = 2, 3


@dataclass(frozen=True, slots=True)
class Pads:
    """The pads of a node.

    Attributes:
        begins: elements before each axis; negative ones are cut off.
        ends: elements after each axis.
        mode: where the elements are from.
        value: of mode constant; None if it is computed.
    """

    begins: tuple[int, ...]
    ends: tuple[int, ...]
    mode: str
    value: float | None

    @property
    def is_zero(self) -> bool:
        """True if the value is 0."""
        return self.value == 0


def pads_of(site: Site) -> Pads:
    """Return the pads, two numbers for each axis of the data.

    Raises:
        UnfitError: they or the axes are computed.
    """
    rank = len(site.dims(0))
    value: float | None = 0.0
    if site.node.opset < _AS_INPUT:
        stated = list(site.integers("pads"))
        value = site.number("value", 0.0)
    else:
        stated = [int(each) for each in site.constant(1)]
        given = site.tensor(_VALUE)
        if given is not None:
            value = None if given.const is None else given.const.numpy().reshape(()).item()
    axes = list(range(rank))
    if site.tensor(_AXES) is not None:
        axes = [int(each) % rank for each in site.constant(_AXES)]
    begins, ends = [0] * rank, [0] * rank
    pairs = zip(axes, stated[: len(axes)], stated[len(axes) :], strict=True)
    for axis, begin, end in pairs:
        begins[axis], ends[axis] = begin, end
    return Pads(tuple(begins), tuple(ends), site.text("mode", "constant"), value)
