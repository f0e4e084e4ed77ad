"""The hook of `atc-py exec` in a Python process: it replaces onnxruntime's session class on import.

The module that defines the class is changed before any other has a name for it, so every form of
import and every alias yields the replacement.
"""

from __future__ import annotations

import os
import sys

from _atc_py_environment import (  # type: ignore[import-not-found]
    carry_in_forks,
    hide_and_carry,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any


LIBRARY = "onnxruntime"
TARGET = "onnxruntime.capi.onnxruntime_inference_collection"
STARTER = "_posixsubprocess"
_WATCHED = frozenset({LIBRARY, TARGET, STARTER})
ROOT = os.path.abspath(os.path.join(__file__, *[os.pardir] * 5))  # noqa: PTH100, PTH118
"""Folder that holds the package atc_py."""


def install() -> None:
    """Install the hook in this process."""
    run = hide_and_carry()
    if run is None:
        return
    _note(run, "hooked")
    finder = ImportWatch(run)
    sys.meta_path.insert(0, finder)
    # A file with the suffix pth may have imported a module before.
    if TARGET in sys.modules:
        finder.replace(sys.modules[TARGET])
        finder.complete(sys.modules[LIBRARY])
    if STARTER in sys.builtin_module_names or STARTER in sys.modules:
        carry_in_forks(__import__(STARTER), run)
        finder.is_carrying = True
    early: Any = sys.modules.get("subprocess")
    if hasattr(early, "_fork_exec"):
        early._fork_exec = sys.modules[STARTER].fork_exec  # noqa: SLF001


class ImportWatch:
    """Finder of modules that waits for onnxruntime, and leaves finding to those after it."""

    def __init__(self, run: str) -> None:
        self._run = run
        self.is_carrying = False

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Nothing but for modules that are changed or counted, whose own spec it is."""
        if name not in _WATCHED or (name == STARTER and self.is_carrying):
            return None
        spec = self._found(name, path, target)
        if name == STARTER:
            if spec is not None and spec.loader is not None:
                _then(spec.loader, lambda module: carry_in_forks(module, self._run))
            return spec
        if spec is None or spec.loader is None:
            _note(self._run, "missing" if name == LIBRARY else "foreign")
        elif name == LIBRARY:
            _note(self._run, "imported")
            _then(spec.loader, self.complete)
        elif not _then(spec.loader, self.replace):
            _note(self._run, "foreign")
        return spec

    def _found(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> ModuleSpec | None:
        for other in list(sys.meta_path):
            find = getattr(other, "find_spec", None)
            if other is not self and find is not None:
                spec: ModuleSpec | None = find(name, path, target)
                if spec is not None:
                    return spec
        return None

    def replace(self, module: ModuleType) -> None:
        """Replace the classes of the module that defines sessions."""
        try:
            _import_own()
            from atc_py.adapters.exec.replacement import replace

            replace(module, self._run)
        except Exception as error:  # noqa: BLE001  (the program is not to end for it)
            # A text of `_import_own` is a template and a value, which the parent translates.
            said = error.args if type(error) is ImportError else (error,)
            _note(self._run, "unloaded", "\t".join(map(str, (type(error).__name__, *said))))

    def complete(self, package: ModuleType) -> None:
        """Replace the class of session options in onnxruntime itself, where sessions are replaced."""
        replaced = sys.modules.get("atc_py.adapters.exec.replacement")
        if replaced is not None:
            replaced.record_options(package)


def _import_own() -> None:
    """Import the atc_py that started the program, whatever the program's own environment has."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    known = sys.modules.get("atc_py")
    spec = PathFinder.find_spec("atc_py", [ROOT])
    if spec is None or spec.loader is None or spec.origin is None:
        raise ImportError("there is no atc_py in {folder}", ROOT)
    if known is not None:
        if os.path.realpath(known.__file__ or "") != os.path.realpath(spec.origin):
            raise ImportError("the program has imported another atc_py, {folder}", known.__file__)
        return
    module = module_from_spec(spec)
    sys.modules["atc_py"] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules["atc_py"]
        raise


def _then(loader: object, action: Callable[[ModuleType], None]) -> bool:
    """Make a loader call `action` with the module that it has executed, once; False if it cannot."""
    execute: Callable[[ModuleType], None] | None = getattr(loader, "exec_module", None)
    if execute is None or isinstance(loader, type) or not hasattr(loader, "__dict__"):
        return False

    def exec_module(module: ModuleType) -> None:
        del loader.exec_module  # type: ignore[attr-defined]
        execute(module)
        action(module)

    loader.exec_module = exec_module  # type: ignore[attr-defined]
    return True


def _note(run: str, name: str, text: str = "") -> None:
    """Leave a file in the folder of the run; after the end of the run there is none to leave it in."""
    try:
        handle = os.open(f"{run}/{name}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError:
        return
    if text:
        os.write(handle, f"{sys.executable}\t{text}\n".encode(errors="backslashreplace"))
    os.close(handle)
