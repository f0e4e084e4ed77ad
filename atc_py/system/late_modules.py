"""Modules of other packages as commands import them.

Those that commands hardly use are loaded at their first use: importing all of them takes a fifth of
the time of a small command. What imports them does so as a whole (`import tempfile`); names that are
imported one by one are listed with what stands for them. numpy is loaded with a BLAS of one thread.
"""

from __future__ import annotations

import os
import sys
import typing
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.abc import Loader, MetaPathFinder
else:
    Loader = MetaPathFinder = object

_TYPES = ("get_type_hints", "NotRequired", "Required", "Self", "Unpack")


def _later(module: str, *names: str) -> dict[str, Any]:
    """Functions and classes of a module, which the first call of one loads."""
    return {name: _Called(module, name) for name in names}


class _Called:
    """Stands for a function or a class; in a class, where jinja2 keeps one, it binds no `self`."""

    def __init__(self, module: str, name: str) -> None:
        self._at = module, name

    def __call__(self, *given: Any, **named: Any) -> Any:
        module, name = self._at
        return getattr(_filled(module), name)(*given, **named)


def _filled(name: str) -> ModuleType:
    module = sys.modules[name]
    loader = module.__spec__ and module.__spec__.loader
    if isinstance(loader, _LateLoader):
        loader.fill(module)
    return module


def _clean_doc(doc: str) -> str:
    """As in inspect; click asks for each option, and numpy for some of its functions."""
    first, *rest = doc.expandtabs().split("\n")
    margin = min((len(line) - len(line.lstrip()) for line in rest if line.strip()), default=0)
    return "\n".join([first.lstrip(), *(line[margin:] for line in rest)]).strip("\n")


def _signature(obj: Callable[..., Any], **choice: Any) -> Any:
    """As in inspect, but None where numpy asks while it is imported; numpy.ma takes no None."""
    if (obj.__module__ or "").startswith(("numpy._core.", "numpy.lib.")):
        return None
    return _filled("inspect").signature(obj, **choice)


def _plural(msgid1: str, msgid2: str, n: int) -> str:
    return msgid1 if n == 1 else msgid2


def _close_matches(word: str, *rest: Any, **choice: Any) -> list[str]:
    """As in difflib; click asks for each short option that is given, and shows nothing for one."""
    if len(word) == len("-o") and word.startswith("-"):
        return []
    found: list[str] = _filled("difflib").get_close_matches(word, *rest, **choice)
    return found


_LATE: dict[str, dict[str, Any]] = {
    "ast": {},
    "calendar": {},
    "difflib": {"get_close_matches": _close_matches},
    "google.protobuf.descriptor_database": {},
    "google.protobuf.internal.python_message": {},  # messages where there are none in C
    "google.protobuf.text_encoding": {},
    "gettext": {"gettext": str, "ngettext": _plural},  # our own catalog has click's texts
    "inspect": {
        "cleandoc": _clean_doc,
        "signature": _signature,
        **_later("inspect", "getattr_static"),
    },
    "ipaddress": {},
    # templates are compiled once, and kept
    "jinja2.compiler": _later("jinja2.compiler", "CodeGenerator", "generate"),
    "jinja2.lexer": _later("jinja2.lexer", "Lexer", "TokenStream", "get_lexer"),
    "jinja2.parser": _later("jinja2.parser", "Parser"),
    "msgspec.inspect": {},
    "ntpath": {},
    "numpy._core._add_newdocs": {},
    "numpy._core._add_newdocs_scalars": {},
    "numpy._core._internal": {},
    "numpy._typing": {"NDArray": list},  # for annotations, which are evaluated
    "numpy.typing": {"NDArray": list, "DTypeLike": object, "ArrayLike": object},
    "numpy.linalg": _later("numpy.linalg", "eigvals", "inv", "lstsq", "matrix_power"),
    "random": _later("random", "choice", "randrange"),
    "shutil": {},
    "tempfile": {},
    "textwrap": {},
    "tokenize": {},
    "traceback": {},
    "urllib.parse": _later("urllib.parse", "quote_from_bytes"),
}
if hasattr(os, "uname"):
    _LATE["platform"] = {"system": lambda: os.uname().sysname}  # uuid asks
if all(hasattr(typing, name) for name in _TYPES):  # Python 3.11
    _LATE["typing_extensions"] = {name: getattr(typing, name) for name in _TYPES}


class _LateModule(ModuleType):
    """A module without its contents until an attribute is wanted that it lacks."""

    def __getattr__(self, name: str) -> Any:
        loader = self.__spec__ and self.__spec__.loader
        if isinstance(loader, _LateLoader) and (name == "__all__" or not name.startswith("__")):
            loader.fill(self)
        return ModuleType.__getattribute__(self, name)


class _LateLoader(Loader):
    """Makes a module at once, and fills it later."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader
        self._lock = RLock()
        self._begun = False

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _LateModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        vars(module).update(_LATE[module.__name__])

    def fill(self, module: ModuleType) -> None:
        """Load the module, unless another thread has by then, or this one is at it."""
        with self._lock:
            if self._begun:
                return
            self._begun = True
            self._loader.exec_module(module)
            if module.__spec__ is not None:
                module.__spec__.loader = module.__loader__ = self._loader
            module.__class__ = ModuleType


_THREADS = "OPENBLAS_NUM_THREADS"


class _OneThreadLoader(Loader):
    """Loads numpy, whose BLAS starts no threads beside this one unless the user says how many.

    They take processor time to start and to end, and memory each, and the simulator has its own. The
    variable is set during the import alone: processes that this one starts do not inherit it.
    """

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = module.__loader__ = self._loader
        os.environ[_THREADS] = "1"
        try:
            self._loader.exec_module(module)
        finally:
            del os.environ[_THREADS]


class _Finder(MetaPathFinder):
    """Finds numpy and the modules of the list."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        alone = name == "numpy" and _THREADS not in os.environ
        spec = PathFinder.find_spec(name, path) if alone or name in _LATE else None
        if spec is not None and spec.loader is not None:
            spec.loader = (_OneThreadLoader if alone else _LateLoader)(spec.loader)
        return spec


def prepare_imports() -> None:
    """Have this process import modules so from now on; for commands."""
    sys.meta_path.insert(0, _Finder())
