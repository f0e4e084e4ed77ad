"""Forms of the oldest opsets that mean another thing later: broadcasting by attributes, training, Scatter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site
    from atc_py.source import SourceNode

__all__ = ["is_old_form", "new_form"]

_BROADCAST = 7
"""Opset since which operands are broadcast as numpy does; before, by attributes."""

_SCATTER = 11
"""Opset since which Scatter is called ScatterElements."""

_BY_ATTRIBUTES = frozenset(
    {"Add", "And", "Div", "Equal", "Gemm", "Greater", "Less", "Mul", "Or", "Pow", "Sub", "Xor"}
)
_ROWS = 2
"""Rank of batch and channels alone."""

_OF_TRAINING = frozenset({"BatchNormalization", "Dropout"})
_DROPPED: dict[str, Any] = {"axis": None, "broadcast": None, "consumed_inputs": None}
_DROPPED_OF_TRAINING: dict[str, Any] = {
    "consumed_inputs": None,
    "is_test": None,
    "ratio": None,
    "spatial": None,
}


def is_old_form(node: SourceNode, opset: int) -> bool:
    """Return True if the node needs a form of its own to mean the same at `opset`."""
    if node.domain:
        return False
    if node.op_type == "Scatter":
        return node.opset < _SCATTER <= opset
    changed = node.op_type in _BY_ATTRIBUTES | _OF_TRAINING or node.op_type == "PRelu"
    return changed and node.opset < _BROADCAST <= opset


def new_form(site: Site) -> Sequence[str]:
    """Write a node in the form of the site's opset.

    Raises:
        UnfitError: ranks that it depends on are not known.
    """
    node = site.node
    inputs = [site.name(at) for at in range(len(node.inputs))]
    if node.op_type == "Scatter":
        return [site.op("ScatterElements", inputs, axis=site.integer("axis", 0))]
    if node.op_type in _OF_TRAINING:
        require(site.integer("is_test", 0) == 1, "is_test is 1", "is_test 为 1")
        require(site.integer("spatial", 1) == 1, "spatial is 1", "spatial 为 1")
        return site.again(inputs, len(node.outputs), **_DROPPED_OF_TRAINING)
    if node.op_type == "PRelu":
        inputs[1] = _slope(site)
    elif node.op_type != "Gemm" and site.integer("broadcast", 0):
        inputs[1] = _aligned(site)
    return site.again(inputs, len(node.outputs), **_DROPPED)


def _aligned(site: Site) -> str:
    """Return the second operand with axes of 1 after its own, up to the last axis of the first."""
    rank, own = len(site.dims(0)), len(site.dims(1))
    axis = site.integer("axis", rank - own)
    after = rank - (axis % rank if rank else 0) - own
    require(after >= 0, "the axes of B are among those of A", "B 的轴包含于 A 的轴")
    if not after:
        return site.name(1)
    return site.unsqueeze(site.name(1), list(range(own, own + after)))


def _slope(site: Site) -> str:
    """Return the slopes, which are one for each channel, with axes of 1 after the channel's."""
    rank, slopes = len(site.dims(0)), site.shape(1)
    if len(slopes) != 1 or slopes == (1,) or rank <= _ROWS:
        return site.name(1)
    return site.unsqueeze(site.name(1), list(range(1, rank - 1)))
