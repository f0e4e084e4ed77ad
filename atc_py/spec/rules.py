"""Rules: one frozen struct for each named predicate that a specification can demand.

The struct says which arguments the predicate takes; the predicate itself, which looks at a node,
belongs to checking. Arguments in OPERAND_ARGUMENTS name inputs or outputs of the operator, those in
ATTRIBUTE_ARGUMENTS name attributes, and `dim` and `dims` are letters of the layout of `tensor` (and
of `other`).

Over 400 lines because the type of any rule, by which files are read, lists them all.
"""

from typing import TYPE_CHECKING, Annotated, TypeAlias, Union

import msgspec

from atc_py.spec.rule import DimName, Number, Rule, Scalar, Text
from atc_py.tensor.dtypes import DType

OPERAND_ARGUMENTS = ("tensor", "other", "axes", "steps", "indices")
"""Arguments of rules that name an input or output."""

ATTRIBUTE_ARGUMENTS = ("attribute", "along")
"""Arguments of rules that name an attribute."""


class AttrOneOf(Rule, frozen=True, kw_only=True):
    """The attribute has one of these values."""

    attribute: Text
    one_of: Annotated[tuple[Scalar, ...], msgspec.Meta(min_length=1)]


class AttrEachInRange(Rule, frozen=True, kw_only=True):
    """Every element of the attribute is between two bounds, both included."""

    attribute: Text
    range: tuple[Number, Number]


class AttrOdd(Rule, frozen=True, kw_only=True):
    """The attribute is an odd number."""

    attribute: Text


class AttrMultiple(Rule, frozen=True, kw_only=True):
    """The attribute is a whole multiple of `factor`."""

    attribute: Text
    factor: Annotated[int, msgspec.Meta(ge=2)]


class AttrPositive(Rule, frozen=True, kw_only=True):
    """The attribute, a number, is more than 0 and finite."""

    attribute: Text


class AttrDistinct(Rule, frozen=True, kw_only=True):
    """No two elements of the attribute are equal."""

    attribute: Text


class AttrLength(Rule, frozen=True, kw_only=True):
    """The attribute has `length` elements."""

    attribute: Text
    length: Annotated[int, msgspec.Meta(ge=0)]


class AttrGiven(Rule, frozen=True, kw_only=True):
    """The attribute is set, and is no empty list."""

    attribute: Text


class AttrExcludes(Rule, frozen=True, kw_only=True):
    """No element of the attribute is `value`."""

    attribute: Text
    value: Scalar


class AttrLengthsEqual(Rule, frozen=True, kw_only=True):
    """The attribute has as many elements as the attribute `along`."""

    attribute: Text
    along: Text


class AttrPermutation(Rule, frozen=True, kw_only=True):
    """The attribute names every axis of the tensor once."""

    attribute: Text
    tensor: Text


class ProductAtMost(Rule, frozen=True, kw_only=True):
    """The product of the attribute's elements is at most `limit`."""

    attribute: Text
    limit: int


class AttrElementsAre(Rule, frozen=True, kw_only=True):
    """The attribute has `value` at each of these positions, as far as it is long enough."""

    attribute: Text
    positions: Annotated[tuple[int, ...], msgspec.Meta(min_length=1)]
    value: Number


class EquationOneOf(Rule, frozen=True, kw_only=True):
    """The attribute, an equation of Einsum, is one of these up to the names of its letters."""

    attribute: Text
    one_of: Annotated[tuple[Text, ...], msgspec.Meta(min_length=1)]


class EquationWrittenOut(Rule, frozen=True, kw_only=True):
    """The attribute, an equation of Einsum, has no blanks and an arrow before the result."""

    attribute: Text


class AxisInRank(Rule, frozen=True, kw_only=True):
    """The attribute's axes are in [-r, r - 1], r being the rank of the tensor."""

    attribute: Text
    tensor: Text


class AxesInRank(Rule, frozen=True, kw_only=True):
    """The values of the input `axes` are in [-r, r - 1], r being the rank of the tensor."""

    axes: Text
    tensor: Text


class AxisIs(Rule, frozen=True, kw_only=True):
    """The attribute names `axis` of the tensor, or only dims of 1 are between the two."""

    attribute: Text
    tensor: Text
    axis: int


class LastStepIsOne(Rule, frozen=True, kw_only=True):
    """The input `steps` has 1 for the last axis of the tensor, where `axes` names that axis."""

    tensor: Text
    axes: Text
    steps: Text


class AxisExtentIsOne(Rule, frozen=True, kw_only=True):
    """The tensor has length 1 on every axis that the attribute names."""

    attribute: Text
    tensor: Text


class AxesExtentIsOne(Rule, frozen=True, kw_only=True):
    """The tensor has length 1 on every axis that the values of the input `axes` name."""

    axes: Text
    tensor: Text


class AttrSumIsExtent(Rule, frozen=True, kw_only=True):
    """The attribute's elements add up to the tensor's length on the axis in attribute `along`."""

    attribute: Text
    tensor: Text
    along: Text


class ValuesSumIsExtent(Rule, frozen=True, kw_only=True):
    """The tensor's values add up to the length of `other` on the axis in attribute `along`."""

    tensor: Text
    other: Text
    along: Text


class KnownSumIsDim(Rule, frozen=True, kw_only=True):
    """The tensor's values, where known when the model is compiled, add up to a dim of `other`."""

    tensor: Text
    other: Text
    dim: DimName


class DimInRange(Rule, frozen=True, kw_only=True):
    """A dimension of the tensor is between two bounds, both included."""

    tensor: Text
    dim: DimName
    range: tuple[Number, Number]


class DimProductInRange(Rule, frozen=True, kw_only=True):
    """The product of a dimension of two tensors is between two bounds, both included."""

    tensor: Text
    other: Text
    dim: DimName
    range: tuple[Number, Number]


class DimDivisible(Rule, frozen=True, kw_only=True):
    """The attribute divides a dimension of the tensor."""

    tensor: Text
    dim: DimName
    attribute: Text


class DimsEqual(Rule, frozen=True, kw_only=True):
    """Two tensors agree in these dimensions."""

    tensor: Text
    other: Text
    dims: Annotated[tuple[DimName, ...], msgspec.Meta(min_length=1)]


class PrimeDimBelow(Rule, frozen=True, kw_only=True):
    """A dimension of the tensor is less than `limit` where it is a prime number."""

    tensor: Text
    dim: DimName
    limit: int


class OperandGiven(Rule, frozen=True, kw_only=True):
    """The node uses the input or output, which is optional otherwise."""

    tensor: Text


class RankIsNot(Rule, frozen=True, kw_only=True):
    """The tensor has another rank than this."""

    tensor: Text
    rank: int


class RankInRange(Rule, frozen=True, kw_only=True):
    """The rank of the tensor is between two bounds, both included."""

    tensor: Text
    range: tuple[Number, Number]


class RanksEqual(Rule, frozen=True, kw_only=True):
    """Two tensors have one rank."""

    tensor: Text
    other: Text


class LastDimWithinRank(Rule, frozen=True, kw_only=True):
    """The last dim of the tensor is at most the rank of `other`."""

    tensor: Text
    other: Text


class RankOfUpdates(Rule, frozen=True, kw_only=True):
    """The rank is q + r - k - 1, `indices` having rank q and last dim k, `other` rank r."""

    tensor: Text
    other: Text
    indices: Text


class ShapesEqual(Rule, frozen=True, kw_only=True):
    """Two tensors have one shape."""

    tensor: Text
    other: Text


class CountIsRank(Rule, frozen=True, kw_only=True):
    """The tensor has one element for each dimension of `other`."""

    tensor: Text
    other: Text


class CountPerAxis(Rule, frozen=True, kw_only=True):
    """The tensor, unless it is empty, has `count` elements for each dimension of `other`."""

    tensor: Text
    other: Text
    count: Annotated[int, msgspec.Meta(ge=1)]


class CountIsLength(Rule, frozen=True, kw_only=True):
    """The tensor has as many elements as `other` has on axis `axis`."""

    tensor: Text
    other: Text
    axis: int


class CountIsProduct(Rule, frozen=True, kw_only=True):
    """The tensor has as many elements as a dimension of `other` times the attribute."""

    tensor: Text
    other: Text
    dim: DimName
    attribute: Text


class CountIsOneOrExtent(Rule, frozen=True, kw_only=True):
    """The tensor has one element, or as many as `other` has on axis `axis`, if it has that."""

    tensor: Text
    other: Text
    axis: int


class DtypeExcluded(Rule, frozen=True, kw_only=True):
    """The tensor has none of these dtypes."""

    tensor: Text
    dtypes: Annotated[tuple[DType, ...], msgspec.Meta(min_length=1)]


class DtypeAmong(Rule, frozen=True, kw_only=True):
    """The tensor has one of these dtypes, or the precision mode may give it one of them."""

    tensor: Text
    dtypes: Annotated[tuple[DType, ...], msgspec.Meta(min_length=1)]


class ElementCountInRange(Rule, frozen=True, kw_only=True):
    """The number of elements of the tensor is between two bounds, both included."""

    tensor: Text
    range: tuple[Number, Number]


class ValuesAtLeast(Rule, frozen=True, kw_only=True):
    """No value of the tensor, which must be known, is less than `least`."""

    tensor: Text
    least: Number


class KnownValuesAtLeast(Rule, frozen=True, kw_only=True):
    """No value of the tensor that is known when the model is compiled is less than `least`."""

    tensor: Text
    least: Number


class KnownValuesExclude(Rule, frozen=True, kw_only=True):
    """No value of the tensor that is known when the model is compiled is `value`."""

    tensor: Text
    value: Number


class KnownValuesAre(Rule, frozen=True, kw_only=True):
    """The values of the tensor, where they are known when the model is compiled, are these."""

    tensor: Text
    values: Annotated[tuple[Number, ...], msgspec.Meta(min_length=1)]


class ValuesKnown(Rule, frozen=True, kw_only=True):
    """The values of the tensor are known when the model is compiled."""

    tensor: Text


class ValuesEqual(Rule, frozen=True, kw_only=True):
    """Every value of the tensor, which must be known, is `value`."""

    tensor: Text
    value: Number


class ValuesExclude(Rule, frozen=True, kw_only=True):
    """No value of the tensor, which must be known, is `value`."""

    tensor: Text
    value: Number


class ScalesPerChannel(Rule, frozen=True, kw_only=True):
    """The tensor has one element, or as many as `other` has channels."""

    tensor: Text
    other: Text


class ScalesPositive(Rule, frozen=True, kw_only=True):
    """The factors in the tensor, where they are known, are positive: floats, or in words of 64 bits.

    The words are those of atc_py/tensor/scale_words.py, whose lower half is a float32.
    """

    tensor: Text


class SamePaddingEven(Rule, frozen=True, kw_only=True):
    """Windows of `attribute` that cover the tensor whole take an even padding on each axis."""

    attribute: Text
    tensor: Text


class OutputShapeWithinFull(Rule, frozen=True, kw_only=True):
    """The attribute, an output shape, is at most the size that `tensor` and window `other` cover."""

    attribute: Text
    tensor: Text
    other: Text


if TYPE_CHECKING:
    Constraint: TypeAlias = Rule
else:
    Constraint = Union[tuple(Rule.__subclasses__())]  # noqa: UP007  (no form with | takes them all)
"""Any rule; the key `rule` says which."""
