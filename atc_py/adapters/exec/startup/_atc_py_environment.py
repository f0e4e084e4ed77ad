"""The environment of a program under `atc-py exec`: the program sees its own, its children get the hook.

The variables of the hook stay in the environment that the system passes on, and are taken out of
`os.environ`. A program that passes an environment of its own gets them added as the child starts.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False

_Text: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeAlias


MARK = "ATC_PY_EXEC"
"""Variable with the folder of the run; a separator after it says that PYTHONPATH was set, but empty."""

STARTUP = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120  (pathlib is slow to import)
"""Folder that holds sitecustomize.py."""

_PATHS = "PYTHONPATH"


def hooked(run: str, paths: str | None) -> dict[str, str]:
    """The variables of a process with the hook, whose own PYTHONPATH is `paths`."""
    others = [each for each in paths.split(os.pathsep) if each != STARTUP] if paths else []
    return {
        _PATHS: os.pathsep.join([STARTUP, *others]),
        MARK: run + os.pathsep if paths == "" else run,
    }


def hidden(paths: str | None, mark: str) -> str | None:
    """PYTHONPATH as it would be without the hook; None where it would not be set."""
    others = [each for each in paths.split(os.pathsep) if each != STARTUP] if paths else []
    if any(others):
        return os.pathsep.join(others)
    return "" if mark.endswith(os.pathsep) else None


def hide_and_carry() -> str | None:
    """Take the hook out of `os.environ` and see that children get it; return the folder of the run."""
    mark = os.environ.get(MARK)
    if mark is None:
        return None
    run = mark.split(os.pathsep)[0]
    paths = hidden(os.environ.get(_PATHS), mark)
    data: dict[Any, Any] = os.environ._data  # type: ignore[attr-defined]  # noqa: SLF001
    data.pop(os.environ.encodekey(MARK), None)
    data.pop(os.environ.encodekey(_PATHS), None)
    if paths is not None:
        data[os.environ.encodekey(_PATHS)] = os.environ.encodevalue(paths)
    _keep_variables(run)
    _wrap_starts(run)
    return run


def forget() -> None:
    """Take the hook out of the environment: the run of which this process is a rest is over."""
    mark = os.environ.pop(MARK, "")
    paths = hidden(os.environ.pop(_PATHS, None), mark)
    if paths is not None:
        os.environ[_PATHS] = paths


def _keep_variables(run: str) -> None:
    """See that a program that sets or deletes PYTHONPATH changes its own part of it alone."""
    put, unset = os.putenv, os.unsetenv

    def put_hooked(paths: str | None) -> None:
        for name, value in hooked(run, paths).items():
            put(name, value)

    def putenv(name: _Text, value: _Text, /) -> None:
        """Change or add an environment variable."""
        if os.fsdecode(name) == _PATHS:
            put_hooked(os.fsdecode(value))
        else:
            put(name, value)

    def unsetenv(name: _Text, /) -> None:
        if os.fsdecode(name) == _PATHS:
            put_hooked(None)
        else:
            unset(name)

    os.putenv, os.unsetenv = putenv, unsetenv


def _wrap_starts(run: str) -> None:
    """Add the hook to environments that a program passes to the system itself."""
    for name in ("execve", "posix_spawn", "posix_spawnp"):
        if hasattr(os, name):
            setattr(os, name, _with_mapping(getattr(os, name), run))


def carry_in_forks(module: Any, run: str) -> None:
    """Add the hook to environments that a program gives subprocess.

    `module` is `_posixsubprocess`, which starts its processes and those of multiprocessing.
    """
    module.fork_exec = _with_list(module.fork_exec, run)


def _with_mapping(start: Callable[..., Any], run: str) -> Callable[..., Any]:
    """A function of os whose third argument is an environment, with the hook in that."""

    def started(path: Any, argv: Any, env: Any, **options: Any) -> Any:
        # None is what the system passes on; what else has no items the function refuses itself.
        return start(path, argv, _mapping(env, run) if hasattr(env, "items") else env, **options)

    started.__name__, started.__doc__ = start.__name__, start.__doc__
    return started


def _mapping(env: Mapping[Any, Any], run: str) -> dict[Any, Any]:
    """An environment with the hook; one that has it, or is no environment, as it is."""
    given = {os.fsdecode(name): value for name, value in env.items()}
    if MARK in given:
        return dict(env)
    paths = given.get(_PATHS)
    kept = {name: value for name, value in env.items() if os.fsdecode(name) != _PATHS}
    return {**kept, **hooked(run, None if paths is None else os.fsdecode(paths))}


def _with_list(start: Callable[..., Any], run: str) -> Callable[..., Any]:
    """`_posixsubprocess.fork_exec` with the hook in a list of variables, its sixth argument."""
    at = 5

    def fork_exec(*args: Any) -> Any:
        if len(args) > at and args[at] is not None:
            given = dict(each.partition(b"=")[::2] for each in args[at])
            merged = _mapping(given, run)
            listed = [os.fsencode(name) + b"=" + os.fsencode(merged[name]) for name in merged]
            args = (*args[:at], listed, *args[at + 1 :])
        return start(*args)

    return fork_exec
