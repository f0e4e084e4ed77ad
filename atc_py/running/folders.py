"""Folders of data: a file for each input, named after it."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from atc_py.diag import Place
from atc_py.diag.codes import BAD_RUN_INPUT, FILE_UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

__all__ = ["file_stem", "files_of_folder"]

_SUFFIXES = (".npy", ".pb", ".bin")


def file_stem(name: str) -> str:
    """Return the name of the file, without suffix, that holds the tensor called `name`."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name).lstrip(".")


def files_of_folder(folder: Path, names: Sequence[str]) -> list[tuple[str, Path]]:
    """Return the data files of a folder with the name that each is for.

    A file is named after its tensor, as `run --output` names those that it writes. Files of other
    suffixes are left alone.

    Args:
        folder: the folder.
        names: those of the inputs, or of the outputs.

    Raises:
        AtcError: BAD_RUN_INPUT for data of no name among these, for two files of one name and for a
            folder without data; FILE_UNREADABLE.
    """
    try:
        found = sorted(each for each in folder.iterdir() if each.suffix in _SUFFIXES)
    except OSError as error:
        raise FILE_UNREADABLE.error(
            f"cannot read the folder: {error.strerror}", place=Place(str(folder))
        ) from None
    stems = {file_stem(name): name for name in names} | {name: name for name in names}
    strange = [each.name for each in found if each.stem not in stems]
    if strange or not found:
        what = f"{_some(strange)} named after no input" if strange else "no data"
        raise BAD_RUN_INPUT.error(
            f"{folder} has {what}",
            place=Place(str(folder)),
            help=f"name files of {', '.join(_SUFFIXES)} after {_some(names)}",
        )
    pairs = [(stems[each.stem], each) for each in found]
    for before, after in pairwise(pairs):
        if before[0] == after[0]:
            raise BAD_RUN_INPUT.error(
                f"{folder} has two files for {after[0]}: {before[1].name} and {after[1].name}",
                place=Place(str(folder)),
                help="leave one of them",
            )
    return pairs


def _some(names: Iterable[str], most: int = 5) -> str:
    """Return a few names, and how many more there are."""
    names = list(names)
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{rest}"
