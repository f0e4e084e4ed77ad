"""Operators, their lists, and operators that no list has, as text and JSON; the look-up of one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from atc_py.check.unlisted import hint_for_unlisted
from atc_py.diag import BAD_OPTION, UNKNOWN_NAME, AtcError, did_you_mean
from atc_py.fix.rule import rules_of_operator
from atc_py.onnx_graph.reading.history import OnnxHistory
from atc_py.report.tables import Table, plain_lines
from atc_py.report.wrapping import cut
from atc_py.spec import Library, OpSpec, compressed, library
from atc_py.spec.lists import OperatorList, operator_lists
from atc_py.spec.rule import folded
from atc_py.tensor.dtypes import DType, UnknownDTypeError
from atc_py.text import SEMICOLON, Text, Words, plural
from atc_py.text.language import spoken

_LIST_COLUMNS = (
    Text("list", context="heading"),
    Text("release", context="heading"),
    Text("operators>"),
    Text("custom>"),
    Text("opsets", context="heading"),
    Text("source", context="heading"),
)


def lists_lines() -> list[str]:
    rows = tuple(
        (
            each.name,
            Text(each.release),
            str(len(specs)),
            str(sum(spec.custom for spec in specs)),
            compressed(_opsets(specs)),
            Words(each.source.en, each.source.zh),
        )
        for each, specs in _all()
    )
    return plain_lines(Table("", _LIST_COLUMNS, rows, said=(1, 5)))


def lists_json() -> list[dict[str, object]]:
    return [
        {
            "name": each.name,
            "release": each.release,
            "operators": len(specs),
            "custom": sum(spec.custom for spec in specs),
            "opsets": list(_opsets(specs)),
            "source": {"en": each.source.en, "zh": each.source.zh},
        }
        for each, specs in _all()
    ]


def _all() -> list[tuple[OperatorList, tuple[OpSpec, ...]]]:
    return [(row, library(row.name).all()) for row in operator_lists()]


def _opsets(specs: tuple[OpSpec, ...]) -> tuple[int, ...]:
    return tuple(sorted({opset for spec in specs for opset in spec.opsets}))


def not_listed(name: str, known: Library, list_name: str, history: OnnxHistory) -> AtcError | None:
    if known.lookup(name) is not None:
        return None
    operator = next((each for each in history.names if folded(each) == folded(name)), None)
    if operator is None:
        return None
    since = history.versions(operator)[0].since_version
    parts = [hint_for_unlisted(operator, "", history, known)]
    rules = rules_of_operator(operator)
    if rules:
        names = ", ".join(rule.name for rule in rules)
        parts.insert(0, Text("`atc-py fix MODEL` rewrites it (rules: {names})", names=names))
    others = [
        row.name
        for row in operator_lists()
        if row.name != list_name and library(row.name).lookup(operator) is not None
    ]
    if others:
        parts.append(Text("it is on {named} (--list)", named=", ".join(others)))
    text = Text(
        "{operator} is in ONNX, since opset {since}, and not on the operator list {list_name}"
    ).with_values(operator=operator, since=since, list_name=list_name)
    return UNKNOWN_NAME.error(text, help=SEMICOLON.join(parts))


Compiles: TypeAlias = Callable[[str, str], bool]
if TYPE_CHECKING:
    from atc_py.check.lint import LintResult


_COLUMNS = (
    Text("operator"),
    Text("group"),
    Text("opsets", context="heading"),
    Text("compiles", context="heading"),
    Text("first input"),
    Text("summary", context="operator"),
)
_DTYPES = 2
"""Dtypes that a line of the list names; the rest it counts."""

_SHORT = {"float": "f", "bfloat": "bf", "int": "i", "uint": "u"}


@dataclass(frozen=True, slots=True)
class Selection:
    """Selection of operators to list; a member that is None selects all."""

    group: str | None = None
    opset: int | None = None  # those that are listed at this opset; custom operators have no opsets
    dtype: str | None = None  # those whose first input may have this dtype
    custom: bool | None = None  # custom operators alone, or ONNX's alone


def selected(specs: Sequence[OpSpec], selection: Selection) -> list[OpSpec]:
    """The specifications that a selection leaves.

    Raises:
        AtcError: BAD_OPTION with the known ones for an unknown group or dtype.
    """
    groups = sorted({spec.group for spec in specs})
    if selection.group is not None and selection.group not in groups:
        message = Text("no group is called {group}", group=repr(selection.group))
        raise BAD_OPTION.error(message, help=Text("groups: {groups}", groups=", ".join(groups)))
    dtype = None if selection.dtype is None else _dtype(selection.dtype)
    return [
        spec
        for spec in specs
        if selection.group in {None, spec.group}
        and selection.custom in {None, spec.custom}
        and (selection.opset is None or selection.opset in spec.opsets)
        and (dtype is None or _accepts_dtype(spec, dtype))
    ]


def operator_list_lines(specs: Sequence[OpSpec], compiles: Compiles) -> list[str]:
    if not specs:
        return [spoken("no operator matches")]
    rows = tuple(
        (
            spec.op,
            spec.group,
            spec.opset_text,
            compiles_words(spec, compiles=compiles(spec.op, "")),
            _first_input(spec),
            Words(spec.summary.en, spec.summary.zh),
        )
        for spec in specs
    )
    lines = [cut(line) for line in plain_lines(Table("", _COLUMNS, rows, said=(3, 5)))]
    end = plural(
        len(specs),
        "{n} operator; `atc-py ops show NAME` shows one in full",
        "{n} operators; `atc-py ops show NAME` shows one in full",
    )
    return [*lines, "", spoken(end)]


def compiles_words(spec: OpSpec, *, compiles: bool) -> Text:
    if compiles:
        return Text("yes")
    return Text("not yet" if spec.unpublished is None else "not published")


def operator_list_json(specs: Sequence[OpSpec], compiles: Compiles) -> list[dict[str, object]]:
    return [
        {
            "op": spec.op,
            "group": spec.group,
            "opsets": list(spec.opsets),
            "custom": spec.custom,
            "compiles": compiles(spec.op, ""),
            "published": spec.unpublished is None,
            "dtypes": first_dtypes(spec),
            "summary": {"en": spec.summary.en, "zh": spec.summary.zh},
            "file": spec.file_name,
        }
        for spec in specs
    ]


def find_named_spec(name: str, known: Library | None = None) -> OpSpec:
    """The specification of the operator `name`, in any case or in the list's spelling.

    Raises:
        AtcError: UNKNOWN_NAME with near names where there is none.
    """
    known = library() if known is None else known
    spec = known.lookup(name)
    if spec is None:
        help_ = did_you_mean(known.near(name), Text("`atc-py ops list` lists the operators"))
        raise UNKNOWN_NAME.error(Text("no operator is called {name}", name=repr(name)), help=help_)
    return spec


def lint_line(result: LintResult) -> str:
    """`131 specifications, no fault, 14 warnings`, for a result without errors."""
    text = plural(result.count, "{n} specification, no fault", "{n} specifications, no fault")
    warnings = plural(len(result.findings), ", {n} warning", ", {n} warnings")
    return spoken(text + warnings if result.findings else text)


def first_dtypes(spec: OpSpec) -> list[str] | None:
    """Dtypes of the first input, or else of the first output; None for any."""
    first = (*spec.inputs, *spec.outputs)[:1]
    dtypes = spec.dtypes_of(first[0]) if first else None
    return None if dtypes is None else [dtype.value for dtype in dtypes]


def _dtype(name: str) -> DType:
    try:
        return DType.parse(name)
    except UnknownDTypeError:
        known = ", ".join(dtype.value for dtype in DType)
        raise BAD_OPTION.error(
            Text("no dtype is called {text}", text=repr(name)),
            help=Text("dtypes: {known}", known=known),
        ) from None


def _accepts_dtype(spec: OpSpec, dtype: DType) -> bool:
    if not spec.inputs:
        return False
    dtypes = spec.dtypes_of(spec.inputs[0])
    return dtypes is None or dtype in dtypes


def _first_input(spec: OpSpec) -> str:
    """Dtypes of the first input, short: `f16 f32 +4`; `-` without inputs."""
    dtypes = first_dtypes(spec)
    if not spec.inputs:
        return "-"
    if dtypes is None:
        return "any"
    more = len(dtypes) - _DTYPES
    kinds = [(dtype, dtype.rstrip("0123456789")) for dtype in dtypes[:_DTYPES]]
    shown = " ".join(_SHORT.get(kind, kind) + dtype[len(kind) :] for dtype, kind in kinds)
    return f"{shown} +{more}" if more > 0 else shown
