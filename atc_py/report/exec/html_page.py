"""A program's run as one HTML file that needs nothing else."""

import shlex
from typing import Any

from atc_py.report.exec.tables import (
    OUTPUT_COLUMNS,
    codes_text,
    model_names,
    output_row,
    shapes_text,
    where_text,
)
from atc_py.report.page.rendering import render_page
from atc_py.report.tables import format_bytes, format_seconds
from atc_py.results.program_run import ProgramModel, ProgramRun
from atc_py.text import Text

_LEVELS = {"npu": "supported", "onnxruntime": "error", "both": "aicpu", "none": "known"}
"""Colors of the places, by the classes of the style of `check`."""


def program_html(done: ProgramRun) -> str:
    """The page: the run, each model with its shapes, differences and reasons, processes."""
    names = model_names(done.models)
    return render_page(
        "exec",
        base="check",
        command=shlex.join(done.command),
        facts=_facts(done),
        findings=done.diagnostics,
        columns=[column.rstrip(">") for column in OUTPUT_COLUMNS[1:]],
        models=[_model(model, name) for model, name in zip(done.models, names, strict=True)],
        processes=done.processes,
        tool=done.tool,
    )


def _facts(done: ProgramRun) -> list[tuple[str, str]]:
    on_npu = sum(model.where in {"npu", "both"} for model in done.models)
    facts = [
        ("exit status", str(done.status)),
        ("time", format_seconds(done.seconds)),
        (
            "models",
            Text("{count}, {on_npu} on the simulated NPU", count=len(done.models), on_npu=on_npu),
        ),
    ]
    given = ((name, value) for name, value in done.options.items() if value or value == {})
    return [*facts, *((name.replace("_", " "), _option(value)) for name, value in given)]


def _option(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        given = (f"{name} {_option(inner)}" for name, inner in value.items() if inner)
        return ", ".join(given) or "yes"
    return "yes" if value is True else str(value)


def _counted(count: int, noun: str) -> str:
    """`1 run`, `2 processes`."""
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{count} {noun if count == 1 else plural}"


def _model(model: ProgramModel, name: str) -> dict[str, Any]:
    facts = [
        ("file", model.file or "(bytes)"),
        ("graph", model.name or "-"),
        ("SHA-256", model.digest or "-"),
        ("size", format_bytes(model.bytes)),
        ("sessions", f"{model.sessions} in {_counted(model.processes, 'process')}"),
        ("on the NPU", _use(model.npu.runs, model.npu.seconds)),
        ("in onnxruntime", _use(model.onnxruntime.runs, model.onnxruntime.seconds)),
    ]
    if model.shadow.runs:
        shadow = _use(model.shadow.runs, model.shadow.seconds)
        facts.append(("in onnxruntime, beside the NPU", shadow))
    return {
        "name": name,
        "where": where_text(model),
        "level": _LEVELS[model.where],
        "facts": facts,
        "shapes": [
            (
                shapes_text(compilation.shapes),
                str(compilation.times),
                format_seconds(compilation.seconds),
            )
            for compilation in model.compilations
        ],
        "outputs": [output_row("", output)[1:] for output in model.outputs],
        "remarks": model.remarks,
        "fallbacks": [
            {
                "shapes": "" if fallback.shapes is None else shapes_text(fallback.shapes),
                "codes": codes_text(fallback),
                "message": fallback.message,
                "findings": fallback.findings,
            }
            for fallback in model.fallbacks
        ],
    }


def _use(runs: int, seconds: float) -> str:
    return f"{_counted(runs, 'run')}, {format_seconds(seconds)}" if runs else "no run"
