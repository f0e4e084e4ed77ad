"""Predicates that only deviations of CANN ask: on attributes, axes, and values.

Those on values are undecided where a run computes the values.
"""

from itertools import cycle
from math import isfinite

from atc_py.check.bound_node import BoundNode
from atc_py.check.predicate import deviation, each_tensor
from atc_py.check.reading import (
    HOLDS,
    Answer,
    NamedTensor,
    all_of,
    array_at_fault,
    asked,
    fails,
    numbers,
    operand,
    operands,
    shown,
    unknown,
)
from atc_py.onnx_graph.source import SourceNode
from atc_py.spec import deviations
from atc_py.text import Text

_OTHERWISE = Text("express it with other operators")

_MATRIX = 2


@deviation(demand="{attribute} of {op} must be left out", help_=_OTHERWISE)
def _attr_absent(rule: deviations.AttrAbsent, node: BoundNode) -> Answer:
    return fails(shown(node.value(rule.attribute))) if node.is_set(rule.attribute) else HOLDS


@deviation(demand="{attribute} of {op} must be left out or repeat {values}", help_=_OTHERWISE)
def _attr_repeats(rule: deviations.AttrRepeats, node: BoundNode) -> Answer:
    value = node.value(rule.attribute)
    if not isinstance(value, tuple):
        return HOLDS
    wanted = cycle(text.lower() for text in rule.values)
    same = all(str(one).lower() == two for one, two in zip(value, wanted, strict=False))
    return HOLDS if same else fails(shown(value))


@deviation(demand="{tensor} of {op} must be left out", help_=_OTHERWISE)
def _operand_not_given(rule: deviations.OperandNotGiven, node: BoundNode) -> Answer:
    return fails(Text("given")) if operands(node, rule.tensor) else HOLDS


@deviation(
    demand="{tensor} of {op} must have the dims of {other}, or those of its columns",
    help_=Text("add {tensor} after the node"),
)
def _bias_per_column(rule: deviations.BiasPerColumn, node: BoundNode) -> Answer:
    bias, other = operand(node, rule.tensor), operand(node, rule.other)
    if bias is None or other is None:
        return HOLDS
    one, two = bias.known_dims(), other.known_dims()
    if not one or not two or one in (two, two[-1:]):
        return HOLDS
    seen = bias.described()
    return unknown(seen) if None in (*one, *two) else fails(seen)


@deviation(demand="{name} of {op} must be given", help_=Text("write {name} out"))
def _part_given(rule: deviations.PartGiven, node: BoundNode) -> Answer:
    return HOLDS if node.is_given(rule.name) or rule.fed in node.fed else fails(Text("left out"))


@deviation(
    demand="the opset of a model with {op} must be outside of {opsets}",
    help_=Text("state the model at another opset"),
)
def _opset_outside(rule: deviations.OpsetOutside, node: BoundNode) -> Answer:
    first, last = rule.opsets
    written = node.written or node.opset
    return fails(Text("opset {written}", written=written)) if first <= written <= last else HOLDS


@deviation(
    demand="{op} must set one of {attributes}",
    help_=Text("write one of {attributes}, even if with its default value"),
)
def _any_attr_given(rule: deviations.AnyAttrGiven, node: BoundNode) -> Answer:
    given = (node.view.attributes.get(name) for name in rule.attributes)
    if any(value is not None and value != () for value in given):
        return HOLDS
    return fails(Text("none of them"))


@deviation(
    demand="{op} must have {tensor}, {other} or both",
    help_=Text("give one of the two", context="operands"),
)
def _any_operand_given(rule: deviations.AnyOperandGiven, node: BoundNode) -> Answer:
    given = operands(node, rule.tensor) or operands(node, rule.other)
    return HOLDS if given else fails(Text("neither"))


@deviation(
    demand="{attribute} of {op} must be left out, or be 1 or more in magnitude",
    help_=Text("write an integer other than 0"),
)
def _attr_truncates_to_nonzero(rule: deviations.AttrTruncatesToNonzero, node: BoundNode) -> Answer:
    value = node.value(rule.attribute)
    if not node.is_set(rule.attribute) or not isinstance(value, int | float):
        return HOLDS
    return fails(shown(value)) if abs(value) < 1 else HOLDS


@deviation(
    demand="no earlier {op} may set {attribute} unless this node or an earlier one sets {along}",
    help_=Text("set {along} on the node"),
)
def _none_before_sets(rule: deviations.NoneBeforeSets, node: BoundNode) -> Answer:
    own = node.view.attributes
    if rule.attribute in own or rule.along in own:
        return HOLDS
    if _some(() if _order_is_open(node) else node.before, rule.along) is not None:
        return HOLDS
    return _none_before(rule.attribute, node)


@deviation(
    demand="{op} with {along} must set {attribute} if an earlier one in the model does",
    help_=Text("set {attribute} on the node"),
)
def _sets_as_before(rule: deviations.SetsAsBefore, node: BoundNode) -> Answer:
    own = node.view.attributes
    if rule.along not in own or rule.attribute in own:
        return HOLDS
    return _none_before(rule.attribute, node)


def _none_before(attribute: str, node: BoundNode) -> Answer:
    setter = _some(node.before, attribute)
    if setter is None:
        return HOLDS
    name = f'"{setter.name}"' if setter.name else Text("node {n}", n=setter.index)
    seen = Text("{name} sets {attribute}", name=name, attribute=attribute)
    return unknown(seen) if _order_is_open(node) else fails(seen)


def _some(nodes: tuple[SourceNode, ...], attribute: str) -> SourceNode | None:
    return next((node for node in nodes if attribute in node.attributes), None)


def _order_is_open(node: BoundNode) -> bool:
    """True where a node stands in a branch: when its graph is parsed is not known."""
    return any(other.scope for other in (node.view, *node.before))


@deviation(
    demand="every dim of {tensor} of {op} at {attribute} and after it must be 1, except "
    "that of the axis that CANN uses ({default} if {attribute} is left out)",
    help_=Text("put the axis last by Transpose nodes"),
)
@each_tensor
def _one_axis_from(rule: deviations.OneAxisFrom, node: BoundNode, tensor: NamedTensor) -> Answer:
    """The answer for one tensor; an axis that it does not have is reported elsewhere."""
    dims, first = tensor.known_dims(), node.value(rule.attribute)
    taken = first if node.is_set(rule.attribute) else rule.default
    rank = len(dims)
    if not (isinstance(first, int) and isinstance(taken, int)) or not -rank <= taken < rank:
        return HOLDS
    start = first if first >= 0 else first + rank
    over = set(range(start, rank)) ^ {taken % rank}
    if any(dims[axis] not in {None, 1} for axis in over):
        shape = tensor.shape_text()
        return fails(
            Text(
                "{attribute} {first} and {shape}",
                attribute=rule.attribute,
                first=first,
                shape=shape,
            )
        )
    return unknown(tensor.described()) if None in {dims[at] for at in over} else HOLDS


@deviation(
    demand="the dim of {tensor} of {op} along {along} must be a multiple of the number of outputs",
    help_=Text("give the dims of the parts"),
)
@each_tensor
def _parts_even(rule: deviations.PartsEven, node: BoundNode, tensor: NamedTensor) -> Answer:
    """The answer for one tensor; an axis that it does not have is reported elsewhere."""
    dims, axis = tensor.known_dims(), node.value(rule.along)
    if not isinstance(axis, int) or not -len(dims) <= axis < len(dims):
        return HOLDS
    length, parts = dims[axis], len(node.view.outputs)
    if length is None:
        return HOLDS if parts == 1 else unknown(tensor.described())
    if not parts or length % parts == 0:
        return HOLDS
    return fails(Text("{length} in {parts} parts", length=length, parts=parts))


@deviation(
    demand="{tensor} of {op} must not have more rows than columns",
    help_=Text("make the transposed matrix and transpose it"),
)
@each_tensor
def _rows_within_columns(
    _rule: deviations.RowsWithinColumns, _node: BoundNode, tensor: NamedTensor
) -> Answer:
    """The answer for one tensor; another rank than 2 is reported elsewhere."""
    dims = tensor.known_dims()
    if len(dims) != _MATRIX:
        return HOLDS
    rows, columns = (tensor.known_length(dim) for dim in dims)
    return HOLDS if rows <= columns else fails(tensor.shape_text())


@deviation(
    demand="{tensor} of {op} must have values in {range}", help_=Text("limit the values with Clip")
)
@each_tensor
def _values_within(rule: deviations.ValuesWithin, _: BoundNode, tensor: NamedTensor) -> Answer:
    return _within(tensor, *rule.range)


@deviation(
    demand="{tensor} of {op} must be in [-{other}, {other} - 1]",
    help_=Text("clear the entries of other indices with Where and Mul"),
)
def _indices_within_depth(rule: deviations.IndicesWithinDepth, node: BoundNode) -> Answer:
    depth = operand(node, rule.other)
    if depth is None:
        return HOLDS
    values = numbers(depth.data())
    if values is None or values.size != 1 or not isfinite(values[0]):
        return unknown(Text("{other} is not a number", other=rule.other))
    size = int(values[0])
    return all_of(asked(_within, tensor, -size, size - 1) for tensor in operands(node, rule.tensor))


def _within(tensor: NamedTensor, least: float, most: float) -> Answer:
    dtype = tensor.tensor.dtype
    if dtype is not None and dtype.is_integer:
        import ml_dtypes  # numpy's iinfo does not know int4

        limits = ml_dtypes.iinfo(dtype.numpy)  # type: ignore[no-untyped-call]
        if least <= limits.min and limits.max <= most:
            return HOLDS
    data = tensor.data()
    values = numbers(data)
    if values is None:
        return HOLDS
    beyond = (values < least) | (values > most)
    return fails(array_at_fault(data, int(beyond.argmax()))) if beyond.any() else HOLDS


@deviation(
    demand="{tensor} of {op} must not be zero all along {attribute}",
    help_=Text("limit the norm from below and divide by it"),
)
@each_tensor
def _norms_not_zero(rule: deviations.NormsNotZero, node: BoundNode, tensor: NamedTensor) -> Answer:
    """The answer for one tensor; an axis that it does not have is reported elsewhere."""
    data, axis = tensor.data(), node.value(rule.attribute)
    if not isinstance(axis, int) or not -data.ndim <= axis < data.ndim:
        return HOLDS
    zeros = ~data.any(axis=axis)
    return fails(Text("all zeros")) if zeros.any() else HOLDS
