"""Rules: one frozen struct for each named predicate that a specification can demand.

The struct says which arguments the predicate takes; the predicate itself, which looks at a node,
belongs to checking. Arguments in OPERAND_ARGUMENTS name inputs or outputs of the operator, those in
ATTRIBUTE_ARGUMENTS name attributes, and `dim` and `dims` are letters of the layout of `tensor` (and
of `other`).
"""

from typing import TYPE_CHECKING, Annotated, TypeAlias, Union

import msgspec

from atc_py.spec.rule import (
    DimName,
    Number,
    OfAttribute,
    OfAttributeOn,
    OfPair,
    OfTensor,
    Rule,
    Scalar,
    Text,
    kinds_in,
)
from atc_py.tensor.dtypes import DType

OPERAND_ARGUMENTS = ("tensor", "other", "axes", "steps", "indices")
"""Arguments of rules that name an input or output."""

ATTRIBUTE_ARGUMENTS = ("attribute", "along")
"""Arguments of rules that name an attribute."""


class AttrOneOf(OfAttribute, frozen=True, kw_only=True):
    """The attribute has one of these values."""

    one_of: Annotated[tuple[Scalar, ...], msgspec.Meta(min_length=1)]


class AttrEachInRange(OfAttribute, frozen=True, kw_only=True):
    """Every element of the attribute is between two bounds, both included."""

    range: tuple[Number, Number]


class AttrOdd(OfAttribute, frozen=True, kw_only=True):
    """The attribute is an odd number."""


class AttrMultiple(OfAttribute, frozen=True, kw_only=True):
    """The attribute is a whole multiple of `factor`."""

    factor: Annotated[int, msgspec.Meta(ge=2)]


class AttrPositive(OfAttribute, frozen=True, kw_only=True):
    """The attribute, a number, is more than 0 and finite."""


class AttrDistinct(OfAttribute, frozen=True, kw_only=True):
    """No two elements of the attribute are equal."""


class AttrLength(OfAttribute, frozen=True, kw_only=True):
    """The attribute has `length` elements."""

    length: Annotated[int, msgspec.Meta(ge=0)]


class AttrGiven(OfAttribute, frozen=True, kw_only=True):
    """The attribute is set, and is no empty list."""


class AttrExcludes(OfAttribute, frozen=True, kw_only=True):
    """No element of the attribute is `value`."""

    value: Scalar


class AttrLengthsEqual(OfAttribute, frozen=True, kw_only=True):
    """The attribute has as many elements as the attribute `along`."""

    along: Text


class AttrPermutation(OfAttributeOn, frozen=True, kw_only=True):
    """The attribute names every axis of the tensor once."""


class ProductAtMost(OfAttribute, frozen=True, kw_only=True):
    """The product of the attribute's elements is at most `limit`."""

    limit: int


class AttrElementsAre(OfAttribute, frozen=True, kw_only=True):
    """The attribute has `value` at each of these positions, as far as it is long enough."""

    positions: Annotated[tuple[int, ...], msgspec.Meta(min_length=1)]
    value: Number


class EquationOneOf(OfAttribute, frozen=True, kw_only=True):
    """The attribute, an equation of Einsum, is one of these up to the names of its letters."""

    one_of: Annotated[tuple[Text, ...], msgspec.Meta(min_length=1)]


class EquationWrittenOut(OfAttribute, frozen=True, kw_only=True):
    """The attribute, an equation of Einsum, has no blanks and an arrow before the result."""


class AxisInRank(OfAttributeOn, frozen=True, kw_only=True):
    """The attribute's axes are in [-r, r - 1], r being the rank of the tensor."""


class AxesInRank(Rule, frozen=True, kw_only=True):
    """The values of the input `axes` are in [-r, r - 1], r being the rank of the tensor."""

    axes: Text
    tensor: Text


class AxisIs(OfAttributeOn, frozen=True, kw_only=True):
    """The attribute names `axis` of the tensor, or only dims of 1 are between the two."""

    axis: int


class LastStepIsOne(OfTensor, frozen=True, kw_only=True):
    """The input `steps` has 1 for the last axis of the tensor, where `axes` names that axis."""

    axes: Text
    steps: Text


class AxisExtentIsOne(OfAttributeOn, frozen=True, kw_only=True):
    """The tensor has length 1 on every axis that the attribute names."""


class AxesExtentIsOne(Rule, frozen=True, kw_only=True):
    """The tensor has length 1 on every axis that the values of the input `axes` name."""

    axes: Text
    tensor: Text


class AttrSumIsExtent(OfAttributeOn, frozen=True, kw_only=True):
    """The attribute's elements add up to the tensor's length on the axis in attribute `along`."""

    along: Text


class ValuesSumIsExtent(OfPair, frozen=True, kw_only=True):
    """The tensor's values add up to the length of `other` on the axis in attribute `along`."""

    along: Text


class KnownSumIsDim(OfPair, frozen=True, kw_only=True):
    """The tensor's values, where known when the model is compiled, add up to a dim of `other`."""

    dim: DimName


class DimInRange(OfTensor, frozen=True, kw_only=True):
    """A dimension of the tensor is between two bounds, both included."""

    dim: DimName
    range: tuple[Number, Number]


class DimProductInRange(OfPair, frozen=True, kw_only=True):
    """The product of a dimension of two tensors is between two bounds, both included."""

    dim: DimName
    range: tuple[Number, Number]


class DimDivisible(OfTensor, frozen=True, kw_only=True):
    """The attribute divides a dimension of the tensor."""

    dim: DimName
    attribute: Text


class DimsEqual(OfPair, frozen=True, kw_only=True):
    """Two tensors agree in these dimensions."""

    dims: Annotated[tuple[DimName, ...], msgspec.Meta(min_length=1)]


class PrimeDimBelow(OfTensor, frozen=True, kw_only=True):
    """A dimension of the tensor is less than `limit` where it is a prime number."""

    dim: DimName
    limit: int


class OperandGiven(OfTensor, frozen=True, kw_only=True):
    """The node uses the input or output, which is optional otherwise."""


class RankIsNot(OfTensor, frozen=True, kw_only=True):
    """The tensor has another rank than this."""

    rank: int


class RankInRange(OfTensor, frozen=True, kw_only=True):
    """The rank of the tensor is between two bounds, both included."""

    range: tuple[Number, Number]


class RanksEqual(OfPair, frozen=True, kw_only=True):
    """Two tensors have one rank."""


class LastDimWithinRank(OfPair, frozen=True, kw_only=True):
    """The last dim of the tensor is at most the rank of `other`."""


class RankOfUpdates(OfPair, frozen=True, kw_only=True):
    """The rank is q + r - k - 1, `indices` having rank q and last dim k, `other` rank r."""

    indices: Text


class ShapesEqual(OfPair, frozen=True, kw_only=True):
    """Two tensors have one shape."""


class CountIsRank(OfPair, frozen=True, kw_only=True):
    """The tensor has one element for each dimension of `other`."""


class CountPerAxis(OfPair, frozen=True, kw_only=True):
    """The tensor, unless it is empty, has `count` elements for each dimension of `other`."""

    count: Annotated[int, msgspec.Meta(ge=1)]


class CountIsLength(OfPair, frozen=True, kw_only=True):
    """The tensor has as many elements as `other` has on axis `axis`."""

    axis: int


class CountIsProduct(OfPair, frozen=True, kw_only=True):
    """The tensor has as many elements as a dimension of `other` times the attribute."""

    dim: DimName
    attribute: Text


class CountIsOneOrExtent(OfPair, frozen=True, kw_only=True):
    """The tensor has one element, or as many as `other` has on axis `axis`, if it has that."""

    axis: int


class DtypeExcluded(OfTensor, frozen=True, kw_only=True):
    """The tensor has none of these dtypes."""

    dtypes: Annotated[tuple[DType, ...], msgspec.Meta(min_length=1)]


class DtypeAmong(OfTensor, frozen=True, kw_only=True):
    """The tensor has one of these dtypes, or the precision mode may give it one of them."""

    dtypes: Annotated[tuple[DType, ...], msgspec.Meta(min_length=1)]


class ElementCountInRange(OfTensor, frozen=True, kw_only=True):
    """The number of elements of the tensor is between two bounds, both included."""

    range: tuple[Number, Number]


class ValuesAtLeast(OfTensor, frozen=True, kw_only=True):
    """No value of the tensor, which must be known, is less than `least`."""

    least: Number


class KnownValuesAtLeast(OfTensor, frozen=True, kw_only=True):
    """No value of the tensor that is known when the model is compiled is less than `least`."""

    least: Number


class KnownValuesExclude(OfTensor, frozen=True, kw_only=True):
    """No value of the tensor that is known when the model is compiled is `value`."""

    value: Number


class KnownValuesAre(OfTensor, frozen=True, kw_only=True):
    """The values of the tensor, where they are known when the model is compiled, are these."""

    values: Annotated[tuple[Number, ...], msgspec.Meta(min_length=1)]


class ValuesKnown(OfTensor, frozen=True, kw_only=True):
    """The values of the tensor are known when the model is compiled."""


class ValuesEqual(OfTensor, frozen=True, kw_only=True):
    """Every value of the tensor, which must be known, is `value`."""

    value: Number


class ValuesExclude(OfTensor, frozen=True, kw_only=True):
    """No value of the tensor, which must be known, is `value`."""

    value: Number


class ScalesPerChannel(OfPair, frozen=True, kw_only=True):
    """The tensor has one element, or as many as `other` has channels."""


class ScalesPositive(OfTensor, frozen=True, kw_only=True):
    """The factors in the tensor, where they are known, are positive: floats, or in words of 64 bits.

    The words are those of atc_py/tensor/scale_words.py, whose lower half is a float32.
    """


class SamePaddingEven(OfAttributeOn, frozen=True, kw_only=True):
    """Windows of `attribute` that cover the tensor whole take an even padding on each axis."""


class OutputShapeWithinFull(OfAttributeOn, frozen=True, kw_only=True):
    """The attribute, an output shape, is at most the size that `tensor` and window `other` cover."""

    other: Text


if TYPE_CHECKING:
    Constraint: TypeAlias = Rule
else:
    Constraint = Union[kinds_in(globals())]  # noqa: UP007  (no form with | takes them all)
"""Any rule; the key `rule` says which."""
