"""Names of files and folders to write, held to sense before any work begins."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from atc_py.diag import Place
from atc_py.diag.codes import BAD_OPTION, CANNOT_WRITE

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["default_output", "output_folder", "report_output", "rewritten_output"]

_SUFFIX = ".om"
_NO_NAMES = {"", ".", ".."}
"""Last parts of paths that name no file."""

_STANDARD_OUTPUT = "-"
"""What other programs take for standard output; here a file would get that name."""


def default_output(model: Path, output: str | os.PathLike[str] | None = None) -> Path:
    """Where the offline model of `model` goes when the user says `output` or nothing.

    Raises:
        AtcError: BAD_OPTION for a text that names no file and for the model itself, CANNOT_WRITE
            for what is there and no file.
    """
    given = f"{model.stem}{_SUFFIX}" if output is None else os.fspath(output)
    if output is not None and (_names_no_file(given) or os.path.split(given)[1] == _SUFFIX):
        raise BAD_OPTION.error(
            f"the output {given!r} names no file", help="give a file name such as model.om"
        )
    _refuse_no_file(Path(given), model)
    path = _with_suffix(Path(given))
    _refuse_no_file(path, model)
    if _is_same(path, model):
        raise BAD_OPTION.error(
            f"the output {path} is the model itself",
            place=Place(str(path)),
            help="give another name with -o; the model would be lost",
        )
    return path


def rewritten_output(
    model: Path, output: str | os.PathLike[str] | None, form: str, forms: Iterable[str]
) -> Path:
    """Where the model goes that `model` is rewritten to when the user says `output` or nothing.

    Args:
        model: the ONNX file.
        output: what the user says; by default the file beside the model that is named after it
            and `form`.
        form: the form that it is rewritten to.
        forms: all of them; the name of another one in the model's own is left out.

    Raises:
        AtcError: BAD_OPTION for a text that names no file and for the model itself, CANNOT_WRITE
            for what is there and no file.
    """
    stem = model.stem
    for other in forms:
        stem = stem.removesuffix(f".{other}") or stem
    default = model.with_name(f"{stem}.{form}.onnx")
    path = default if output is None else Path(output)
    if output is not None and _names_no_file(os.fspath(output)):
        raise BAD_OPTION.error(
            f"the output {os.fspath(output)!r} names no file",
            help=f"give a file name such as {default.name}",
        )
    mode = _mode(path)
    if mode and not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "a device, a pipe or a socket, not a file"
        raise CANNOT_WRITE.error(
            f"cannot write {path}: it is {what}",
            place=Place(str(path)),
            help=f"give the name of a file, such as {default.name}",
        )
    if _is_same(path, model):
        raise BAD_OPTION.error(
            f"the output {path} is the model itself",
            place=Place(str(path)),
            help="give another name with -o; the model would be lost",
        )
    return path


def _names_no_file(given: str) -> bool:
    """Whether a text is no file's name, or `-`.

    It is split as it stands: a Path drops the separator that makes it a folder's name.
    """
    return given == _STANDARD_OUTPUT or os.path.split(given)[1] in _NO_NAMES


def output_folder(option: str, given: str | os.PathLike[str]) -> Path:
    """The folder that the user names with `option`.

    Raises:
        AtcError: BAD_OPTION for an empty name, which would be the current folder.
    """
    if not os.fspath(given):
        raise BAD_OPTION.error(
            f"{option} is empty and names no folder", help="write `.` for the current folder"
        )
    return Path(given)


def report_output(option: str, given: str, inputs: Iterable[Path]) -> Path:
    """The file that the user names with `option` for a report on the files `inputs`.

    Raises:
        AtcError: BAD_OPTION for a text that names no file and for one of the inputs, CANNOT_WRITE
            for what is there and no file.
    """
    if _names_no_file(given):
        raise BAD_OPTION.error(
            f"{option} {given!r} names no file", help="give a file name such as report.json"
        )
    path = Path(given)
    mode = _mode(path)
    if mode and not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "a device, a pipe or a socket, not a file"
        raise CANNOT_WRITE.error(
            f"cannot write {path}: it is {what}",
            place=Place(str(path)),
            help="give the name of a file",
        )
    if any(_is_same(path, each) for each in inputs):
        raise BAD_OPTION.error(
            f"{option} {path} is a model that is to be checked",
            place=Place(str(path)),
            help="give another name; the model would be lost",
        )
    return path


def _with_suffix(path: Path) -> Path:
    """`path` with `.om` at its end."""
    return path if path.suffix == _SUFFIX else path.with_name(f"{path.name}{_SUFFIX}")


def _refuse_no_file(path: Path, model: Path) -> None:
    """Refuse `path` where it is something else than a file."""
    mode = _mode(path)
    if stat.S_ISDIR(mode):
        what, name = "a folder", f"{path / model.stem}{_SUFFIX}"
    elif mode and not stat.S_ISREG(mode):
        what, name = "a device, a pipe or a socket, not a file", f"{model.stem}{_SUFFIX}"
    else:
        return
    raise CANNOT_WRITE.error(
        f"cannot write {path}: it is {what}",
        place=Place(str(path)),
        help=f"give the name of a file, such as {name}",
    )


def _mode(path: Path) -> int:
    """The mode of what is at `path`; 0 for what cannot be looked at, which writing will tell."""
    try:
        return path.stat().st_mode
    except (OSError, ValueError):
        return 0


def _is_same(path: Path, model: Path) -> bool:
    """Whether both are one file, also through links."""
    try:
        return path.samefile(model)
    except (OSError, ValueError):
        return False
