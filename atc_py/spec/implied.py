"""Rules that operands and attributes imply, and the list of all rules of an operator.

A row that says `rank: 4` or `one_of: [0, 1]` demands as much as a line under `constraints`; here
both become rules, so that later code only reads rules.
"""

from collections.abc import Iterator

from atc_py.spec.model import AttributeSpec, OperandSpec, OpSpec, Value
from atc_py.spec.rule import Level, Number, OfAttribute, OfPair, OfTensor, Rule, Scalar
from atc_py.spec.rules import AttrEachInRange, AttrOneOf, DtypeExcluded, RankInRange
from atc_py.system.structs import replace
from atc_py.tensor.dtypes import DType


class DtypeListed(OfTensor, frozen=True, kw_only=True):
    """The tensor has one of these dtypes, or the precision mode may give it one of them."""

    dtypes: tuple[DType, ...]


class DtypeSame(OfPair, frozen=True, kw_only=True):
    """The tensor has the dtype of `other`, or the precision mode gives both the same.

    Operands of an integer layer have dtypes of their own.
    """


class DtypeQuantized(OfTensor, frozen=True, kw_only=True):
    """The tensor has this dtype where the node is an integer layer."""

    dtype: DType


class RankIs(OfTensor, frozen=True, kw_only=True):
    """The tensor has this rank."""

    rank: int


class OperandAbsent(OfTensor, frozen=True, kw_only=True):
    """The input or output, which is not supported yet, is not used."""


class OperandPresent(OfTensor, frozen=True, kw_only=True):
    """The input or output, which is not optional, is present."""


class AttrInRange(OfAttribute, frozen=True, kw_only=True):
    """The attribute is between two bounds, both included."""

    range: tuple[Number, Number]


class AttrPresent(OfAttribute, frozen=True, kw_only=True):
    """The attribute, which is required, is set."""


class AttrAtDefault(OfAttribute, frozen=True, kw_only=True):
    """The attribute, which is not supported yet, is not set to anything but its default."""

    default: Value | None


_ALWAYS = (OperandPresent, DtypeSame, DtypeQuantized, AttrPresent)
"""Rules of rows that no evidence is about."""

_SHOWN = (OperandAbsent, AttrAtDefault, AttrOneOf, AttrInRange, AttrEachInRange)
"""Rules of rows that a source of CANN may show."""


def rules_of(spec: OpSpec) -> tuple[Rule, ...]:
    """Every rule of an operator: of inputs, outputs, attributes, then constraints.

    Rules of operands and attributes that only some opsets have are for those opsets; who asks
    them looks at the row.
    """
    rules: list[Rule] = []
    for row in spec.inputs:
        rules += _sure(spec, row, _operand_rules(spec, row, is_input=True))
    for row in spec.outputs:
        rules += _sure(spec, row, _operand_rules(spec, row, is_input=False))
    for attribute in spec.attributes:
        rules += _sure(spec, attribute, _attribute_rules(attribute))
    return (*rules, *spec.constraints)


def _sure(spec: OpSpec, row: OperandSpec | AttributeSpec, rules: Iterator[Rule]) -> Iterator[Rule]:
    against = row.contradicted
    if isinstance(row, OperandSpec) and row.same_as is not None:
        other = spec.operand(row.same_as)
        if other is not None and other.contradicted is not None and other.contradicted.dtypes:
            against = against or other.contradicted
    if row.proven is None and against is None:
        yield from rules
        return
    for rule in rules:
        concerned = isinstance(rule, DtypeListed) == bool(against and against.dtypes)
        doubted = against if concerned and not isinstance(rule, _ALWAYS) else None
        shown = row.proven if isinstance(rule, _SHOWN) else None
        yield replace(rule, proven=shown, contradicted=doubted)


def _operand_rules(spec: OpSpec, row: OperandSpec, *, is_input: bool) -> Iterator[Rule]:
    """The rules that one input or output implies.

    The dtype of an output that shares an input's is checked at that input.
    """
    if not row.optional and is_input:
        yield OperandPresent(tensor=row.name, line=row.line)
    if not row.supported:
        yield OperandAbsent(
            tensor=row.name, level=row.otherwise, rewrite=row.rewrite, line=row.line
        )
    if is_input or row.same_as is None:
        dtypes = spec.dtypes_of(row) or tuple(DType)
        more = row.beyond.dtypes if row.beyond else ()
        quantized = (spec.quantized[row.name],) if row.name in spec.quantized else ()
        listed = dict.fromkeys((*dtypes, *quantized, *row.carried, *more))
        yield DtypeListed(tensor=row.name, dtypes=tuple(listed), line=row.line)
    if is_input and row.same_as is not None:
        yield DtypeSame(tensor=row.name, other=row.same_as, line=row.line)
    others = {other.name for other in spec.inputs} & spec.quantized.keys() - {row.name}
    if is_input and row.name in spec.quantized and others:
        yield DtypeQuantized(tensor=row.name, dtype=spec.quantized[row.name], line=row.line)
    if row.carried:
        yield _dtypes_rewritten(row, tuple(row.carried), "cast-through")
    if row.beyond:
        yield _dtypes_rewritten(row, row.beyond.dtypes, row.beyond.rewrite)
    if row.rank is not None:
        yield RankIs(tensor=row.name, rank=row.rank, line=row.line)
    if row.layouts:
        ranks = [len(layout) for layout in row.layouts]
        yield RankInRange(tensor=row.name, range=(min(ranks), max(ranks)), line=row.line)


def _dtypes_rewritten(row: OperandSpec, dtypes: tuple[DType, ...], rewrite: str) -> Rule:
    return DtypeExcluded(
        tensor=row.name, dtypes=dtypes, level=Level.REWRITE, rewrite=rewrite, line=row.line
    )


def _attribute_rules(row: AttributeSpec) -> Iterator[Rule]:
    name, line = row.name, row.line
    if row.required:
        yield AttrPresent(attribute=name, line=line)
    if not row.supported:
        yield AttrAtDefault(
            attribute=name,
            default=row.default,
            level=row.otherwise,
            rewrite=row.rewrite,
            line=line,
        )
    values: tuple[Scalar, ...] = row.one_of
    level: Level = row.otherwise
    if values:
        yield AttrOneOf(attribute=name, one_of=values, level=level, rewrite=row.rewrite, line=line)
    if row.range is not None:
        yield AttrInRange(
            attribute=name, range=row.range, level=level, rewrite=row.rewrite, line=line
        )
    if row.each is not None:
        yield AttrEachInRange(
            attribute=name, range=row.each, level=level, rewrite=row.rewrite, line=line
        )
