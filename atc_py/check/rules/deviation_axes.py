"""Predicates on lengths of axes that only deviations of CANN ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.check.answers import HOLDS, Answer, all_of, fails, unknown
from atc_py.check.predicate import predicate
from atc_py.check.rules.reading import dims_of
from atc_py.check.rules.wording import described, shape_text
from atc_py.diag.codes import DEVIATES_ON_CANN
from atc_py.onnx_graph.source import SourceTensor
from atc_py.spec.deviation_rules import OneAxisFrom, PartsEven, RowsWithinColumns
from atc_py.text import Text

if TYPE_CHECKING:
    from atc_py.check.bound_node import BoundNode

_MATRIX = 2


@predicate(
    OneAxisFrom,
    DEVIATES_ON_CANN,
    demand="every dim of {tensor} of {op} but that of the axis that CANN takes ({default} if "
    "{attribute} is left out) must be 1, starting at {attribute}",
    help_=Text("put the axis last by Transpose nodes"),
)
def one_axis_from(rule: OneAxisFrom, node: BoundNode) -> Answer:
    """Judge a node by an OneAxisFrom rule."""
    return all_of(_one_axis(rule, node, tensor) for tensor in node.tensors(rule.tensor))


def _one_axis(rule: OneAxisFrom, node: BoundNode, tensor: SourceTensor) -> Answer:
    """The answer for one tensor; an axis that it does not have is reported elsewhere."""
    dims = dims_of(tensor)
    first = node.value(rule.attribute)
    if dims is None:
        return unknown(described(rule.tensor, tensor))
    taken = first if node.is_set(rule.attribute) else rule.default
    rank = len(dims)
    if not (isinstance(first, int) and isinstance(taken, int)) or not -rank <= taken < rank:
        return HOLDS
    start = first if first >= 0 else first + rank
    over = set(range(start, rank)) ^ {taken % rank}
    if any(dims[each] not in {None, 1} for each in over):
        shape = shape_text(tensor)
        return fails(
            Text(
                "{attribute} {first} and {shape}",
                attribute=rule.attribute,
                first=first,
                shape=shape,
            )
        )
    return unknown(described(rule.tensor, tensor)) if None in {dims[at] for at in over} else HOLDS


@predicate(
    PartsEven,
    DEVIATES_ON_CANN,
    demand="the dim of {tensor} of {op} along {along} must be a multiple of the number of outputs",
    help_=Text("give the dims of the parts"),
)
def parts_even(rule: PartsEven, node: BoundNode) -> Answer:
    """Judge a node by a PartsEven rule."""
    return all_of(_even(rule, node, tensor) for tensor in node.tensors(rule.tensor))


def _even(rule: PartsEven, node: BoundNode, tensor: SourceTensor) -> Answer:
    """The answer for one tensor; an axis that it does not have is reported elsewhere."""
    dims = dims_of(tensor)
    if dims is None:
        return unknown(described(rule.tensor, tensor))
    axis = node.value(rule.along)
    if not isinstance(axis, int) or not -len(dims) <= axis < len(dims):
        return HOLDS
    length, parts = dims[axis], len(node.view.outputs)
    if length is None:
        return HOLDS if parts == 1 else unknown(described(rule.tensor, tensor))
    if not parts or length % parts == 0:
        return HOLDS
    return fails(Text("{length} in {parts} parts", length=length, parts=parts))


@predicate(
    RowsWithinColumns,
    DEVIATES_ON_CANN,
    demand="{tensor} of {op} must not have more rows than columns",
    help_=Text("make the transposed matrix and transpose it"),
)
def rows_within_columns(rule: RowsWithinColumns, node: BoundNode) -> Answer:
    """Judge a node by a RowsWithinColumns rule."""
    return all_of(_flat(rule.tensor, tensor) for tensor in node.tensors(rule.tensor))


def _flat(name: str, tensor: SourceTensor) -> Answer:
    """The answer for one tensor; another rank than 2 is reported elsewhere."""
    dims = dims_of(tensor)
    if dims is None:
        return unknown(described(name, tensor))
    if len(dims) != _MATRIX:
        return HOLDS
    rows, columns = dims
    if rows is None or columns is None:
        return unknown(described(name, tensor))
    return HOLDS if rows <= columns else fails(shape_text(tensor))
