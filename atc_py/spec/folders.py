"""Folders of users' specifications, and linting: errors and doubtful points in files that load."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec

from atc_py.diag import (
    BAD_SPEC,
    DOUBTFUL_SPEC,
    FILE_NOT_FOUND,
    FILE_UNREADABLE,
    AtcError,
    Diagnostic,
    Place,
    Severity,
)
from atc_py.spec.document import Document, Problem
from atc_py.spec.loader import problem_at, read_spec
from atc_py.spec.model import AttributeSpec, OperandSpec, OpSpec, compressed
from atc_py.spec.references import check_levels
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


def place_order(fault: Diagnostic) -> tuple[str, int, int]:
    """File, line and column of a fault, for sorting."""
    place = fault.place or Place()
    return (place.file or "", place.line or 0, place.column or 0)


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


class Named(Protocol):
    """An input or output of a definition."""

    @property
    def name(self) -> str:
        """Its name."""


class Definition(Protocol):
    """A version of an operator of ONNX, as far as linting looks at it."""

    @property
    def since_version(self) -> int:
        """The opset that brought it."""

    @property
    def deprecated(self) -> bool:
        """True if the operator ended with it."""

    @property
    def inputs(self) -> Sequence[Named]:
        """By position."""

    @property
    def outputs(self) -> Sequence[Named]:
        """By position."""

    @property
    def attributes(self) -> Mapping[str, Named]:
        """By name."""


class Definitions(Protocol):
    """ONNX's operators."""

    def versions(self, op_type: str) -> Sequence[Definition]:
        """Every version, oldest first; empty for an operator that ONNX does not have."""


@dataclass(frozen=True, slots=True)
class LintResult:
    """Result of linting."""

    count: int  # number of files looked at
    findings: tuple[Diagnostic, ...]  # by file, line and column

    @property
    def errors(self) -> int:
        """Number of findings that are errors; the others are warnings."""
        return sum(finding.code.severity is Severity.ERROR for finding in self.findings)


def lint(paths: Iterable[Path], onnx: Definitions) -> LintResult:
    """Everything wrong with the specifications below folders, or in single files."""
    count = 0
    findings: list[Diagnostic] = []
    for path in paths:
        contents = read_folder(path)
        count += contents.count
        findings += contents.faults
        for file in contents.files:
            findings += _findings(file, onnx)
    return LintResult(count, tuple(sorted(findings, key=place_order)))


def _findings(file: SpecFile, onnx: Definitions) -> Iterator[Diagnostic]:
    spec = file.spec
    versions = () if spec.custom else onnx.versions(spec.op)
    errors = [*check_levels(spec), *_example(spec)]
    if not spec.custom:
        help_ = Text("correct the spelling, or write custom: true instead of opsets")
        unknown = Text("ONNX has no operator {name}", name=spec.op)
        errors += _names(spec, versions) if versions else [Problem(("op",), unknown, help_)]
    for problem in errors:
        yield problem_at(file.document, problem)
    for problem in _opsets(spec, versions):
        yield problem_at(file.document, problem, DOUBTFUL_SPEC)


def _example(spec: OpSpec) -> Iterator[Problem]:
    inputs = [row.name for row in spec.inputs]
    attributes = [row.name for row in spec.attributes]
    for key, given, known in (
        ("inputs", spec.example.inputs, inputs),
        ("values", spec.example.values, inputs),
        ("attributes", spec.example.attributes, attributes),
    ):
        kind = Text("attribute") if key == "attributes" else Text("input")
        for name in given:
            if name not in known:
                message = Text("{op} has no {kind} {name}", op=spec.op, kind=kind, name=repr(name))
                help_ = Text("{kind}s: {n}", kind=kind, n=", ".join(known) or Text("none"))
                yield Problem(("example", key, name), message, help_, key=True)


def _opsets(spec: OpSpec, versions: Sequence[Definition]) -> Iterator[Problem]:
    early: list[int] = []
    late: list[int] = []
    for position, opset in enumerate(spec.opsets if versions else ()):
        version = _in_force(versions, opset)
        if version is None:
            early.append(position)
        elif version.deprecated:
            late.append(position)
    for positions, ends in ((early, False), (late, True)):
        if not positions:
            continue
        at = versions[-1 if ends else 0].since_version
        numbers = compressed(tuple(spec.opsets[position] for position in positions))
        template = "listed at {numbers}, ONNX has {op} since {at}"
        if ends:
            template = "listed at {numbers}, ONNX ended {op} at {at}"
        message = Text(template, numbers=numbers, op=spec.op, at=at)
        help_ = Text("no model can have it there; delete these opsets unless a list names them")
        yield Problem(("opsets", positions[0]), message, help_)


def _names(spec: OpSpec, versions: Sequence[Definition]) -> Iterator[Problem]:
    sections: dict[str, Sequence[OperandSpec | AttributeSpec]] = {
        "inputs": spec.inputs,
        "outputs": spec.outputs,
        "attributes": spec.attributes,
    }
    for section, rows in sections.items():
        kind = section.removesuffix("s")
        for position, row in enumerate(rows):
            where = _versions_of(spec, row, versions)
            known = dict.fromkeys(name for version in where for name in _formal(version, section))
            if where and row.name not in known:
                numbers = ", ".join(str(version.since_version) for version in where)
                message = Text(
                    "ONNX's {op} has no {kind} {name} in version {numbers}",
                    op=spec.op,
                    kind=kind,
                    name=repr(row.name),
                    numbers=numbers,
                )
                help_ = Text(
                    "{section} there: {n}", section=section, n=", ".join(known) or Text("none")
                )
                yield Problem((section, position, "name"), message, help_)


def _versions_of(
    spec: OpSpec, row: OperandSpec | AttributeSpec, versions: Sequence[Definition]
) -> Sequence[Definition]:
    """The versions that a row covers: at its listed opsets and at its first one.

    Rows for opsets that are not listed serve models that are restated. Empty where the row is for
    opsets that are newer than the versions known.
    """
    numbers = [opset for opset in spec.opsets if row.exists_at(opset)]
    if row.since is not None:
        numbers.append(row.since)
        if len(numbers) == 1 and row.since > versions[-1].since_version:
            return ()
    in_force = [_in_force(versions, opset) for opset in numbers]
    known = {item.since_version: item for item in in_force if item is not None}
    return tuple(known.values()) or versions


def _in_force(versions: Sequence[Definition], opset: int) -> Definition | None:
    older = [version for version in versions if version.since_version <= opset]
    return older[-1] if older else None


def _formal(version: Definition, section: str) -> Iterable[str]:
    if section == "attributes":
        return version.attributes
    return [row.name for row in (version.inputs if section == "inputs" else version.outputs)]
