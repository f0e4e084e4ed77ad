"""Facts of every rule beside its arguments: level, conditions, place."""

import re
from collections.abc import Mapping
from enum import Enum
from typing import Annotated, TypeAlias

import msgspec

from atc_py.options.compile_options import PrecisionMode
from atc_py.tensor.dtypes import DType

_WORD_START = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def stem_of(op_type: str) -> str:
    """The stem of an operator's file: its type in snake case.

    `BatchNormalization` is `batch_normalization`, `PRelu` is `p_relu`, `GatherND` is `gather_nd`,
    `AdaptiveMaxPool2D` is `adaptive_max_pool2d`; a digit does not start a word.
    """
    return _WORD_START.sub("_", op_type).lower()


def folded(name: str) -> str:
    """`name` without case and underscores, the form in which spellings are compared."""
    return name.replace("_", "").lower()


Number: TypeAlias = int | float
Scalar: TypeAlias = bool | int | float | str
Text: TypeAlias = Annotated[str, msgspec.Meta(min_length=1)]
RewriteName: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^[a-z]+(-[a-z]+)*\Z")]
_Modes: TypeAlias = Annotated[tuple[PrecisionMode, ...], msgspec.Meta(min_length=1)]
DimName: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^[A-Z]\Z")]


class Level(Enum):
    """Consequence of a rule that does not hold.

    ERROR: the node is not supported. REWRITE: the list forbids it and atc-py rewrites it into
    what the list allows. AICPU: it runs on the slow engine. ACCURACY: it runs, results may differ.
    """

    ERROR = "error"
    REWRITE = "rewrite"
    AICPU = "aicpu"
    ACCURACY = "accuracy"


class SpecStruct(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A frozen struct that refuses keys that it does not have."""


class AttrIs(SpecStruct, frozen=True, kw_only=True):
    """A condition: the attribute `name` has one of these values."""

    name: Text
    one_of: Annotated[tuple[Scalar, ...], msgspec.Meta(min_length=1)]


class DimIs(SpecStruct, frozen=True, kw_only=True):
    """A condition: a dimension of a tensor has this dim."""

    tensor: Text
    dim: DimName
    equals: int


class OfDtype(SpecStruct, frozen=True, kw_only=True):
    """A condition: in the file, a tensor has one of these dtypes."""

    tensor: Text
    one_of: Annotated[tuple[DType, ...], msgspec.Meta(min_length=1)]


class OfRank(SpecStruct, frozen=True, kw_only=True):
    """A condition: a tensor has this rank."""

    tensor: Text
    rank: Annotated[int, msgspec.Meta(ge=0, le=8)]


class When(SpecStruct, frozen=True, kw_only=True):
    """Conditions under which a rule applies; every one that is given must hold."""

    # the mode of the compilation, or several of which it is one
    precision_mode: PrecisionMode | _Modes | None = None
    cube_float32: bool | None = None  # whether the SoC's cube multiplies float32
    # families of SoCs by CANN's short names, of which the SoC's is one
    families: tuple[Text, ...] = ()
    opsets: tuple[int, int] | None = None  # first and last opset
    # first and last opset of the file, which a list need not have
    written: tuple[int, int] | None = None
    attributes: tuple[AttrIs, ...] = ()  # values of attributes
    dims: tuple[DimIs, ...] = ()  # the shape of tensors
    ranks: tuple[OfRank, ...] = ()  # the number of their dimensions
    # inputs or outputs that the node uses, or attributes that it sets to no empty list
    present: tuple[Text, ...] = ()
    absent: tuple[Text, ...] = ()  # the same that it does not
    # dtypes of tensors in the file, whatever the precision mode makes of them
    dtypes: tuple[OfDtype, ...] = ()

    @property
    def modes(self) -> tuple[PrecisionMode, ...]:
        """The precision modes of which the compilation's is one; none where any will do."""
        if self.precision_mode is None:
            return ()
        given = self.precision_mode
        return given if isinstance(given, tuple) else (given,)


class Bilingual(SpecStruct, frozen=True, kw_only=True):
    """A text in English and Chinese."""

    en: Text
    zh: Text


class CounterEvidence(SpecStruct, frozen=True, kw_only=True):
    """Evidence that boards take what a rule forbids."""

    seen: Bilingual  # what was seen, as the object of "boards take"
    soc: Text  # the SoCs that it was seen on
    release: Text  # the release of CANN, as far as it is known
    where: Bilingual  # the source
    # families of SoCs that it counts for; none where it counts for all
    families: tuple[Text, ...] = ()
    # of a row's dtypes, those that are taken; none where it is about something else
    dtypes: tuple[DType, ...] = ()
    ranks: tuple[int, ...] = ()  # of a row's rank, those that are taken


class Rule(SpecStruct, frozen=True, kw_only=True, tag_field="rule", tag=stem_of):
    """Facts that every rule has besides its arguments."""

    level: Level = Level.ERROR  # the consequence if it does not hold
    # name of the rewrite into what the list allows, where that is the level
    rewrite: RewriteName | None = None
    when: When | None = None  # conditions, or None when it is always asked
    # the source of CANN that shows the rule; None where the list alone states it
    proven: Text | None = None
    # evidence against the rule, which then refuses nothing by itself
    contradicted: CounterEvidence | None = None
    # its line in the file; below 0, in the file of another list that this one is like
    line: int = msgspec.field(default=0, name="@line")

    @property
    def name(self) -> str:
        """The predicate's name, as the file writes it."""
        return str(self.__struct_config__.tag)

    @property
    def arguments(self) -> dict[str, object]:
        """The predicate's arguments by name."""
        return {
            name: getattr(self, name)
            for name in self.__struct_fields__
            if name not in Rule.__struct_fields__
        }


class OfAttribute(Rule, frozen=True, kw_only=True):
    """A rule on an attribute."""

    attribute: Text


class OfAttributeOn(OfAttribute, frozen=True, kw_only=True):
    """A rule on an attribute and the tensors of an operand."""

    tensor: Text


class OfTensor(Rule, frozen=True, kw_only=True):
    """A rule on the tensors of an input or output."""

    tensor: Text


class OfPair(OfTensor, frozen=True, kw_only=True):
    """A rule on the tensors of two operands."""

    other: Text


def kinds_in(names: Mapping[str, object]) -> tuple[type[Rule], ...]:
    """The rules that a module with these names defines, in order."""
    kinds = (kind for kind in names.values() if isinstance(kind, type) and issubclass(kind, Rule))
    return tuple(kind for kind in kinds if kind.__module__ == names["__name__"])
