"""Loading: one YAML file to an `OpSpec`, or a diagnostic with line and column for each fault.

Data of atc-py's own files is kept between runs: reading YAML takes longer than using it. What is
kept has the texts that it was made from beside it. It counts as long as the files have these texts
and the modules that read them are the same; else the files are read anew.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec

from atc_py import __version__
from atc_py.diag import BAD_SPEC, FILE_NOT_FOUND, FILE_UNREADABLE, AtcError, Code, Diagnostic, Place
from atc_py.spec.document import (
    LIKE,
    MAX_BYTES,
    SECTIONS,
    Document,
    Mark,
    Problem,
    merged,
    spec_error,
)
from atc_py.spec.model import OpSpec
from atc_py.spec.rule import stem_of
from atc_py.system.cache_folders import cache_folder, op_specs_dir
from atc_py.system.structs import ready_for_threads
from atc_py.text import Text, os_reason


class _Entry(msgspec.Struct, frozen=True):
    """Data that is kept."""

    reader: int  # stamp of the modules that read it
    texts: dict[str, bytes]  # contents of the files that it was read from, by path
    data: Any


ready_for_threads(_Entry)


def kept_data(path: Path, read: Callable[[], tuple[Any, tuple[Path, ...]]]) -> Any:
    """The data of a file of atc-py's own, from an earlier run if it still counts.

    `read` returns the data and the files that it comes from. Files of users are read each time, for
    they change.
    """
    folder = cache_folder(f"specs-{__version__}") if op_specs_dir() in path.parents else None
    if folder is None:
        return read()[0]
    place = folder / f"{path.stem}-{crc32(os.fsencode(path)):08x}.msgpack"
    entry = _entry(place, path)
    if entry is not None:
        return entry.data
    data, files = read()
    from atc_py.system.atomic_files import atomic_write

    with suppress(OSError, ValueError, OverflowError, AtcError):
        texts = {str(file): file.read_bytes() for file in files}
        written = msgspec.msgpack.encode(_Entry(_reader(), texts, data))
        with atomic_write(place, durable=False) as file:
            file.write(written)
    return data


def kept_document(path: Path) -> Any:
    """The data of the file at `path`, one of atc-py's own, as it stands there."""

    def read() -> tuple[Any, tuple[Path, ...]]:
        from atc_py.spec.yaml_reader import read_document

        return read_document(path.read_text(encoding="utf-8"), str(path)).data, (path,)

    return kept_data(path, read)


def _entry(place: Path, path: Path) -> _Entry | None:
    try:
        entry = msgspec.msgpack.decode(place.read_bytes(), type=_Entry)
        current = all(Path(file).read_bytes() == text for file, text in entry.texts.items())
    except (OSError, ValueError, msgspec.MsgspecError):  # paths raise ValueErrors
        return None
    sound = current and str(path) in entry.texts and entry.reader == _reader()
    return entry if sound else None


@cache
def _reader() -> int:
    """A stamp of the modules of this folder, which changes when one of them does."""
    with os.scandir(Path(__file__).parent) as entries:
        modules = sorted(
            (item for item in entries if item.name.endswith(".py")), key=lambda item: item.name
        )
    facts = [(module.name, module.stat().st_size, module.stat().st_mtime_ns) for module in modules]
    return crc32(repr(facts).encode())


ready_for_threads(OpSpec)


def load_spec(path: str | Path) -> OpSpec:
    """The specification in the file at `path`, whose stem must be that of its operator.

    BAD_SPEC with file, line and column of every fault; FILE_NOT_FOUND or FILE_UNREADABLE where the
    file cannot be read.
    """
    file = Path(path)
    data = kept_data(file, partial(_data_of, file))
    try:
        return msgspec.convert(data, OpSpec)
    except msgspec.ValidationError:  # what is kept is damaged
        return read_spec(file)[0]


def _data_of(file: Path) -> tuple[Any, tuple[Path, ...]]:
    own = _document(_text(file), str(file))
    return read_spec(file)[1].data, (file, *_like(own, file))


def read_spec(path: str | Path) -> tuple[OpSpec, Document]:
    """The specification with its document, whose marks give lines and columns."""
    file = Path(path)
    document = _with_other_list(_document(_text(file), str(file)), file)
    spec = _specification_of(document)
    if stem_of(spec.op) != file.stem:
        message = Text(
            "{op} belongs in {stem_of}.yaml, this file is {file}",
            op=spec.op,
            stem_of=stem_of(spec.op),
            file=file.name,
        )
        raise spec_error(str(file), document.mark(("op",)), message, Text("rename the file"))
    return spec, document


def parse_spec(text: str, file: str) -> OpSpec:
    """The specification that `text` holds; `file` is its name in diagnostics."""
    return _specification_of(_document(text, file))


def _document(text: str, file: str) -> Document:
    from atc_py.spec.yaml_reader import read_document  # what is kept needs no YAML

    return read_document(text, file)


def _with_other_list(document: Document, file: Path) -> Document:
    """A document over that of the list which it is like, if it names one."""
    if not isinstance(document.data, dict) or LIKE not in document.data:
        return document
    others = _like(document, file)
    if not others:
        message = Text(
            "no list {data} beside this one has a file {file}",
            data=repr(document.data[LIKE]),
            file=file.name,
        )
        help_ = Text("name a list of op_specs/, or write the whole specification")
        raise spec_error(str(file), document.mark((LIKE,)), message, help_)
    return merged(document, _document(_text(others[0]), str(others[0])))


def _like(document: Document, file: Path) -> tuple[Path, ...]:
    """The file of the list that the document is like; none where there is no such file."""
    if not isinstance(document.data, dict) or LIKE not in document.data:
        return ()
    lists = file.resolve().parents[2]
    others = sorted(lists.glob(f"{document.data[LIKE]}/*/{file.name}"))
    return tuple(others[:1]) if (lists / "lists.yaml").is_file() else ()


def _specification_of(document: Document) -> OpSpec:
    from atc_py.spec.checks import find_problems  # what is kept is sound
    from atc_py.spec.schema import convert

    _remember_lines(document)
    spec = convert(document)
    problems = list(find_problems(spec))
    if problems:
        raise AtcError(*(problem_at(document, problem) for problem in problems))
    return spec


def _remember_lines(document: Document) -> None:
    """Put path and lines into the data; `@` cannot begin a key, so nothing is overwritten."""
    data: Any = document.data
    if not isinstance(data, dict):
        return
    for section in SECTIONS:
        items = data.get(section)
        for position, item in enumerate(items if isinstance(items, list) else ()):
            if isinstance(item, dict):
                item.setdefault("@line", document.mark((section, position)).line)
    data["@path"] = document.file
    data.setdefault("@opsets_line", document.mark(("opsets",), key=True).line)


def problem_at(document: Document, problem: Problem, code: Code = BAD_SPEC) -> Diagnostic:
    mark = document.mark(problem.path, key=problem.key)
    place = Place(mark.file or document.file, line=mark.line, column=mark.column)
    return code.diagnostic(problem.message, place=place, help=problem.help)


def _text(file: Path) -> str:
    try:
        raw = _bytes(file)
    except FileNotFoundError:
        raise FILE_NOT_FOUND.error(
            Text("{path} does not exist", path=file), place=Place(str(file))
        ) from None
    except OSError as error:
        raise FILE_UNREADABLE.error(
            Text("{path} cannot be read: {text}", path=file, text=os_reason(error)),
            place=Place(str(file)),
        ) from error
    if raw is None:
        message = Text("{file} is not a regular file", file=file)
        raise FILE_UNREADABLE.error(message, place=Place(str(file)))
    if len(raw) > MAX_BYTES:
        message = Text(
            "a specification has at most {max_bytes} bytes, this file has more", max_bytes=MAX_BYTES
        )
        raise spec_error(str(file), Mark(1, 1), message, Text("write one operator per file"))
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode()
        mark = Mark(before.count("\n") + 1, len(before) - before.rfind("\n"))
        message = Text("byte 0x{raw} is not UTF-8", raw=f"{raw[error.start]:02x}")
        raise spec_error(str(file), mark, message, Text("save the file as UTF-8")) from error


def _bytes(file: Path) -> bytes | None:
    """The file's bytes, at most one beyond the limit; None for endless files."""
    if file.exists() and not (file.is_file() or file.is_dir()):
        return None
    with file.open("rb") as stream:
        return stream.read(MAX_BYTES + 1)
