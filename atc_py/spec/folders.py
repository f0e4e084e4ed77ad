"""Folders of users' specifications: their files, and the faults of those that do not load."""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from atc_py.diag import BAD_SPEC, FILE_NOT_FOUND, FILE_UNREADABLE, AtcError, Diagnostic, Place
from atc_py.spec.document import Document, Problem, place_order
from atc_py.spec.loader import problem_at, read_spec
from atc_py.spec.model import OpSpec
from atc_py.text import Text, os_reason

_SUFFIXES = {".yaml", ".yml"}
_MOST_FILES = 4096
_MOST_ENTRIES = 100_000
"""Limits on the contents of a folder; beyond them the wrong folder was named."""


class SpecFile(msgspec.Struct, frozen=True):
    """A specification and the document that it was made from."""

    path: Path
    spec: OpSpec
    document: Document  # its data with their lines and columns


class FolderContents(msgspec.Struct, frozen=True):
    """Contents of a folder's files."""

    count: int  # number of files, also of those that cannot be read
    # the ones that are specifications, also a second one for an operator
    files: tuple[SpecFile, ...]
    faults: tuple[Diagnostic, ...]  # what is wrong with the others, and that a file is a second one


def spec_files(path: Path) -> tuple[Path, ...]:
    """The YAML files below a folder, in order; `path` itself where it is a file.

    Links to folders are not followed, and folders whose names begin with a dot are left out.
    FILE_NOT_FOUND or FILE_UNREADABLE where there is no such folder, BAD_SPEC where no YAML file is
    below it, or too many are.
    """
    place = Place(str(path))
    try:
        is_folder = path.is_dir()
        exists = is_folder or path.is_symlink() or path.exists()
    except OSError as error:
        message = Text("{path} cannot be read: {text}", path=path, text=os_reason(error))
        raise FILE_UNREADABLE.error(message, place=place) from error
    if not exists:
        raise FILE_NOT_FOUND.error(Text("{path} does not exist", path=path), place=place)
    files = tuple(_files_below(path)) if is_folder else (path,)
    if not files:
        help_ = Text(
            "name a folder with one .yaml file for each operator, flat or in group folders"
        )
        raise BAD_SPEC.error(
            Text("{path} contains no YAML file", path=path), place=place, help=help_
        )
    return tuple(sorted(files))


def read_folder(path: Path) -> FolderContents:
    """Everything below a folder, or the one file at `path`, with the faults inside of files."""
    paths = spec_files(path)
    first: dict[str, SpecFile] = {}
    files: list[SpecFile] = []
    faults: list[Diagnostic] = []
    for file_path in paths:
        try:
            spec, document = read_spec(file_path)
        except AtcError as error:
            faults += error.diagnostics
            continue
        file = SpecFile(file_path, spec, document)
        files.append(file)
        other = first.setdefault(file_path.stem, file)
        if other is not file:
            faults.append(_duplicate_fault(other, spec, document))
    return FolderContents(len(paths), tuple(files), tuple(sorted(faults, key=place_order)))


def _duplicate_fault(first: SpecFile, spec: OpSpec, document: Document) -> Diagnostic:
    if first.spec.op == spec.op:
        message = Text("{op} is described here and in {path}", op=spec.op, path=first.path)
    else:
        message = Text(
            "{op} has the file name of {op_2} in {path}",
            op=spec.op,
            op_2=first.spec.op,
            path=first.path,
        )
    return problem_at(document, Problem(("op",), message, Text("delete one of the two files")))


def _files_below(folder: Path) -> Iterator[Path]:
    entries = files = 0
    for parent, folders, names in os.walk(folder, onerror=_refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        entries += len(folders) + len(names)
        visible = [name for name in names if not name.startswith(".")]
        mine = [name for name in visible if Path(name).suffix.lower() in _SUFFIXES]
        files += len(mine)
        if entries > _MOST_ENTRIES or files > _MOST_FILES:
            message = Text(
                "{folder} contains more than {most_files} YAML or {most_entries} files",
                folder=folder,
                most_files=_MOST_FILES,
                most_entries=_MOST_ENTRIES,
            )
            help_ = Text("name a folder that holds only specifications")
            raise BAD_SPEC.error(message, place=Place(str(folder)), help=help_)
        yield from (Path(parent, name) for name in mine)


def _refuse(error: OSError) -> None:
    where = os.fsdecode(error.filename or "")
    message = Text("{path} cannot be read: {text}", path=where, text=os_reason(error))
    raise FILE_UNREADABLE.error(message, place=Place(where)) from error
