"""Folders of data: a file for each input, named after it."""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

from atc_py.diag import BAD_RUN_INPUT, FILE_UNREADABLE, Place
from atc_py.text import Text, os_reason

_SUFFIXES = (".npy", ".pb", ".bin")


def file_stem(name: str) -> str:
    """The name of the file, without suffix, that holds the tensor called `name`."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name).lstrip(".")


def files_of_folder(folder: Path, names: Sequence[str]) -> list[tuple[str, Path]]:
    """The data files of a folder with the name that each is for.

    A file is named after its tensor, as `run --output` names those that it writes. Files of other
    suffixes are left alone.
    """
    try:
        found = sorted(each for each in folder.iterdir() if each.suffix in _SUFFIXES)
    except OSError as error:
        raise FILE_UNREADABLE.error(
            Text("cannot read the folder: {strerror}", strerror=os_reason(error)),
            place=Place(str(folder)),
        ) from None
    stems = {file_stem(name): name for name in names} | {name: name for name in names}
    strange = [each.name for each in found if each.stem not in stems]
    if strange or not found:
        what = (
            Text("{some} not named after any input", some=_some(strange))
            if strange
            else Text("no data")
        )
        raise BAD_RUN_INPUT.error(
            Text("{branch} has {actual}", branch=folder, actual=what),
            place=Place(str(folder)),
            help=Text(
                "name files of {suffixes} after {some}",
                suffixes=", ".join(_SUFFIXES),
                some=_some(names),
            ),
        )
    pairs = [(stems[each.stem], each) for each in found]
    for before, after in pairwise(pairs):
        if before[0] == after[0]:
            text = "{folder} has two files for {after}: {name} and {name_2}"
            names_of = {"name": before[1].name, "name_2": after[1].name}
            message = Text(text).with_values(folder=folder, after=after[0], **names_of)
            raise BAD_RUN_INPUT.error(
                message, place=Place(str(folder)), help=Text("leave one of them")
            )
    return pairs


def _some(names: Iterable[str], most: int = 5) -> str:
    names = list(names)
    rest = Text(" and {left} more", left=len(names) - most) if len(names) > most else ""
    return f"{', '.join(names[:most])}{rest}"
