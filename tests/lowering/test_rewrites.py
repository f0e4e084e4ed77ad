"""Rewrites: each has words, a rule or a restatement that asks for it, and code found by its name."""

from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages

import pytest

from atc_py import lowering, passes
from atc_py.spec import OpSpec
from atc_py.spec.rewrites import REWRITES, performers, performs
from tests.spec.every_list import each_spec

for _room in (lowering, passes):
    for _module in walk_packages(_room.__path__, f"{_room.__name__}."):
        import_module(_module.name)  # registers what it performs; conversion imports by need

UNNAMED = {"cast-through", "restate"}
"""Rewrites that no rule names: carried dtypes and restated opsets ask for them."""


def asked_for(spec: OpSpec) -> Iterator[str]:
    """Yield the rewrites that a specification names."""
    yield from (rule.rewrite for rule in spec.constraints if rule.rewrite is not None)
    yield from (row.rewrite for row in spec.attributes if row.rewrite is not None)
    yield from (row.rewrite for row in spec.inputs if row.rewrite is not None)
    for row in spec.inputs:
        if row.beyond is not None:
            yield row.beyond.rewrite


@pytest.mark.parametrize("name", REWRITES)
def test_rewrite_has_code(name: str) -> None:
    assert performers(name)


def test_rules_ask_for_every_rewrite() -> None:
    named = {name for spec in each_spec() for name in asked_for(spec)}
    assert named == REWRITES.keys() - UNNAMED


def test_code_stands_where_nodes_change() -> None:
    rooms = {code.__module__.split(".")[1] for name in REWRITES for code in performers(name)}
    assert rooms == {"lowering", "passes"}


def test_unknown_rewrite_is_refused() -> None:
    with pytest.raises(ValueError, match="no rewrite is called 'align-rank'"):
        performs("align-rank")
