"""Sequences of different lengths that follow one another: pairs of rows, sums of windows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.kernel import Call, kernel
from atc_py.device.sim.primitives.activations import sigmoid
from atc_py.device.sim.typing_rules import one_dtype, require_float, require_rank
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.text import Text

Array = NDArray[Any]


def _lengths(node: NodeView, position: int, name: str) -> list[int]:
    require_rank(node.required(position), 1, name)
    lengths = [int(number) for number in node.numbers_of(position, name)]
    if min(lengths, default=0) < 0:
        raise NodeError(
            Text("{name} must not be negative, found {lengths}", name=name, lengths=lengths)
        )
    return lengths


def _pairs(node: NodeView) -> list[tuple[int, int]]:
    """The lengths of each sequence of x1 and of x2, which have all of their rows."""
    first, second = _lengths(node, 2, "seq_len1"), _lengths(node, 3, "seq_len2")
    if len(first) != len(second):
        text = Text("the numbers of lengths must be equal, found {found} and {other}")
        raise NodeError(text.with_values(found=len(first), other=len(second)))
    for name, x, lengths in (("x1", node.x, first), ("x2", node.required(1), second)):
        if x.shape[0] != sum(lengths):
            text = Text("lengths add up to {sum}, found {found} {x}")
            raise NodeError(text.with_values(sum=sum(lengths), found=name, x=x))
    return list(zip(first, second, strict=True))


def _outer_types(node: NodeView) -> tuple[TensorFacts, ...]:
    x1, x2 = node.x, node.required(1)
    require_float(x1)
    one_dtype((x1, x2))
    for name, x in (("x1", x1), ("x2", x2)):
        require_rank(x, 2, name)
    if x1.shape[1] != x2.shape[1]:
        raise NodeError(
            Text("x1 {x1} and x2 {x2} must have the same number of columns", x1=x1, x2=x2)
        )
    rows = sum(first * second for first, second in _pairs(node))
    return (TensorFacts(x1.dtype, (rows, x1.shape[1])),)


@kernel("DynSeqOuter", _outer_types)
def dyn_seq_outer(call: Call) -> None:
    """Add each row of a sequence of x2 to each row of the same sequence of x1, which run faster."""
    x1, x2, out = call.x, call.input(1), call.out
    for first, second in _pairs(call.node):
        count = first * second
        pairs = out[:count].reshape(second, first, x1.shape[1])
        np.add(x2[:second, None], x1[None, :first], out=pairs)
        x1, x2, out = x1[first:], x2[second:], out[count:]


def _blocks(node: NodeView) -> list[tuple[int, int]]:
    offset = _lengths(node, 2, "offset")
    half = len(offset) // 2
    blocks = list(zip(offset[:half], offset[half:], strict=False))
    covered = sum(beams * frames for beams, frames in blocks)
    if len(offset) != 2 * half or node.x.shape != (covered,):
        raise NodeError(Text("offset {offset} does not fit alpha {x}", offset=offset, x=node.x))
    return blocks


def _window_types(node: NodeView) -> tuple[TensorFacts, ...]:
    require_float(node.x)
    one_dtype((node.x, node.required(1)))
    require_rank(node.x, 1, "alpha")
    if node.required(1).shape != node.x.shape or node.integer("ksize") < 1:
        raise NodeError(Text("energy must be like alpha {x}, and ksize positive", x=node.x))
    blocks = _blocks(node)
    beams, frames = (sum(block[side] for block in blocks) for side in range(2))
    return (TensorFacts(node.x.dtype, (beams, frames)),)


@kernel("MovingSumWithSigmoid", _window_types)
def moving_sum(call: Call) -> None:
    """Compute `y[beam, frame]` = sigmoid(energy) times alpha's sum over the next ksize frames.

    Windows end with their sequence. Results are a diagonal of blocks, 0 beside them.
    """
    alpha, energy, out = call.x, call.input(1), call.out
    out.fill(0)
    row = column = start = 0
    for beams, frames in _blocks(call.node):
        part = slice(start, start + beams * frames)
        values, gates = (array[part].reshape(beams, frames) for array in (alpha, energy))
        block = out[row : row + beams, column : column + frames]
        for ahead in range(min(call.node.integer("ksize"), frames)):
            block[:, : frames - ahead] += values[:, ahead:]
        opened = np.empty_like(gates)
        sigmoid(gates, opened)
        block *= opened
        row, column, start = row + beams, column + frames, part.stop
