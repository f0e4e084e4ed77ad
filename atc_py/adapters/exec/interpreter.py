"""Facts about the program to start: options of Python that keep the hook out, and libraries."""

import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

_PYTHON = re.compile(r"(python|pypy)[\d.]*w?(\.exe)?", re.IGNORECASE)
_DEFEATING = "IES"
"""Options that ignore PYTHONPATH, or leave out the module that imports sitecustomize."""

_WITH_VALUE = "WX"
_LAST = "cm"
"""Options after which come the program and its own arguments."""

_LIBRARIES = (
    "numpy", "google", "google.protobuf", "typing_extensions", "ml_dtypes", "onnx", "msgspec",
    "yaml", "threadpoolctl", "markupsafe", "jinja2",
)  # fmt: skip
"""Modules of other packages that atc_py imports in a process of the program."""

_IMPORTED = {"numpy", "ml_dtypes", "onnx", "msgspec", "pyyaml", "threadpoolctl", "jinja2"}
"""Their distributions that atc-py itself requires."""

_LEAST = re.compile(r"([\w-]+)\s*>=\s*([\d.]+)")


def defeating_flags(command: Sequence[str]) -> tuple[str, ...]:
    """The options of a Python command line that keep the hook out, such as `-I`."""
    if not command or not _PYTHON.fullmatch(Path(command[0]).name):
        return ()
    found: list[str] = []
    words = iter(command[1:])
    for word in words:
        if not word.startswith("-") or word in {"-", "--"}:
            break
        if word.startswith("--"):
            continue
        for at, letter in enumerate(word[1:], start=1):
            if letter in _DEFEATING and f"-{letter}" not in found:
                found.append(f"-{letter}")
            if letter in _LAST:
                return tuple(found)
            if letter in _WITH_VALUE:
                if at == len(word) - 1:
                    next(words, None)
                break
    return tuple(found)


def python_tag() -> str:
    """This kind of Python, as the names of compiled modules state it."""
    return sys.implementation.cache_tag or ""


def library_folders() -> dict[str, str]:
    """The folders in which this Python finds the libraries, without importing them.

    The name of that which has the metadata of atc-py itself is empty.
    """
    found = {}
    for name in _LIBRARIES:
        spec = find_spec(name)
        places = [] if spec is None else list(spec.submodule_search_locations or ())
        if places:
            found[name] = str(Path(places[0]).parent)
        elif spec is not None and spec.origin is not None:
            found[name] = str(Path(spec.origin).parent)
    with suppress(metadata.PackageNotFoundError):
        found[""] = str(metadata.distribution("atc-py").locate_file(""))
    return found


def library_needs() -> dict[str, str]:
    """The least version of each library that atc-py requires; nothing where it is not installed."""
    try:
        required = metadata.requires("atc-py") or []
    except metadata.PackageNotFoundError:
        return {}
    found = [_LEAST.match(each) for each in required if ";" not in each]
    return {each[1]: each[2] for each in found if each and each[1].lower() in _IMPORTED}
