"""Registers: rows by key, whose modules are imported as they are asked for."""

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from atc_py.system import register as module
from atc_py.system.register import Register

PAGE = "from shop.till import TILL\nTILL.add({key!r}, object(), {place!r})\n"
Shop = Callable[..., "Register[str, object]"]


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    """Yield what makes a package of modules, each with one row, and its register."""
    monkeypatch.syspath_prepend(str(tmp_path))
    for cached in (module._modules, module._modules_by_name):
        cached.cache_clear()

    def make(
        rows: Mapping[str, str], index: Mapping[str, list[str]], *, sparse: bool = False
    ) -> "Register[str, object]":
        (tmp_path / "shop" / "rows").mkdir(parents=True)
        (tmp_path / "shop" / "till.py").write_text(
            "from atc_py.system.register import Register\n"
            f"TILL = Register('price of', 'shop.rows', sparse={sparse})\n"
        )
        for name, key in rows.items():
            text = PAGE.format(key=key, place=f"shop.rows.{name}:2")
            (tmp_path / "shop" / "rows" / f"{name}.py").write_text(text)
        monkeypatch.setattr(module, "_index", lambda: {"shop.rows": dict(index)})
        from shop.till import TILL  # type: ignore[import-not-found]

        till: Register[str, object] = TILL
        return till

    yield make
    for name in [name for name in sys.modules if name.partition(".")[0] == "shop"]:
        del sys.modules[name]
    for cached in (module._modules, module._modules_by_name):
        cached.cache_clear()


def imported() -> set[str]:
    """Return the modules of rows that are imported."""
    return {name.rpartition(".")[2] for name in sys.modules if name.startswith("shop.rows.")}


ROWS = {"fruit": "apple", "roots": "beet", "grain": "corn"}
INDEX = {"fruit": ["apple"], "roots": ["beet"]}


def test_row_imports_its_module_and_those_that_no_index_lists(shop: Shop) -> None:
    till = shop(ROWS, INDEX)
    assert till.get("apple")
    assert imported() == {"fruit", "grain"}
    assert till.get("corn")
    assert imported() == {"fruit", "grain"}


def test_row_that_the_index_does_not_know_yet_is_found(shop: Shop) -> None:
    till = shop(ROWS, {"fruit": [], "roots": ["beet"], "grain": ["corn"]})
    assert till.get("apple")


def test_register_of_few_names_imports_nothing_for_the_others(shop: Shop) -> None:
    till = shop(ROWS, {**INDEX, "grain": ["corn"]}, sparse=True)
    assert till.get("date") is None
    assert imported() == set()
    assert [*till.all()] == ["apple", "corn", "beet"]
    assert till.modules() == {"fruit": ["apple"], "grain": ["corn"], "roots": ["beet"]}


def test_clash_names_both_places(shop: Shop) -> None:
    till = shop({"fruit": "apple", "roots": "apple"}, {})
    with pytest.raises(
        ValueError,
        match=r"^price of apple stands twice: in shop.rows.fruit:2 and in shop.rows.roots:2$",
    ):
        till.all()


def test_rows_of_a_name_are_found_by_its_tuples() -> None:
    numbers: Register[tuple[str, int], str] = Register("number of", "atc_py.text")
    for since in (7, 1):
        numbers.add(("Add", since), f"add {since}", "here")
    numbers.add(("Sub", 1), "sub", "here")
    assert numbers.named("Add") == {("Add", 7): "add 7", ("Add", 1): "add 1"}
    with pytest.raises(ValueError, match="number of Add 7 stands twice"):
        numbers.add(("Add", 7), "other", "there")
