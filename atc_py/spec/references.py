"""Checks of names: operands, dimensions and attributes in rules and targets, and rewrites."""

from collections.abc import Iterator
from typing import NamedTuple

from atc_py.spec.deviations import (
    AnyAttrGiven,
    AttrAbsent,
    AttrRepeats,
    NoneBeforeSets,
    PartGiven,
    SetsAsBefore,
)
from atc_py.spec.document import DataPath, Problem
from atc_py.spec.model import AttributeType, OpSpec
from atc_py.spec.rewrites import REWRITES
from atc_py.spec.rule import Level, Number, Rule, When
from atc_py.spec.rules import (
    ATTRIBUTE_ARGUMENTS,
    OPERAND_ARGUMENTS,
    AttrDistinct,
    AttrExcludes,
    AttrGiven,
    AttrLength,
    AttrOneOf,
    CountIsProduct,
    EquationOneOf,
    EquationWrittenOut,
    KnownSumIsDim,
)
from atc_py.text import Text

_KNOWN = Text("rewrites: {rewrites}", rewrites=", ".join(REWRITES))


class _Row(NamedTuple):
    """Place of a level: its line, its key, and the rewrite named beside it."""

    path: DataPath
    key: str
    level: Level
    rewrite: str | None


def check_rewrites(spec: OpSpec) -> Iterator[Problem]:
    """Yield names of rewrites that do not exist; a check that reports one looks it up."""
    for row in _rows(spec):
        if row.rewrite is not None and row.rewrite not in REWRITES:
            message = Text("no rewrite is called {rewrite}", rewrite=repr(row.rewrite))
            yield Problem((*row.path, "rewrite"), message, _KNOWN)


def check_levels(spec: OpSpec) -> Iterator[Problem]:
    """Yield levels and rewrites that do not go together."""
    for row in _rows(spec):
        if row.level is Level.REWRITE and row.rewrite is None:
            message = Text("{key}: rewrite does not say which rewrite", key=row.key)
            where: DataPath = (*row.path, row.key)
            yield Problem(
                where, message, Text("add the key rewrite; {known}", known=_KNOWN), key=True
            )
        if row.level is not Level.REWRITE and row.rewrite is not None:
            message = Text(
                "rewrite is given, but {key} is {level}", key=row.key, level=row.level.value
            )
            help_ = Text("write {key}: rewrite, or delete the key rewrite", key=row.key)
            yield Problem((*row.path, "rewrite"), message, help_, key=True)


def _rows(spec: OpSpec) -> Iterator[_Row]:
    for section, operands in (("inputs", spec.inputs), ("outputs", spec.outputs)):
        for position, row in enumerate(operands):
            yield _Row((section, position), "otherwise", row.otherwise, row.rewrite)
    for position, attribute in enumerate(spec.attributes):
        path: DataPath = ("attributes", position)
        yield _Row(path, "otherwise", attribute.otherwise, attribute.rewrite)
    for position, rule in enumerate(spec.constraints):
        yield _Row(("constraints", position), "level", rule.level, rule.rewrite)
    for position, operand in enumerate(spec.inputs):
        if operand.beyond is not None:
            path = ("inputs", position, "beyond")
            yield _Row(path, "rewrite", Level.REWRITE, operand.beyond.rewrite)


_LAID_OUT = ("tensor", "other")
"""Operands whose layouts have the dims that a rule names."""

_OF_ANY_TYPE = (
    AttrAbsent,
    AttrDistinct,
    AttrExcludes,
    AttrGiven,
    AttrLength,
    AttrOneOf,
    NoneBeforeSets,
    SetsAsBefore,
)
"""Rules on attributes that need not be numbers."""

_OF_TEXTS = (AttrRepeats, EquationOneOf, EquationWrittenOut)
"""Rules on attributes that are texts."""

_TEXTS = {AttributeType.STRING, AttributeType.STRINGS}
_NUMBERS = {AttributeType.INT, AttributeType.FLOAT}


def check_references(spec: OpSpec) -> Iterator[Problem]:
    """Yield names in rules and in the target that the operator does not have."""
    for position, rule in enumerate(spec.constraints):
        path = ("constraints", position)
        yield from _arguments(spec, path, rule)
        if rule.when is not None:
            yield from _conditions(spec, (*path, "when"), rule.when)
    for position, row in enumerate(spec.deviations):
        yield from _of_deviation(spec, ("deviations", position, "unless"), row.unless)
    if spec.target is not None:
        for name, source in spec.target.attributes.items():
            yield from _attribute(spec, ("target", "attributes", name), source)


def _of_deviation(spec: OpSpec, path: DataPath, unless: Rule) -> Iterator[Problem]:
    yield from _arguments(spec, path, unless)
    if isinstance(unless, PartGiven):
        for place, name in (("name", unless.name), ("fed", unless.fed)):
            if name and spec.attribute(name) is None:
                yield from _tensor(spec, (*path, place), name)
    if isinstance(unless, AnyAttrGiven):
        for position, name in enumerate(unless.attributes):
            yield from _attribute(spec, (*path, "attributes", position), name)
    if unless.when is not None:
        yield from _conditions(spec, (*path, "when"), unless.when)


def _arguments(spec: OpSpec, path: DataPath, rule: Rule) -> Iterator[Problem]:
    arguments = rule.arguments
    for key in OPERAND_ARGUMENTS:
        if key in arguments:
            yield from _tensor(spec, (*path, key), str(arguments[key]))
    for key in ATTRIBUTE_ARGUMENTS:
        if key in arguments:
            yield from _attribute(spec, (*path, key), str(arguments[key]))
            yield from _typed(spec, (*path, key), rule, str(arguments[key]))
    laid_out = [
        str(arguments[key])
        for key in (("other",) if isinstance(rule, CountIsProduct | KnownSumIsDim) else _LAID_OUT)
        if key in arguments
    ]
    if "dim" in arguments:
        yield from _dim(spec, (*path, "dim"), str(arguments["dim"]), laid_out)
    dims = arguments.get("dims", ())
    if isinstance(dims, tuple):
        for position, dim in enumerate(dims):
            yield from _dim(spec, (*path, "dims", position), str(dim), laid_out)
    bounds = arguments.get("range")
    if isinstance(bounds, tuple):
        yield from check_bounds((*path, "range"), *bounds)


def check_bounds(path: DataPath, lower: Number, upper: Number) -> Iterator[Problem]:
    if lower > upper:
        message = Text(
            "the lower bound {bounds} is above the upper bound {bounds_2}",
            bounds=lower,
            bounds_2=upper,
        )
        yield Problem(path, message, Text("write [lower, upper]"))


def _conditions(spec: OpSpec, path: DataPath, when: When) -> Iterator[Problem]:
    for key, span in (("opsets", when.opsets), ("written", when.written)):
        if span is not None and span[0] > span[1]:
            message = Text(
                "the first opset {opsets} is after the last {opsets_2}",
                opsets=span[0],
                opsets_2=span[1],
            )
            yield Problem((*path, key), message, Text("write [first, last]"))
    for position, attribute in enumerate(when.attributes):
        yield from _attribute(spec, (*path, "attributes", position, "name"), attribute.name)
    for key, names in (("present", when.present), ("absent", when.absent)):
        for position, name in enumerate(names):
            if spec.attribute(name) is None:
                yield from _tensor(spec, (*path, key, position), name)
    for position, condition in enumerate(when.dtypes):
        yield from _tensor(spec, (*path, "dtypes", position, "tensor"), condition.tensor)
    for position, ranked in enumerate(when.ranks):
        yield from _tensor(spec, (*path, "ranks", position, "tensor"), ranked.tensor)
    for position, dim in enumerate(when.dims):
        where = (*path, "dims", position)
        yield from _tensor(spec, (*where, "tensor"), dim.tensor)
        yield from _dim(spec, (*where, "dim"), dim.dim, [dim.tensor])


def _tensor(spec: OpSpec, path: DataPath, name: str) -> Iterator[Problem]:
    if spec.operand(name) is None:
        names = [row.name for row in (*spec.inputs, *spec.outputs)]
        help_ = Text("inputs and outputs: {names}", names=", ".join(names) or Text("none"))
        yield Problem(
            path, Text("{op} has no input or output {name}", op=spec.op, name=repr(name)), help_
        )


def _attribute(spec: OpSpec, path: DataPath, name: str) -> Iterator[Problem]:
    if spec.attribute(name) is None:
        help_ = Text(
            "attributes: {n}", n=", ".join(row.name for row in spec.attributes) or Text("none")
        )
        yield Problem(
            path, Text("{name} has no attribute {unknown}", name=spec.op, unknown=repr(name)), help_
        )


def _typed(spec: OpSpec, path: DataPath, rule: Rule, name: str) -> Iterator[Problem]:
    row = spec.attribute(name)
    if row is None or isinstance(rule, _OF_ANY_TYPE):
        return
    if isinstance(rule, _OF_TEXTS):
        fits, kind, known = row.type in _TEXTS, "texts", "type string"
    else:
        fits, kind = row.type.element in _NUMBERS, "numbers"
        known = Text("a type among int, ints, float, floats")
    if not fits:
        message = Text(
            "the rule is for {kind}, {name} is of type {type}",
            kind=kind,
            name=name,
            type=row.type.value,
        )
        yield Problem(path, message, Text("name an attribute of {known}", known=known))


def _dim(spec: OpSpec, path: DataPath, dim: str, tensors: list[str]) -> Iterator[Problem]:
    for tensor in tensors:
        operand = spec.operand(tensor)
        if operand is None:
            continue
        letters = dict.fromkeys("".join(operand.all_layouts))
        if not letters:
            yield Problem(
                path,
                Text("{tensor} has no layout", tensor=tensor),
                Text("write a layout for {tensor}", tensor=tensor),
            )
        elif dim not in letters:
            message = Text("{tensor} has no dimension {dim}", tensor=tensor, dim=repr(dim))
            yield Problem(
                path, message, Text("its dimensions are {letters}", letters=", ".join(letters))
            )
