"""Models that the user names: files, folders and patterns."""

import glob
import os
from collections.abc import Iterable
from pathlib import Path

from atc_py.diag import FILE_NOT_FOUND, Place
from atc_py.system.cache_folders import is_file, is_folder
from atc_py.text import Text

_SUFFIX = ".onnx"


def model_paths(given: Iterable[str]) -> list[Path]:
    """The files that the texts name, each once, in their order.

    A folder stands for the .onnx files in it and in its folders, sorted; a pattern such as
    `nets/**/*.onnx`, where no file has that name, for the files that match.

    Raises:
        AtcError: FILE_NOT_FOUND for a folder without models and a pattern that nothing matches.
    """
    found: dict[Path, None] = {}
    for text in given:
        found.update(dict.fromkeys(_files(text)))
    return list(found)


def _files(text: str) -> list[Path]:
    if "\0" in text or is_file(text):
        return [Path(text)]
    if is_folder(text):
        found = sorted(each for each in Path(text).rglob(f"*{_SUFFIX}") if each.is_file())
        return found or _refuse(
            Text(
                "cannot read {text}: no {suffix} file is in this folder", text=text, suffix=_SUFFIX
            ),
            text,
        )
    if glob.has_magic(text) and not os.path.lexists(text):
        names = sorted(glob.glob(text, recursive=True))  # noqa: PTH207  (a pattern may be absolute)
        found = [Path(each) for each in names if is_file(each)]
        return found or _refuse(Text("cannot read {text}: no file matches", text=text), text)
    return [Path(text)]


def _refuse(message: Text, text: str) -> list[Path]:
    raise FILE_NOT_FOUND.error(
        message,
        place=Place(text),
        help=Text("name {suffix} files, or a folder that has some", suffix=_SUFFIX),
    )
