"""Names of files and folders to write, held to sense before any work begins."""

import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path

from atc_py.diag import BAD_OPTION, CANNOT_WRITE, AtcError, Place
from atc_py.system.input_files import read_as_well, refuse_read
from atc_py.text import Text

_SUFFIX = ".om"
_OUTPUT = Text("the output")
_NO_NAMES = {"", ".", ".."}
"""Last parts of paths that name no file."""

_STANDARD_OUTPUT = "-"
"""Name that other programs take for standard output; here a file would get it."""

_STREAMS = re.compile(r"/dev|/proc/\d+(/task/\d+)?/fd")
"""Folders of devices and of a process's open files."""

_ONE_STREAM = Text("several files are written, so standard output cannot be used; name a folder")

_LINKS = 40
"""Links of which one leads to the next that systems follow."""


def default_output(model: Path, output: str | os.PathLike[str] | None = None) -> Path:
    """The path of the offline model for `model`, given the user's `output` or None."""
    name = f"{model.stem}{_SUFFIX}"
    given = name if output is None else os.fspath(output)
    if output is not None and os.path.split(given)[1] == _SUFFIX:
        raise _no_file(_OUTPUT, given, "model.om")
    path = _file_at(given, str(Path(given) / name) if stat.S_ISDIR(_mode(Path(given))) else name)
    whole = path if path.suffix == _SUFFIX else path.with_name(f"{path.name}{_SUFFIX}")
    return output_file(whole, [model], example=name)


def rewritten_output(
    model: Path, output: str | os.PathLike[str] | None, form: str, forms: Iterable[str]
) -> Path:
    """The user's output, or the file beside the model that is named after it and `form`."""
    stem = model.stem
    for other in forms:
        stem = stem.removesuffix(f".{other}") or stem
    default = model.parent / f"{stem}.{form}.onnx"
    return output_file(default if output is None else output, [model], example=default.name)


def output_file(
    given: str | os.PathLike[str],
    inputs: Iterable[Path],
    option: str = _OUTPUT,
    example: str = "report.json",
) -> Path:
    """The file that the user names with an option for what is made of the files `inputs`.

    Raises:
        AtcError: BAD_OPTION for a text that names no file and for a file that is read, CANNOT_WRITE
            if the path exists and is not a regular file.
    """
    path = _file_at(given, example, option)
    if any(_is_same(path, file) for file in inputs):
        raise read_as_well(path)
    refuse_read(path, claim=True)
    return path


def output_folder(option: str, given: str | os.PathLike[str] | None) -> Path | None:
    """The folder that the user names with `option`; None without the option.

    Raises:
        AtcError: BAD_OPTION for an empty name, which would be the current folder, and for `-`;
            CANNOT_WRITE if the path exists and is not a folder.
    """
    if given is None:
        return None
    text = os.fspath(given)
    if not text:
        raise BAD_OPTION.error(
            Text("{option} is empty; it must name a folder", option=option),
            help=Text("write `.` for the current folder"),
        )
    if "\0" in text or text == _STANDARD_OUTPUT:
        raise BAD_OPTION.error(
            Text("{option} {fspath} does not name a folder", option=option, fspath=repr(text)),
            help=_ONE_STREAM if text == _STANDARD_OUTPUT else None,
        )
    path = Path(given)
    kind = _kind(path)
    if kind not in {"", "a folder"}:
        raise CANNOT_WRITE.error(
            Text("cannot write to {path}: it is {kind}, not a folder", path=path, kind=kind),
            place=Place(str(path)),
            help=Text("give the name of a folder, or a new name"),
        )
    return path


def _file_at(given: str | os.PathLike[str], example: str, option: str = _OUTPUT) -> Path:
    """The path of a file, or of none yet in a folder that there is.

    The text is split as it is: a Path drops the separator that makes it a folder's name.
    """
    text, path = os.fspath(given), Path(given)
    hint = Text(", or leave --output out to print the report") if option == "--output" else ""
    if text == _STANDARD_OUTPUT or os.path.split(text)[1] in _NO_NAMES or "\0" in text:
        raise _no_file(option, text, example, hint)
    kind = _kind(path)
    # The name is resolved as a text, so that `a/..` needs no `a`; so it is when it is written.
    if not kind and not _mode(Path(os.path.realpath(path)).parent):
        raise CANNOT_WRITE.error(
            Text("cannot write {path}: there is no folder {parent}", path=path, parent=path.parent),
            place=Place(str(path)),
            help=Text("create the folder first, or choose another place"),
        )
    if kind not in {"", "a file"}:
        other = "" if kind == "a folder" else Text(", not a file")
        raise CANNOT_WRITE.error(
            Text("cannot write {path}: it is {kind}{other}", path=path, kind=kind, other=other),
            place=Place(str(path)),
            help=Text(
                "give the name of a file, such as {example}{hint}", example=example, hint=hint
            ),
        )
    return path


def _no_file(option: str, given: str, example: str, hint: str = "") -> AtcError:
    return BAD_OPTION.error(
        Text("{option} {given} does not name a file", option=option, given=repr(given)),
        help=Text("give a file name such as {example}{hint}", example=example, hint=hint),
    )


def _kind(path: Path) -> str:
    mode = _mode(path)
    if stat.S_ISDIR(mode):
        return Text("a folder")
    if mode and not stat.S_ISREG(mode):
        return Text("a device, a pipe or a socket")
    if _is_stream(path):
        return Text("a name for a device or an open stream")
    return Text("a file") if mode else ""


def _is_stream(path: Path) -> bool:
    """Tell whether a path, or a link on its way, names a device or what a process has open.

    /dev/stdout may lead to a file (`> log`), which a new one would replace.
    """
    try:
        for _ in range(_LINKS):
            if _STREAMS.fullmatch(os.path.realpath(path.parent)):
                return True
            if not path.is_symlink():
                return False
            path = path.parent / path.readlink()
    except (OSError, ValueError):
        return False
    return False


def _mode(path: Path) -> int:
    """The mode of `path`; 0 if it cannot be examined, which writing will report."""
    try:
        return path.stat().st_mode
    except (OSError, ValueError):
        return 0


def _is_same(path: Path, model: Path) -> bool:
    try:
        return path.samefile(model)
    except (OSError, ValueError):
        return False
