"""Deviations: where CANN's ONNX parser gives a node another meaning than ONNX, or refuses it.

Their rules are those of the operator list and further ones, of which it demands nothing.
"""

from enum import Enum
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, Union

import msgspec

from atc_py.spec.rule import (
    Bilingual,
    Number,
    OfAttribute,
    OfAttributeOn,
    OfPair,
    OfTensor,
    Rule,
    SpecStruct,
    Text,
    kinds_in,
)
from atc_py.spec.rules import Constraint


class AnyAttrGiven(Rule, frozen=True, kw_only=True):
    """At least one of the attributes is set, and is no empty list."""

    attributes: tuple[Text, ...]


class AnyOperandGiven(OfPair, frozen=True, kw_only=True):
    """The node uses one of the two operands, or both."""


class AttrAbsent(OfAttribute, frozen=True, kw_only=True):
    """The attribute is not set."""


class AttrRepeats(OfAttribute, frozen=True, kw_only=True):
    """The attribute is not set, or lists these texts in turn, in any case of letters."""

    values: tuple[Text, ...]


class AttrTruncatesToNonzero(OfAttribute, frozen=True, kw_only=True):
    """The attribute is not set, or another number than 0 without its fraction."""


class BiasPerColumn(OfPair, frozen=True, kw_only=True):
    """The tensor has no dims, the dims of the matrix `other`, or as many elements as its columns."""


class IndicesWithinDepth(OfPair, frozen=True, kw_only=True):
    """Every value of the tensor is in [-depth, depth - 1], the depth being the value of `other`."""


class LargeWindowUnpadded(OfAttribute, frozen=True, kw_only=True):
    """A window of more than 255 elements, or with a stride above 63, has no explicit pads."""


class LargeWindowValid(OfAttributeOn, frozen=True, kw_only=True):
    """A window of more than 255 elements, or with a stride above 63, has no other pads and overhang.

    Neither an auto_pad of SAME pads the tensor, nor does ceil_mode add a window.
    """


class NoneBeforeSets(OfAttribute, frozen=True, kw_only=True):
    """No node of the operator before this one in the model sets `attribute`.

    It may where this one sets it, too, or where one of them, or this one, sets `along`.
    """

    along: Text


class NormsNotZero(OfAttributeOn, frozen=True, kw_only=True):
    """No run of the tensor's elements along the attribute's axis has zeros alone."""


class OneAxisFrom(OfAttributeOn, frozen=True, kw_only=True):
    """Of the axes from the attribute's on, none but one has another length than 1.

    That one is the axis that the attribute names, and `default` where it is not set.
    """

    default: int


class OperandNotGiven(OfTensor, frozen=True, kw_only=True):
    """The node does not use the input or output."""


class OuterDimsKept(OfTensor, frozen=True, kw_only=True):
    """A Resize keeps the first two dims of the tensor."""


class OutputShapeFromPads(OfAttributeOn, frozen=True, kw_only=True):
    """The attribute is what windows cover, less the pads, where auto_pad is written as NOTSET."""

    other: Text


class OutputShapePadsEvenly(OfAttributeOn, frozen=True, kw_only=True):
    """The attribute, if it is set, is less than what all windows cover by even numbers.

    Nodes that write auto_pad as NOTSET are another rule's.
    """

    other: Text


class PartsEven(OfTensor, frozen=True, kw_only=True):
    """The outputs, which are parts of the tensor along the axis `along`, have one length."""

    along: Text


class OpsetOutside(Rule, frozen=True, kw_only=True):
    """The model's opset is not among these, of which the first and the last are given."""

    opsets: tuple[int, int]


class PartGiven(Rule, frozen=True, kw_only=True):
    """The node sets the attribute of this name, to no empty list, or uses the input."""

    name: Text  # of the attribute or the input
    # an input of the node that, where it is one of the model with a rank, stands in for it
    fed: Text = ""


class ResizedByKernel(OfTensor, frozen=True, kw_only=True):
    """Each element of a Resize of images is taken from where the kernel of CANN takes it.

    Attributes:
        tensor: the input of the node.
        halves: coordinate modes that the parser reads as half_pixel_centers; align_corners is read
            as what it is, and all others as asymmetric.
        ties: which of two elements the kernel takes with align_corners, midway between them.
    """

    halves: tuple[Text, ...]
    ties: Literal["even", "upper"]


class RowsWithinColumns(OfTensor, frozen=True, kw_only=True):
    """The tensor, a matrix, has as many columns as rows, or more."""


class SameWindowsReachEnd(OfAttribute, frozen=True, kw_only=True):
    """With an auto_pad of SAME no image has rows or columns after the last window."""

    tensor: Text  # the images
    # whether windows of more than 255 elements, or with a stride above 63, may have them
    small: bool = False


class SamePaddingNone(OfAttributeOn, frozen=True, kw_only=True):
    """An auto_pad of SAME adds nothing for windows of `attribute` on the tensor."""


class SetsAsBefore(OfAttribute, frozen=True, kw_only=True):
    """A node that sets `along` sets `attribute` if one of the operator before it does."""

    along: Text


class SmallWindowsBeginInside(OfAttributeOn, frozen=True, kw_only=True):
    """The same of windows of at most 255 elements, with strides of at most 63."""


class ValuesWithin(OfTensor, frozen=True, kw_only=True):
    """Every value of the tensor is between two bounds, both included; NaN counts as one that is."""

    range: tuple[Number, Number]


class WindowsBeginInside(OfAttributeOn, frozen=True, kw_only=True):
    """With ceil_mode, no window of `attribute` on signals or images begins after the tensor."""


if TYPE_CHECKING:
    DeviationRule: TypeAlias = Rule
else:
    _KINDS = (Constraint, *kinds_in(globals()))
    DeviationRule = Union[_KINDS]  # noqa: UP007  (no form with | takes them all)
"""Any rule that a deviation may ask: those of the list, and those above."""


_Slug: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*\Z")]


class Certainty(Enum):
    """Grounds of a statement about CANN."""

    PROVEN = "proven"
    """Published sources of that release say it."""

    INFERRED = "inferred"
    """It follows from sources of another release, or from a part of them."""


Span: TypeAlias = Annotated[
    str, msgspec.Meta(pattern=r"^[1-9][0-9]*(\.[0-9]+)?(-[1-9][0-9]*(\.[0-9]+)?)?\Z")
]
"""A release of CANN, `9.1`, or the first and the last of several, `8.5-9.2`."""


def covers(span: str, release: str) -> bool:
    """True if a release is in a span."""
    first, _, last = span.partition("-")
    return _numbers(first) <= _numbers(release) <= _numbers(last or first)


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(int(number) for number in release.split("."))


class Registered(SpecStruct, frozen=True, kw_only=True):
    """Opsets at which the parsers of releases have an operator."""

    releases: Span  # those of CANN
    # first and last opset of each run; none where the parser does not have it
    opsets: tuple[tuple[int, int], ...]
    name: Text | None = None  # operator type by which the parser has it, where it is another one


class Deviation(SpecStruct, frozen=True, kw_only=True):
    """A row: a node for which `unless` does not hold means another thing on CANN."""

    name: _Slug  # short, unique for the operator
    unless: DeviationRule  # the rule whose nodes mean the same on CANN; its level does not count
    effect: Bilingual  # what CANN computes instead, or why it refuses the node
    refused: bool = False  # whether the parser refuses the node
    # whether CANN's result has no arithmetic that could be followed: it depends on other nodes, on
    # the process or on memory that nothing has written
    undefined: bool = False
    # whether the model has the meaning at another opset, so that `fix` states it there, if it can;
    # the opsets are those of the model that the rule or its conditions name
    restated: bool = False
    proven: tuple[Span, ...] = ()  # releases whose published sources say so
    # releases for which it follows from sources of others, or from a part of them
    inferred: tuple[Span, ...] = ()
    source: Text  # the files, or the parts of them, that it was read from
    # its line in the file; below 0, in the file of another list that this one is like
    line: int = msgspec.field(default=0, name="@line")

    @property
    def opsets(self) -> tuple[int, int] | None:
        """First and last opset of models whose nodes have it; None for any."""
        rule = self.unless
        if isinstance(rule, OpsetOutside):
            return rule.opsets
        return None if rule.when is None else rule.when.written
