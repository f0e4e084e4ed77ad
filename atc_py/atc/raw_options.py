"""--raw_ge_options: a JSON file of the graph engine's own options, checked as atc checks it."""

import json
from pathlib import Path
from typing import Any

from atc_py.atc.faults import atc_error
from atc_py.diag import AtcError, Place
from atc_py.diag.codes import NOT_MODELED
from atc_py.system.input_files import read_text
from atc_py.text import error_text

_ROOT = "compile options"
_MOST_BYTES = 2**20
_LEVELS = ("global", "session", "graph")
_OWN = ("model", "output", "framework", "soc_version")
"""What the command line alone may say."""


def check_raw_options(path: Path, *, ignored: bool) -> None:
    """Check the file; its options, which are not modeled, may be ignored.

    Raises:
        AtcError: with E13001, E10032 or E10001; NOT_MODELED for options that are not ignored.
    """
    place = Place(str(path))
    try:
        text = read_text(path, _MOST_BYTES)
    except AtcError as error:
        cause = error.diagnostics[0]
        raise atc_error(
            "E13001", str(path), cause.message, code=cause.code, place=place,
            help="check the path that --raw_ge_options gives",
        ) from None  # fmt: skip
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise atc_error("E10032", str(path), place=place, help=error_text(error)) from None
    options = {name: value for level in _levels(document, path) for name, value in level.items()}
    for name in options:
        if name.rpartition(".")[2] in _OWN:
            raise _invalid(path, f"the command line alone may say {name}")
    if options and not ignored:
        raise atc_error(
            "E10055", f"options of the graph engine, {', '.join(sorted(options))[:200]}",
            code=NOT_MODELED, place=place,
            help="give the options of atc that mean the same, or "
            "--raw_ge_options_ignore_unsupported to have the file ignored",
        )  # fmt: skip


def _levels(document: Any, path: Path) -> list[dict[str, Any]]:
    """Return the options of each level."""
    root = document.get(_ROOT) if isinstance(document, dict) else None
    if not isinstance(root, dict):
        raise _invalid(path, f'it has no object "{_ROOT}"')
    levels = [value for name, value in root.items() if name in _LEVELS]
    if len(levels) < len(root) or not all(isinstance(each, dict) for each in levels):
        raise _invalid(path, f"its levels are objects called {', '.join(_LEVELS)}")
    return levels


def _invalid(path: Path, reason: str) -> AtcError:
    """Return that the file is not valid."""
    return atc_error(
        "E10001", str(path), "--raw_ge_options", reason, place=Place(str(path)),
        help='write {"compile options": {"global": {}, "session": {}, "graph": {}}}',
    )  # fmt: skip
