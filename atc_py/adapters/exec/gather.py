"""The records of all processes of a program, put together."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from atc_py.adapters.exec.counters import read_counters
from atc_py.adapters.exec.records import (
    CompilationRecord,
    ModelRecord,
    OutputSums,
    ProcessRecord,
    RefusalRecord,
    UseRecord,
    cosine,
)
from atc_py.adapters.exec.settings import COUNTS, PROCESSES
from atc_py.results.program_run import (
    ProgramCompilation,
    ProgramFallback,
    ProgramModel,
    ProgramOutput,
    ProgramProcess,
    ProgramUse,
)
from atc_py.text.packed import unpacked


def read_processes(run: Path) -> list[ProcessRecord]:
    """The records that the processes left, in the order in which these began."""
    found = []
    for file in run.glob(f"{PROCESSES}*.json"):
        # Any process of the program may have put something else there.
        with suppress(OSError, ValueError, TypeError, msgspec.ValidationError):
            began = int(file.stem.rpartition("-")[2])
            values = json.loads(file.read_text(encoding="utf-8"), object_hook=unpacked)
            record = msgspec.convert(values, ProcessRecord)
            with suppress(FileNotFoundError):
                read_counters(file.with_suffix(COUNTS), record.models)
            found.append((began, record.pid, record))
    return [record for _, _, record in sorted(found, key=lambda each: each[:2])]


def gather_processes(records: Iterable[ProcessRecord]) -> list[ProgramProcess]:
    return [
        ProgramProcess(
            pid=each.pid,
            parent=each.parent,
            command=each.command,
            python=each.python,
            sessions=sum(model.sessions for model in each.models),
            runs=sum(model.npu.runs + model.onnxruntime.runs for model in each.models),
        )
        for each in records
    ]


def gather_models(records: Iterable[ProcessRecord]) -> list[ProgramModel]:
    found: dict[tuple[str, str], list[ModelRecord]] = {}
    for record in records:
        for model in record.models:
            found.setdefault((model.file, model.digest), []).append(model)
    return [_model(each) for each in found.values()]


def _model(parts: Sequence[ModelRecord]) -> ProgramModel:
    npu, other = _use(each.npu for each in parts), _use(each.onnxruntime for each in parts)
    fallbacks = _fallbacks([refusal for each in parts for refusal in each.refusals])
    compilations = _compilations(parts)
    whole = any(each.shapes is None for each in fallbacks)
    places = [bool(npu.runs or (compilations and not whole)), bool(other.runs or whole)]
    return ProgramModel(
        file=parts[0].file,
        name=next((each.name for each in parts if each.name), ""),
        digest=parts[0].digest,
        bytes=parts[0].size,
        where={(True, False): "npu", (False, True): "onnxruntime", (True, True): "both"}.get(
            (places[0], places[1]), "none"
        ),
        sessions=sum(each.sessions for each in parts),
        processes=len(parts),
        npu=npu,
        onnxruntime=other,
        shadow=_use(each.shadow for each in parts),
        compile_seconds=sum(each.seconds for each in compilations),
        compilations=compilations,
        outputs=_outputs(parts),
        fallbacks=fallbacks,
        remarks=list(dict.fromkeys(one for each in parts for one in each.remarks)),
    )


def _use(parts: Iterable[UseRecord]) -> ProgramUse:
    listed = list(parts)
    return ProgramUse(
        runs=sum(each.runs for each in listed), seconds=sum(each.seconds for each in listed)
    )


def _compilations(parts: Sequence[ModelRecord]) -> list[ProgramCompilation]:
    alike: dict[str, list[CompilationRecord]] = {}
    for one in (one for part in parts for one in part.compilations):
        alike.setdefault(json.dumps(one.shapes, sort_keys=True), []).append(one)
    return [
        ProgramCompilation(
            shapes=group[0].shapes, times=len(group), seconds=sum(one.seconds for one in group)
        )
        for group in alike.values()
    ]


def _outputs(parts: Sequence[ModelRecord]) -> list[ProgramOutput]:
    merged: dict[str, OutputSums] = {}
    for name, sums in (pair for part in parts for pair in part.outputs.items()):
        if name in merged:
            merged[name].merge(sums)
        else:
            merged[name] = sums
    return [_output(name, sums) for name, sums in merged.items()]


def _output(name: str, sums: OutputSums) -> ProgramOutput:
    compared = sums.runs > sums.other_shapes
    whole = sums.least_cosine  # of runs in which nothing has a direction
    if sums.npu_square or sums.square:
        whole = cosine(sums.product, sums.npu_square, sums.square)
    return ProgramOutput(
        name=name,
        npu_dtype=sums.npu_dtype,
        onnxruntime_dtype=sums.dtype,
        runs=sums.runs,
        other_shapes=sums.other_shapes,
        cosine=whole if compared and math.isfinite(whole) else None,
        least_cosine=sums.least_cosine if compared and math.isfinite(sums.least_cosine) else None,
        largest_error=sums.largest_error
        if compared and math.isfinite(sums.largest_error)
        else None,
        equal_argmax=sums.equal_rows / sums.rows if sums.rows else None,
    )


def _fallbacks(refusals: Iterable[RefusalRecord]) -> list[ProgramFallback]:
    found: dict[str, list[RefusalRecord]] = {}
    for each in refusals:
        found.setdefault(json.dumps([each.findings, each.shapes], sort_keys=True), []).append(each)
    return [_fallback(each[0], len(each)) for each in found.values()]


def _fallback(refusal: RefusalRecord, processes: int) -> ProgramFallback:
    first = refusal.findings[0] if refusal.findings else {"code": "", "message": ""}
    return ProgramFallback(
        code=first["code"],
        message=first["message"],
        codes=dict(Counter(each["code"] for each in refusal.findings)),
        shapes=refusal.shapes,
        processes=processes,
        findings=refusal.findings,
    )
