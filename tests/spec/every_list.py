"""The specifications of every list that comes with atc-py, as parameters of tests."""

from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import Any

import pytest

from atc_py.spec import Library, OpSpec, library
from atc_py.spec.lists import operator_lists

LISTS = tuple(each.name for each in operator_lists())
"""Names of the lists, the default first."""


def each_spec() -> Iterator[OpSpec]:
    """Yield every specification, list by list."""
    for name in LISTS:
        yield from library(name).all()


def list_of(spec: OpSpec) -> str:
    """Return the name of the list that a specification is of."""
    return PurePath(spec.path).parts[-3]


def library_of(spec: OpSpec) -> Library:
    """Return the list that a specification is of."""
    return library(list_of(spec))


def name_of(spec: OpSpec) -> str:
    """Return the list and the operator that a specification is of."""
    return f"{list_of(spec)}-{spec.op}"


def parameters(specs: Iterable[OpSpec]) -> list[Any]:
    """Return specifications as parameters whose ids say list and operator."""
    return [pytest.param(spec, id=name_of(spec)) for spec in specs]
