"""Registers: rows by key that the modules of a package add, imported as they are asked for.

`module_index.json` says which module has the rows of which name; `make docs` derives it. A module
that is not in it may have any row, so that a new file needs no entry to be found.
"""

import sys
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

Key = TypeVar("Key", bound=Hashable)
Row = TypeVar("Row")

_SUFFIXES = (".py", ".pyc")

INDEX = Path(__file__).with_name("module_index.json")
"""By package and module the names of its rows."""


class Register(Generic[Key, Row]):
    """Rows by key: a name, or a tuple that begins with one.

    A module adds rows as it is imported, by a decorator that calls `add`, or lists them in a tuple.
    """

    def __init__(
        self,
        kind: str,
        package: str,
        *,
        listed: str = "",
        keys: Callable[[Row, str | None], Iterable[Key]] = lambda _row, _name: (),
        sparse: bool = False,
    ) -> None:
        """Prepare an empty register.

        Args:
            kind: what a row is, for messages.
            package: the package whose modules add rows.
            listed: name of the tuple in which each of them lists its rows, if they do.
            keys: the keys of a listed row, of one name or of all.
            sparse: many names have no row, so one without is not looked for in every module.
        """
        self.kind, self.package = kind, package
        self._listed, self._keys, self._sparse = listed, keys, sparse
        self._rows: dict[Key, Row] = {}
        self._places: dict[Key, str] = {}
        self._known: dict[str, dict[Key, Row]] = {}
        self._loaded: set[tuple[str, str | None]] = set()
        self._ready: set[Key] = set()

    def add(self, key: Key, row: Row, place: str) -> None:
        """Add a row, which stands at `module:line` or in `module`."""
        first = self._places.setdefault(key, place)
        if self._rows.setdefault(key, row) is not row:
            name = key if isinstance(key, str) else " ".join(map(str, _parts(key)))
            raise ValueError(f"{self.kind} {name} stands twice: in {first} and in {place}")
        self._known.clear()

    def get(self, key: Key) -> Row | None:
        """The row of a key, or None; its module is whole, whichever thread imports it."""
        if key not in self._ready:
            if key not in self._rows:
                self._load_name(_name(key))
            if key in self._rows:
                module = self._places[key].partition(":")[0]
                if module in sys.modules:
                    import_module(module)  # waits while another thread imports it
                self._ready.add(key)
        return self._rows.get(key)

    def named(self, name: str) -> Mapping[Key, Row]:
        known = self._known.get(name)
        if known is None:
            self._load_name(name)
            rows = list(self._rows.items())  # other threads may be adding some
            known = self._known[name] = {key: row for key, row in rows if _name(key) == name}
        return known

    def all(self) -> dict[Key, Row]:
        for module in _modules(self.package):
            self._load(module)
        return self._rows

    def modules(self) -> dict[str, list[str]]:
        """The modules of the package with the names of their rows, for the index."""
        self.all()
        names: dict[str, set[str]] = {module: set() for module in _modules(self.package)}
        for key, place in self._places.items():
            package, _, module = place.partition(":")[0].rpartition(".")
            if package == self.package:
                names[module].add(_name(key))
        return {module: sorted(rows) for module, rows in names.items()}

    def _load_name(self, name: str) -> None:
        """Import the modules that have the rows of a name, by the index or else by trying."""
        listed, modules = _modules_by_name(self.package)
        others = [module for module in _modules(self.package) if module not in listed]
        known = modules.get(name, () if self._sparse else listed)
        for module in [*known, *others]:
            self._load(module, name)

    def _load(self, module: str, name: str | None = None) -> None:
        if not {(module, name), (module, None)}.isdisjoint(self._loaded):
            return
        path = f"{self.package}.{module}"
        loaded = import_module(path)
        if self._listed:
            for row in getattr(loaded, self._listed, ()):
                for key in self._keys(row, name):
                    self.add(key, row, path)
        self._loaded.add((module, name))


def place_of(function: Any) -> str:
    """`module:line` of a function."""
    code = getattr(function, "__code__", None)
    return f"{function.__module__}:{code.co_firstlineno}" if code else str(function.__module__)


def _parts(key: Any) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


def _name(key: Any) -> str:
    return str(_parts(key)[0])


@cache
def _modules(package: str) -> tuple[str, ...]:
    folders = map(Path, import_module(package).__path__)
    files = (file for folder in folders for file in folder.iterdir() if file.suffix in _SUFFIXES)
    return tuple(sorted({file.stem for file in files} - {"__init__"}))


@cache
def _index() -> dict[str, dict[str, list[str]]]:
    index: dict[str, dict[str, list[str]]] = msgspec.json.decode(INDEX.read_bytes())
    return index


@cache
def _modules_by_name(package: str) -> tuple[tuple[str, ...], dict[str, list[str]]]:
    """The modules of a package that the index lists, and those with rows of each name."""
    listed = _index().get(package, {})
    modules: dict[str, list[str]] = {}
    for module, names in listed.items():
        for name in names:
            modules.setdefault(name, []).append(module)
    return tuple(listed), modules
