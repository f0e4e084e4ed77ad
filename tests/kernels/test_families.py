"""Families: how they are found, which of an operator's writes a kernel, and how tilings are built."""

import importlib
import inspect
import pkgutil
from collections.abc import Mapping

import pytest

import atc_py.kernels
from atc_py.ir import Engine, Graph
from atc_py.kernels.collect import collect
from atc_py.kernels.family import Family, Launch, Plan
from atc_py.kernels.registry import FAMILIES, families_of, family_of
from atc_py.kernels.tiling import Tiling, extended, narrow, numbers, wide
from atc_py.system.register import Register
from atc_py.target import find_operator, find_soc
from atc_py.tensor.dtypes import DType
from tests.failures import in_one_item
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


@in_one_item("kind", tiling_classes(), ids=lambda kind: kind.__name__)
def test_tilings_are_built_by_keyword(kind: type[Tiling]) -> None:
    given = dict.fromkeys(kind.declared, 1)
    assert kind(**given) == kind(**given)
    with pytest.raises(TypeError, match="positional"):
        kind(*given.values())


@in_one_item("kind", tiling_classes(), ids=lambda kind: kind.__name__)
def test_tilings_take_their_fields_and_no_others(kind: type[Tiling]) -> None:
    given = dict.fromkeys(kind.declared, 1)
    with pytest.raises(TypeError, match="others: further"):
        kind(**given, further=1)
    missing = given.popitem()[0]
    with pytest.raises(TypeError, match=f"others: {missing}"):
        kind(**given)


@in_one_item("kind", tiling_classes(), ids=lambda kind: kind.__name__)
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
    assert FAMILIES.all().values()
    assert all(find_operator(op) for family in FAMILIES.all().values() for op in family.operators)


def test_the_family_in_blocks_is_asked_first() -> None:
    for op in {op for family in FAMILIES.all().values() for op in family.operators}:
        kinds = [family.in_blocks for family in families_of(op)]
        assert kinds in ([True, False], [False], [True])


def test_operands_in_blocks_choose_the_family_in_blocks(graph: Graph, add_node: AddNode) -> None:
    for shape in (MAP, image(DType.FLOAT16, *MAP)):
        add_node(graph, "Relu", [shape], [shape])
    add_node(graph, "Relu", [MAP], [MAP], engine=Engine.AICPU)
    found = [family_of(kernel.facts) for kernel in collect(graph, SIM)]
    assert [each.name for each in found] == ["unary", "unary", "aicpu"]
    assert [each.in_blocks for each in found] == [False, True, False]


def named(*families: Family) -> Mapping[tuple[str, bool], Family]:
    """Return a register's families of Sign, listed in modules called by their numbers."""
    register: Register[tuple[str, bool], Family] = Register("family of", "atc_py.text")
    for number, family in enumerate(families):
        for key in FAMILIES._keys(family, None):
            register.add(key, family, f"module{number}")
    return register.named("Sign")


def test_two_families_of_one_operator_are_refused() -> None:
    one, other = (Claiming(in_blocks=False) for _ in range(2))
    with pytest.raises(ValueError, match=r"of Sign False stands twice: in module0 and in module1"):
        named(one, other)


def test_rows_and_blocks_of_one_operator_may_be_two_families() -> None:
    rows, blocks = Claiming(in_blocks=False), Claiming(in_blocks=True)
    assert named(rows, blocks) == {("Sign", False): rows, ("Sign", True): blocks}


def test_arrays_are_unsigned_unless_a_row_has_negative_numbers() -> None:
    assert numbers("lengths", 1).ctype == "uint64_t"
    assert numbers("steps", 0, signed=True).ctype == "int64_t"
