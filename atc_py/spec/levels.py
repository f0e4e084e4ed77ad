"""Levels of rows and rules, and the rewrites named beside them."""

from collections.abc import Iterator
from typing import NamedTuple

from atc_py.spec.document import DataPath, Problem
from atc_py.spec.model import OpSpec
from atc_py.spec.rewrites import REWRITES
from atc_py.spec.rule import Level
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
