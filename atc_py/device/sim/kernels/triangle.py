"""Diagonals and triangles of matrices."""

import numpy as np

from atc_py.device.sim.kernel import Call, Rounding, kernel
from atc_py.device.sim.typing_rules import one_dtype, require_rank
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.text import Text

_MATRIX = 2


def _number(node: NodeView, position: int, name: str) -> int:
    numbers = node.numbers_of(position, name)
    if numbers.size != 1 or numbers.dtype.kind not in "iu":
        text = Text("{name} must be one integer, found {found}")
        raise NodeError(text.with_values(name=name, found=node.required(position)))
    return int(numbers.reshape(-1)[0])


def _diagonal_types(node: NodeView) -> tuple[TensorFacts, ...]:
    diagonal, padding = node.x, node.required(4)
    one_dtype((diagonal, padding))
    require_rank(padding, 0, "padding_value")
    k = _number(node, 1, "k")
    rows, columns = _number(node, 2, "num_rows"), _number(node, 3, "num_cols")
    if min(rows, columns) < 0 or not diagonal.rank:
        text = Text("needs rows and columns, found {found} and {columns} for {diagonal}")
        raise NodeError(text.with_values(found=rows, columns=columns, diagonal=diagonal))
    length = max(0, min(rows + min(k, 0), columns - max(k, 0)))
    if diagonal.shape[-1] != length:
        text = Text("diagonals of {length} elements are needed, found {found}")
        raise NodeError(text.with_values(length=length, found=diagonal))
    return (TensorFacts(diagonal.dtype, (*diagonal.shape[:-1], rows, columns)),)


@kernel("MatrixDiagV2", _diagonal_types, rounding=Rounding.ON_GRID)
def matrix_diag(call: Call) -> None:
    """Fill with the padding value, and put element n of the diagonal n places along it."""
    k = _number(call.node, 1, "k")
    np.copyto(call.out, call.input(4))
    places = np.arange(call.x.shape[-1])
    call.out[..., places - min(k, 0), places + max(k, 0)] = call.x


def _triangle_types(node: NodeView) -> tuple[TensorFacts, ...]:
    if node.x.rank < _MATRIX:
        text = Text("x must have {n} axes or more, found {found}")
        raise NodeError(text.with_values(n=_MATRIX, found=node.x))
    k = node.input(1)
    if k is not None and k.elements != 1:
        raise NodeError(Text("k must be one number, found {found}", found=k))
    if k is not None and not k.dtype.is_integer:
        raise NodeError(Text("k must be an integer, found {found}", found=k))
    return (node.x,)


@kernel("Trilu", _triangle_types, rounding=Rounding.ON_GRID)
def trilu(call: Call) -> None:
    """Keep elements with `j - i >= k` of the upper triangle, `j - i <= k` of the lower one."""
    rows, columns = call.x.shape[-2:]
    given = call.optional(1)
    k = 0 if given is None else int(given.reshape(-1)[0])
    held = min(max(k, -rows - 1), columns + 1)
    if call.node.integer("upper"):
        outside = np.tri(rows, columns, held - 1, dtype=np.bool_)
    else:
        outside = ~np.tri(rows, columns, held, dtype=np.bool_)
    np.copyto(call.out, call.x)
    np.copyto(call.out, call.out.dtype.type(0), where=outside)
