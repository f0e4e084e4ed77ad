"""Linting of specifications: errors, and doubtful points in files that load."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from atc_py.diag import DOUBTFUL_SPEC, Diagnostic, Severity
from atc_py.onnx_graph.source import OperatorSchema, SchemaHistory
from atc_py.spec import AttributeSpec, OperandSpec, OpSpec, compressed
from atc_py.spec.document import Problem, place_order
from atc_py.spec.folders import SpecFile, read_folder
from atc_py.spec.loader import problem_at
from atc_py.spec.references import check_levels
from atc_py.text import Text


@dataclass(frozen=True, slots=True)
class LintResult:
    """Result of linting."""

    count: int  # number of files looked at
    findings: tuple[Diagnostic, ...]  # by file, line and column

    @property
    def errors(self) -> int:
        """Number of findings that are errors; the others are warnings."""
        return sum(finding.code.severity is Severity.ERROR for finding in self.findings)


def lint(paths: Iterable[Path], onnx: SchemaHistory) -> LintResult:
    """Everything wrong with the specifications below folders, or in single files.

    Raises:
        AtcError: FILE_NOT_FOUND, FILE_UNREADABLE or BAD_SPEC where a path is neither a file nor a
            folder with YAML files.
    """
    count = 0
    findings: list[Diagnostic] = []
    for path in paths:
        contents = read_folder(path)
        count += contents.count
        findings += contents.faults
        for file in contents.files:
            findings += _findings(file, onnx)
    return LintResult(count, tuple(sorted(findings, key=place_order)))


def _findings(file: SpecFile, onnx: SchemaHistory) -> Iterator[Diagnostic]:
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


def _opsets(spec: OpSpec, versions: Sequence[OperatorSchema]) -> Iterator[Problem]:
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


def _names(spec: OpSpec, versions: Sequence[OperatorSchema]) -> Iterator[Problem]:
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
    spec: OpSpec, row: OperandSpec | AttributeSpec, versions: Sequence[OperatorSchema]
) -> Sequence[OperatorSchema]:
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


def _in_force(versions: Sequence[OperatorSchema], opset: int) -> OperatorSchema | None:
    older = [version for version in versions if version.since_version <= opset]
    return older[-1] if older else None


def _formal(version: OperatorSchema, section: str) -> Iterable[str]:
    if section == "attributes":
        return version.attributes
    return [row.name for row in (version.inputs if section == "inputs" else version.outputs)]
