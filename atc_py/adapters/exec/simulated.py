"""The simulated session of a model, as a process of the program makes and uses it."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import metadata
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import DistributionFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any

from atc_py.adapters.exec.settings import ExecSettings
from atc_py.diag import BAD_RUN_INPUT, INTERNAL, PROGRAM_LACKS_LIBRARIES, AtcError
from atc_py.system.memory_limit import exhausted, limited_memory
from atc_py.text import Text, verbatim

if TYPE_CHECKING:  # it may lack libraries
    from atc_py.adapters.session.session import InferenceSession

_inside = threading.local()

_filters = threading.RLock()
"""Lock of the filters of warnings, which all threads share."""


def simulate(
    model: str | bytes, arguments: Mapping[str, Any], settings: ExecSettings
) -> tuple[InferenceSession, list[str]]:
    """The simulated session of a model, and what it says of the program's arguments.

    Raises:
        AtcError: what the session finds; PROGRAM_LACKS_LIBRARIES where atc_py cannot be imported.
    """
    _require_libraries(settings)
    from atc_py.adapters.session.errors import SessionWarning
    from atc_py.adapters.session.session import InferenceSession

    # The program asked for no such session, and its own filters may make warnings errors.
    with _filters, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SessionWarning)
        session = InferenceSession(model, **arguments, **settings.session)
    for each in caught:
        if not issubclass(each.category, SessionWarning):
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
    said = [str(each.message) for each in caught if issubclass(each.category, SessionWarning)]
    return session, said


@contextmanager
def simulated_work(settings: ExecSettings) -> Iterator[None]:
    """Mark the block as atc_py's own work: its sessions are onnxruntime's, and it finds its libraries."""
    depth = getattr(_inside, "depth", 0)
    _inside.depth = depth + 1
    try:
        with limited_memory(settings.max_memory):
            yield
    finally:
        _inside.depth = depth


def is_own_work() -> bool:
    return bool(getattr(_inside, "depth", 0))


def new_filter_lock() -> None:
    """Make the lock of filters anew, in a process that was forked."""
    global _filters  # noqa: PLW0603  (one for the process)
    _filters = threading.RLock()


def as_refusal(error: Exception) -> AtcError:
    """An error of a simulated session as a coded one; another kind is a bug of atc-py's."""
    if isinstance(error, AtcError):
        return error
    return exhausted(error) or INTERNAL.error(
        verbatim(f"{type(error).__name__}: {error}"),
        help=Text("this is a bug in atc-py; please report it"),
    )


def is_of_values(refusal: AtcError) -> bool:
    """True if other values of the same shapes may be taken."""
    return all(each.code is BAD_RUN_INPUT for each in refusal.diagnostics)


_checked: list[AtcError | None] = []
"""The answer of `_require_libraries`, once there is one."""


def _require_libraries(settings: ExecSettings) -> None:
    if not _checked:
        sys.meta_path.append(_OwnLibraries(settings))
        _checked.append(_lacking(settings))
    if _checked[0] is not None:
        raise _checked[0].with_traceback(None)


def _lacking(settings: ExecSettings) -> AtcError | None:
    version = ".".join(map(str, sys.version_info[:3]))
    who = f"{sys.executable} (Python {version})"
    remedy = Text("install atc-py into the environment of {executable}", executable=sys.executable)
    try:
        for name in filter(None, settings.libraries):
            __import__(name)
    except Exception as error:  # noqa: BLE001  (libraries fail in many ways)
        lacking = Text(
            "{who} cannot import {name}, which atc-py needs: {error}",
            who=who,
            name=type(error).__name__,
            error=error,
        )
        return PROGRAM_LACKS_LIBRARIES.error(lacking, help=remedy)
    for name, least in settings.needs.items():
        found = _installed(name)
        if found is not None and _numbers(found) < _numbers(least):
            old = Text(
                "{who} has {name} {actual}, atc-py needs {least} or later",
                who=who,
                name=name,
                actual=found,
                least=least,
            )
            return PROGRAM_LACKS_LIBRARIES.error(old, help=Text("update {name} there", name=name))
    return None


def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.split(".")
    return tuple(
        int(part)
        for part in parts[: next((i for i, p in enumerate(parts) if not p.isdigit()), len(parts))]
    )


_ANY = DistributionFinder.Context()


class _OwnLibraries:
    """Finder of libraries that the program's environment lacks, where atc_py's own has them.

    It is the last of the finders, and finds them in the midst of atc_py's own work alone: for the
    program itself they stay missing. Compiled modules fit no other kind of Python.
    """

    def __init__(self, settings: ExecSettings) -> None:
        fits = settings.python == sys.implementation.cache_tag
        self._folders = settings.libraries if fits else {}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Path of a library, amid atc_py's own work."""
        if not is_own_work():
            return None
        folder = self._folders.get(name)
        return None if folder is None else PathFinder.find_spec(name, [folder], target)

    def find_distributions(
        self, context: DistributionFinder.Context = _ANY
    ) -> Iterable[metadata.Distribution]:
        """Facts of a library by the name of its distribution; by default of atc-py."""
        if not is_own_work():
            return ()
        wanted = DistributionFinder.Context(
            name=context.name or "atc-py", path=list(dict.fromkeys(self._folders.values()))
        )
        return metadata.MetadataPathFinder.find_distributions(wanted)
