"""A check's report as a document, and the document as JSON."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from atc_py import __version__
from atc_py.check.findings import (
    CheckReport,
    Finding,
    FixAdvice,
    ModelCheck,
    Standing,
    fingerprint_of,
)
from atc_py.diag import Diagnostic, Place
from atc_py.options.compile_options import DEFAULT_LIST, PrecisionMode
from atc_py.options.fix_rules import bind_options
from atc_py.report.check.document import (
    VERSION,
    Biases,
    Candidates,
    CheckDocument,
    CheckedModel,
    CheckedNode,
    Found,
    Note,
    OpenAxis,
    OperatorCount,
    OtherList,
    Remedy,
    Tool,
)
from atc_py.report.check.words import kept_text
from atc_py.report.model.semantics import newer_texts
from atc_py.report.tables import visible
from atc_py.target import socs
from atc_py.text import Text, in_language

if TYPE_CHECKING:
    from atc_py.report.check.baseline import Baseline


_FLAGS = frozenset({"only_atc_passes", "strict_list"})
_ELSEWHERE = frozenset({"input_shape", "operator_list"})
_GENERIC = "sim"


def fix_command(report: CheckReport, path: str, advice: FixAdvice) -> str:
    """`atc-py fix m.onnx --list cann-9.0 --bind sr=16000`, quoted for a shell."""
    words = ["atc-py", "fix", path]
    if report.operator_list != DEFAULT_LIST:
        words += ["--list", report.operator_list]
    if report.precision_mode not in {"", PrecisionMode.FORCE_FP16.value}:
        words += ["--precision-mode", report.precision_mode]
    if report.soc not in {"", _GENERIC}:
        words += ["--soc", report.soc]
    for name, value in report.options.items():
        if name in _ELSEWHERE:
            continue
        option = f"--{name.replace('_', '-')}"
        words += [option] if name in _FLAGS else [option, value]
    if advice.input_shape:
        words += ["--input-shape", advice.input_shape]
    for bind_option in bind_options(advice.bind):
        words += bind_option.split(" ", 1)
    for option in advice.ranges:
        words += option.split(" ", 1)
    return " ".join(shlex.quote(visible(word)) for word in words)


def check_document(
    report: CheckReport, language: str = "en", baseline: Baseline | None = None
) -> CheckDocument:
    """The report in one language; the baseline of known findings is used up."""
    models = tuple(_model(report, check, language, baseline) for check in report.models)
    counts = sum((Counter(model.counts) for model in models), Counter[str]())
    return CheckDocument(
        version=VERSION,
        tool=Tool(name="atc-py", version=__version__),
        lang=language,
        precision_mode=report.precision_mode,
        soc=_text(report.soc),
        options={_text(name): _text(value) for name, value in report.options.items()},
        verdict=report.standing.value,
        counts={each.value: counts[each.value] for each in Standing if counts[each.value]},
        baseline=None if baseline is None else baseline.count,
        models=models,
        operator_list=report.operator_list,
        cann=report.cann,
        soc_note=_soc_note(report, language),
    )


def _soc_note(report: CheckReport, language: str) -> str:
    """That the SoC's name or its kernels are taken for others; nothing where neither is so."""
    note = Text("")
    if report.former_soc:
        note = Text("{soc} is now called {name}.")
    elif report.soc in {soc.name for soc in socs() if soc.assumed_kernels}:
        note = Text(
            "The kernels of {name} are not published; the dtypes that they take are assumed."
        )
    names = {"soc": _text(report.former_soc), "name": _text(report.soc)}
    return note.with_values(**names).in_language(language)


def _text(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _counts(counts: Mapping[Standing, int]) -> dict[str, int]:
    return {standing.value: count for standing, count in counts.items()}


def _model(
    report: CheckReport, check: ModelCheck, language: str, baseline: Baseline | None
) -> CheckedModel:
    path = _text(check.path)

    def marked(found: Found) -> Found:
        known = baseline is not None and baseline.recognizes(path, found.fingerprint)
        return msgspec.structs.replace(found, known=True) if known else found

    return CheckedModel(
        path=path,
        name=_text(check.name),
        verdict=check.standing.value,
        counts=_counts(check.counts),
        node_counts=_counts(check.node_counts),
        opsets={_text(domain): version for domain, version in check.opsets.items()},
        file_nodes=check.file_nodes,
        nodes=check.nodes,
        shape_hint=_text(check.shape_hint),
        gears_hint=_text(check.gears_hint),
        shape_hint_fits=check.hint_fits,
        shape_hint_runs=check.hint_runs,
        shape_hint_tries=check.hint_tries,
        deciding=tuple(
            OpenAxis(input=_text(name), axis=axis, name=_text(dim.name))
            for dim in check.deciding
            for name, axis in dim.places
        ),
        faults=tuple(marked(_fault(fault, language)) for fault in check.faults),
        findings=tuple(marked(_finding(finding, language)) for finding in check.findings),
        operators=tuple(
            OperatorCount(
                op=_text(row.op), listed=row.listed, nodes=row.total, counts=_counts(row.counts)
            )
            for row in check.operators
        ),
        network=_network(check),
        quant_bias=_biases(check, language),
        other_lists=tuple(
            OtherList(
                name=other_list.name, verdict=other_list.standing.value, errors=other_list.errors
            )
            for other_list in check.other_lists
        ),
        notes=_notes(report, check, language),
        fix=_remedy(report, check),
    )


def _network(check: ModelCheck) -> tuple[CheckedNode, ...]:
    return tuple(
        CheckedNode(
            index=row.index,
            name=_text(row.name),
            type=_text(row.type),
            scope=_text(row.scope),
            verdict=row.standing.value,
        )
        for row in check.rows
    )


def _notes(report: CheckReport, check: ModelCheck, language: str) -> tuple[Note, ...]:
    notes = []
    if check.kept:
        text = kept_text(check.kept, report.operator_list).in_language(language)
        notes.append(Note(name="kept", operators=check.kept, text=text))
    for operators, text in newer_texts(check.newer):
        notes.append(Note(name="newer", operators=operators, text=text.in_language(language)))
    return tuple(notes)


def _remedy(report: CheckReport, check: ModelCheck) -> Remedy | None:
    fix = check.fix
    if fix is None:
        return None
    return Remedy(
        command=_text(fix_command(report, check.path, fix)),
        removed=fix.removed,
        candidates=tuple(
            Candidates(input=_text(name), values=tuple(values))
            for name, values in fix.candidates.items()
        ),
    )


def _biases(check: ModelCheck, language: str) -> Biases | None:
    biases = check.bias_convention
    if biases is None:
        return None
    text = biases.text.in_language(language)
    return Biases(convention=biases.form.value, source=biases.source.value, text=text)


def _finding(finding: Finding, language: str) -> Found:
    return _found(
        finding.diagnostic(),
        language,
        finding.fingerprint,
        level=finding.standing.value,
        rule=_text(finding.rule),
        scope=_text(finding.scope),
        observed=_text(finding.observed.in_language(language)),
        allowed=_text(finding.allowed.in_language(language)),
        when=_text(finding.when.in_language(language)),
        taken_by=finding.taken_by,
        fixed_by=finding.fixed_by,
        certainty=finding.certainty,
        effect=_text(finding.effect.in_language(language)),
        cann_code="" if finding.atc is None else finding.atc.code,
    )


def _fault(fault: Diagnostic, language: str) -> Found:
    parts: list[object] = [fault.code.id]  # without the message, which may carry a path
    if fault.place is not None:
        parts += [fault.place.node_name or fault.place.node, fault.place.op_type, fault.place.field]
    level = Standing.ERROR.value
    none = dict.fromkeys(("rule", "scope", "observed", "allowed", "when"), "")
    return _found(fault, language, fingerprint_of(parts), level=level, **none)


def _found(said: Diagnostic, language: str, fingerprint: str, **rest: Any) -> Found:
    place = said.place or Place()
    return Found(
        fingerprint=fingerprint,
        code=said.code.id,
        name=said.code.name,
        source=_text(said.rule or ""),
        node=place.node,
        node_name=_text(place.node_name or ""),
        op=_text(place.op_type or ""),
        field=_text(place.field or ""),
        message=_text(in_language(said.message, language)),
        help=_text(in_language(said.help or said.code.remedy, language)),
        known=False,
        **rest,
    )
