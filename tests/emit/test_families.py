"""Families: how they are found, which of an operator's writes a kernel, and how tilings are built."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from dataclasses import dataclass, fields, is_dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import atc_py.emit
from atc_py.emit import registry
from atc_py.emit.collect import collect
from atc_py.emit.family import Family
from atc_py.emit.fields import extended, narrow, wide
from atc_py.emit.registry import families, families_of, family_of
from atc_py.ir import Engine
from atc_py.target import find_operator, find_soc
from atc_py.tensor.dtypes import DType
from tests.emit.families.blocks import image

if TYPE_CHECKING:
    from atc_py.emit.plan import Launch, Plan
    from atc_py.ir import Graph
    from tests.emit.conftest import AddNode

SIM = find_soc("sim")
MAP = (2, 32, 10, 12)


def tiling_classes() -> list[type]:
    """Return every class of `atc_py.emit` whose fields become members of a kernel's `Tiling`."""
    modules = pkgutil.walk_packages(atc_py.emit.__path__, "atc_py.emit.")
    found = {
        name: member
        for module in modules
        for name, member in inspect.getmembers(importlib.import_module(module.name))
        if is_dataclass(member) and any("ctype" in each.metadata for each in fields(member))
    }
    return [kind for _, kind in sorted(found.items()) if isinstance(kind, type)]


class Claiming(Family):
    """A family that claims `Sign`."""

    name = template = "claiming"
    operators = frozenset({"Sign"})

    def __init__(self, *, in_blocks: bool) -> None:
        self.in_blocks = in_blocks

    def plan(self, launch: Launch) -> Plan:
        raise NotImplementedError


@pytest.mark.parametrize("kind", tiling_classes(), ids=lambda kind: kind.__name__)
def test_tilings_are_built_by_keyword(kind: type) -> None:
    names = [each.name for each in fields(kind) if each.init]
    assert kind(**dict.fromkeys(names, 1)) == kind(**dict.fromkeys(names, 1))
    with pytest.raises(TypeError, match="positional"):
        kind(*[1] * len(names))


def test_all_tilings_are_looked_at() -> None:
    assert len(tiling_classes()) > 15


@dataclass(frozen=True, kw_only=True)
class Base:
    rows: int = wide("rows")
    columns: int = narrow("columns")


@dataclass(frozen=True, kw_only=True)
class Further(Base):
    planes: int = wide("planes")


def test_a_tiling_extends_another_and_may_change_its_numbers() -> None:
    found = extended(Further, Base(rows=2, columns=3), columns=5, planes=7)
    assert found == Further(rows=2, columns=5, planes=7)
    with pytest.raises(TypeError, match="planes"):
        extended(Further, Base(rows=2, columns=3))


def test_every_operator_of_a_family_has_a_row() -> None:
    assert families()
    assert all(find_operator(op) for family in families() for op in family.operators)


def test_the_family_in_blocks_is_asked_first() -> None:
    for op in {op for family in families() for op in family.operators}:
        kinds = [family.in_blocks for family in families_of(op)]
        assert kinds in ([True, False], [False], [True])


def test_operands_in_blocks_choose_the_family_in_blocks(graph: Graph, add_node: AddNode) -> None:
    for shape in (MAP, image(DType.FLOAT16, *MAP)):
        add_node(graph, "Relu", [shape], [shape])
    add_node(graph, "Relu", [MAP], [MAP], engine=Engine.AICPU)
    found = [family_of(kernel.facts) for kernel in collect(graph, SIM)]
    assert [each.name for each in found] == ["unary", "unary", "aicpu"]
    assert [each.in_blocks for each in found] == [False, True, False]


def listed(monkeypatch: pytest.MonkeyPatch, **modules: tuple[Family, ...]) -> Any:
    """Return the register with families of these modules alone."""
    names = [SimpleNamespace(name=name) for name in modules]
    monkeypatch.setattr("atc_py.emit.registry.pkgutil.iter_modules", lambda _: names)
    monkeypatch.setattr(
        "atc_py.emit.registry.importlib.import_module",
        lambda name: SimpleNamespace(FAMILIES=modules[name.rpartition(".")[2]]),
    )
    return registry._by_operator.__wrapped__


def test_two_families_of_one_operator_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = (Claiming(in_blocks=False) for _ in range(2))
    by_operator = listed(monkeypatch, first=(one,), second=(other,))
    with pytest.raises(ValueError, match=r"Sign is claimed in .*\.first and in .*\.second"):
        by_operator()


def test_rows_and_blocks_of_one_operator_may_be_two_families(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows, blocks = Claiming(in_blocks=False), Claiming(in_blocks=True)
    assert listed(monkeypatch, first=(rows,), second=(blocks,))() == {"Sign": (blocks, rows)}
