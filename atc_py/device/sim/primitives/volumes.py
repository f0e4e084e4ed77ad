"""Sliding windows over the last three axes of NCDHW data: geometry, and what a slice reads."""

from dataclasses import dataclass

from atc_py.device.sim.primitives.window import Axis, Window
from atc_py.package.node_view import NodeError, NodeView
from atc_py.tensor.shapes import Shape
from atc_py.text import Text

VOLUME_RANK = 5


@dataclass(frozen=True, slots=True)
class VolumeWindow:
    """A window over depth, height and width."""

    depth: Axis
    height: Axis
    width: Axis

    @property
    def axes(self) -> tuple[Axis, Axis, Axis]:
        return self.depth, self.height, self.width

    @property
    def slice(self) -> Window:
        return Window(self.height, self.width)

    def outputs(self, dims: Shape) -> Shape:
        return tuple(axis.outputs(dim) for axis, dim in zip(self.axes, dims, strict=True))

    def read(self, place: int, depth: int) -> list[tuple[int, int]]:
        """Tap and slice of what the windows at `place` read along the depth, padding apart."""
        axis = self.depth
        first = place * axis.stride - axis.before
        taps = ((tap, first + tap * axis.dilation) for tap in range(axis.size))
        return [(tap, at) for tap, at in taps if 0 <= at < depth]

    def met(self, place: int, depth: int) -> list[tuple[int, int]]:
        """Tap and slice of what falls on slice `place` of a transposed convolution."""
        axis = self.depth
        reached = ((tap, place + axis.before - tap * axis.dilation) for tap in range(axis.size))
        found = ((tap, at // axis.stride) for tap, at in reached if at % axis.stride == 0)
        return [(tap, at) for tap, at in found if 0 <= at < depth]


def volume_window(node: NodeView, size: Shape) -> VolumeWindow:
    """The window of a node whose attributes strides, dilations and pads are CANN's.

    Strides and dilations are in NCDHW order, pads are [front, back, top, bottom, left, right].
    """
    strides, dilations = _spatial(node, "strides"), _spatial(node, "dilations")
    pads = node.integers("pads", 6)
    return VolumeWindow(
        *(
            Axis(size[at], strides[at], dilations[at], pads[2 * at], pads[2 * at + 1])
            for at in range(VOLUME_RANK - 2)
        )
    )


def filter_volume(node: NodeView) -> VolumeWindow:
    return volume_window(node, node.required(1).shape[2:])


def _spatial(node: NodeView, name: str) -> Shape:
    batch, channels, *rest = node.integers(name, VOLUME_RANK)
    if (batch, channels) != (1, 1):
        text = Text("{name} must start with 1, 1 (NCDHW), found {found}")
        raise NodeError(text.with_values(name=name, found=[batch, channels]))
    return tuple(rest)
