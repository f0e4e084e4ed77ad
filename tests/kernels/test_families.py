"""Families: how they are found, which of an operator's writes a kernel, and how tilings are built."""

import importlib
import inspect
import pkgutil
from types import SimpleNamespace
from typing import Any

import pytest

import atc_py.kernels
from atc_py.ir import Engine, Graph
from atc_py.kernels import registry
from atc_py.kernels.collect import collect
from atc_py.kernels.family import Family
from atc_py.kernels.fields import Tiling, extended, narrow, wide
from atc_py.kernels.plan import Launch, Plan
from atc_py.kernels.registry import families, families_of, family_of
from atc_py.target import find_operator, find_soc
from atc_py.tensor.dtypes import DType
from tests.kernels.conftest import AddNode
from tests.kernels.families.blocks import image

SIM = find_soc("sim")
MAP = (2, 32, 10, 12)


def tiling_classes() -> list[type[Tiling]]:
    """Return every class of `atc_py.kernels` whose fields become members of a kernel's `Tiling`."""
    modules = pkgutil.walk_packages(atc_py.kernels.__path__, "atc_py.kernels.")
    found = {
        name: member
        for module in modules
        for name, member in inspect.getmembers(importlib.import_module(module.name))
        if inspect.isclass(member) and issubclass(member, Tiling) and member.declared
    }
    return [kind for _, kind in sorted(found.items())]


class Claiming(Family):
    """A family that claims `Sign`."""

    name = template = "claiming"
    operators = frozenset({"Sign"})

    def __init__(self, *, in_blocks: bool) -> None:
        self.in_blocks = in_blocks

    def plan(self, launch: Launch) -> Plan:
        raise NotImplementedError


@pytest.mark.parametrize("kind", tiling_classes(), ids=lambda kind: kind.__name__)
def test_tilings_are_built_by_keyword(kind: type[Tiling]) -> None:
    given = dict.fromkeys(kind.declared, 1)
    assert kind(**given) == kind(**given)
    with pytest.raises(TypeError, match="positional"):
        kind(*given.values())


@pytest.mark.parametrize("kind", tiling_classes(), ids=lambda kind: kind.__name__)
def test_tilings_take_their_fields_and_no_others(kind: type[Tiling]) -> None:
    given = dict.fromkeys(kind.declared, 1)
    with pytest.raises(TypeError, match="others: further"):
        kind(**given, further=1)
    missing = given.popitem()[0]
    with pytest.raises(TypeError, match=f"others: {missing}"):
        kind(**given)


@pytest.mark.parametrize("kind", tiling_classes(), ids=lambda kind: kind.__name__)
def test_tilings_do_not_change(kind: type[Tiling]) -> None:
    tiling = kind(**dict.fromkeys(kind.declared, 1))
    with pytest.raises(AttributeError, match="cannot be set"):
        setattr(tiling, next(iter(kind.declared)), 2)
    assert hash(tiling) == hash(kind(**dict.fromkeys(kind.declared, 1)))
    assert tiling != kind(**dict.fromkeys(kind.declared, 2))
    assert repr(tiling).startswith(f"{kind.__name__}({next(iter(kind.declared))}=1")


def test_all_tilings_are_looked_at() -> None:
    assert len(tiling_classes()) > 15


class Base(Tiling):
    rows: int = wide("rows")
    columns: int = narrow("columns")


class Further(Base):
    planes: int = wide("planes")


def test_fields_of_bases_come_first() -> None:
    assert list(Further.declared) == ["rows", "columns", "planes"]


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
    monkeypatch.setattr("atc_py.kernels.registry.pkgutil.iter_modules", lambda _: names)
    monkeypatch.setattr(
        "atc_py.kernels.registry.importlib.import_module",
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
