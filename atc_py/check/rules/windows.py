"""Predicates on windows: the output shape of a transposed convolution, padding of pooling."""

from collections.abc import Callable
from typing import NamedTuple

from atc_py.check.bound_node import BoundNode
from atc_py.check.predicate import deviation, predicate
from atc_py.check.reading import (
    HOLDS,
    Answer,
    NamedTensor,
    SettledError,
    all_of,
    asked,
    attribute,
    fails,
    integer_list,
    integers,
    noted,
    operand,
    operands,
    shown,
    unknown,
)
from atc_py.diag import SHAPES_DISAGREE
from atc_py.spec.deviations import OutputShapeFromPads, OutputShapePadsEvenly
from atc_py.spec.rules import OutputShapeWithinFull, SamePaddingEven
from atc_py.text import COMMA, Text, verbatim


class _Steps(NamedTuple):
    """Parameters of windows on the axes that they slide along, one number each."""

    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    output_padding: tuple[int, ...]


_UNSET = _Steps((1,), (1,), (0,))
"""Value for each axis if an attribute is absent."""


@predicate(
    SHAPES_DISAGREE,
    demand="{attribute} of {op} must not exceed the span of all windows {other} on {tensor}",
    help_=Text(
        "write a smaller {attribute} and add the rest with Pad after the node, or leave it "
        "out and set pads"
    ),
)
def _output_shape_within_full(rule: OutputShapeWithinFull, node: BoundNode) -> Answer:
    wanted = integer_list(node, rule.attribute)
    return all_of(
        asked(_within_full, node, wanted, (tensor, window))
        for tensor in operands(node, rule.tensor)
        for window in operands(node, rule.other)
    )


def _within_full(
    node: BoundNode, wanted: tuple[int, ...], pair: tuple[NamedTensor, NamedTensor]
) -> Answer:
    shapes = []
    for tensor in pair:
        dims = tensor.known_dims()
        if not node.operand(tensor.name).has_rank(len(dims)):
            return HOLDS
        shapes.append(dims[2:])
    if any(len(shape) != len(wanted) for shape in shapes):
        return fails(shown(wanted))
    steps = _steps(node, len(wanted))
    seen = COMMA.join([pair[0].described(), pair[1].described()])
    return _none_exceeds(wanted, _full_cover(shapes[0], shapes[1], steps), seen)


def _none_exceeds(wanted: tuple[int, ...], full: list[int | None], seen: Text) -> Answer:
    if any(most is not None and asked > most for asked, most in zip(wanted, full, strict=True)):
        covered = "x".join("?" if most is None else shown(most) for most in full)
        return fails(noted(shown(wanted), Text("the span is {covered}", covered=covered)))
    return unknown(seen) if None in full else HOLDS


def _full_cover(
    lengths: tuple[int | None, ...], windows: tuple[int | None, ...], steps: _Steps
) -> list[int | None]:
    """The number of elements that all windows cover on each axis; None if a dim is open.

    Formula: (length - 1) * stride + (window - 1) * dilation + 1 + output_padding, which ONNX's
    ConvTranspose has as the output shape without pads.
    """
    full: list[int | None] = []
    for length, window, stride, dilation, padding in zip(lengths, windows, *steps, strict=True):
        if length is None or window is None:
            full.append(None)
        else:
            full.append((length - 1) * stride + (window - 1) * dilation + 1 + padding)
    return full


@deviation(
    demand="the span of all windows {other} on {tensor} minus {attribute} of {op} must be even",
    help_=Text("leave {attribute} out and set pads"),
)
def _output_shape_pads_evenly(rule: OutputShapePadsEvenly, node: BoundNode) -> Answer:
    return HOLDS if _is_plain(node) else _each_axis(rule, node, _halved_alike)


@deviation(
    demand="{attribute} of {op} must be the span of all windows {other} on {tensor} minus the pads",
    help_=Text("leave {attribute} out and set pads"),
)
def _output_shape_from_pads(rule: OutputShapeFromPads, node: BoundNode) -> Answer:
    return _each_axis(rule, node, _padded_as_written) if _is_plain(node) else HOLDS


def _is_plain(node: BoundNode) -> bool:
    """True if auto_pad is written as NOTSET, not left out."""
    return node.is_set("auto_pad") and attribute(node, "auto_pad") == "NOTSET"


def _each_axis(
    rule: OutputShapePadsEvenly | OutputShapeFromPads,
    node: BoundNode,
    alike: Callable[[BoundNode, int, int, int, _Steps], bool],
) -> Answer:
    wanted = integers(attribute(node, rule.attribute))
    tensors = operand(node, rule.tensor), operand(node, rule.other)
    if wanted is None or tensors[0] is None or tensors[1] is None:
        return HOLDS
    shapes = [tensor.dims for tensor in tensors if tensor is not None]
    seen = COMMA.join([tensors[0].described(), tensors[1].described()])
    if None in shapes:
        return unknown(seen)
    lengths, windows = ((shape or ())[2:] for shape in shapes)
    if {len(lengths), len(windows)} != {len(wanted)}:
        return HOLDS  # other rules report it
    try:
        steps = _steps(node, len(wanted))
    except SettledError:
        return HOLDS  # as above
    full = _full_cover(lengths, windows, steps)
    answers = [
        None if most is None else alike(node, axis, most, asked, steps)
        for axis, (most, asked) in enumerate(zip(full, wanted, strict=True))
    ]
    if False in answers:
        return fails(COMMA.join([verbatim(shown(wanted)), seen]))
    return unknown(seen) if None in answers else HOLDS


def _halved_alike(node: BoundNode, axis: int, most: int, asked: int, steps: _Steps) -> bool:
    """True if ONNX and CANN begin an axis with the same half of its padding."""
    upper = attribute(node, "auto_pad") == "SAME_UPPER"
    total = max(0, most - asked)
    taken = max(0, most - steps.output_padding[axis] - asked)
    if upper:
        return total // 2 == taken - taken // 2
    return total - total // 2 == taken // 2


def _padded_as_written(node: BoundNode, axis: int, most: int, asked: int, steps: _Steps) -> bool:
    pads = integers(attribute(node, "pads")) or ()
    axes = len(steps.strides)
    begin, end = (pads[axis], pads[axis + axes]) if len(pads) == 2 * axes else (0, 0)
    total = most - asked
    # ONNX halves with the larger half at the beginning, where auto_pad is not SAME_UPPER.
    return begin + end == total and begin == total - total // 2


@predicate(
    SHAPES_DISAGREE,
    demand="with {attribute} of {op}, the padding that covers all of {tensor} must be even on "
    "each axis",
    help_=Text("set auto_pad to NOTSET and write the padding as pads"),
)
def _same_padding_even(rule: SamePaddingEven, node: BoundNode) -> Answer:
    windows = integers(attribute(node, rule.attribute))
    if windows is None:
        return HOLDS
    steps = _steps(node, len(windows))
    return all_of(
        asked(_pads_evenly, tensor, windows, steps) for tensor in operands(node, rule.tensor)
    )


def _pads_evenly(tensor: NamedTensor, windows: tuple[int, ...], steps: _Steps) -> Answer:
    """The answer for one tensor.

    Formula: the padding is (ceil(length / stride) - 1) * stride + window - length, or nothing where
    that is negative, as ONNX has it for SAME_UPPER and SAME_LOWER.
    """
    dims = tensor.known_dims()
    if len(dims) != len(windows) + 2:
        return HOLDS  # the rule on the rank reports it
    undecided = False
    for length, window, stride in zip(dims[2:], windows, steps.strides, strict=True):
        if stride < 1 or (stride == 1 and window % 2 == 1):
            continue
        if length is None:
            undecided = True
        elif max(0, (-(-length // stride) - 1) * stride + window - length) % 2:
            return fails(COMMA.join([tensor.described(), verbatim(shown(windows))]))
    return unknown(tensor.described()) if undecided else HOLDS


def _steps(node: BoundNode, axes: int) -> _Steps:
    """The attributes that place the windows; where one has no integer for each axis a rule fails."""
    lists = []
    for name, unset in zip(_Steps._fields, _UNSET, strict=True):
        value = attribute(node, name)
        items = unset * axes if value is None else integers(value)
        if items is None or len(items) != axes:
            raise SettledError(fails(f"{name} = {shown(value)}"))
        lists.append(items)
    return _Steps(*lists)
