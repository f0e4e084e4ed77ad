"""A program's run as tables of text, as JSON, and its findings as text."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

import msgspec

from atc_py.diag import Severity
from atc_py.report.diagnostics import help_text, level_text
from atc_py.report.tables import Table, clipped, format_bytes, format_seconds
from atc_py.results.program_run import (
    ProgramCompilation,
    ProgramFallback,
    ProgramModel,
    ProgramOutput,
    ProgramRun,
    ProgramUse,
)
from atc_py.system.cache_folders import legible
from atc_py.system.json_text import finite, format_json
from atc_py.text import Text, plain_text, plural
from atc_py.text.language import spoken

_DIGEST = 12
"""Digits of a digest that tell models apart."""

_MOST_SHAPES = 8
"""Sets of shapes of a model that a table shows."""

OUTPUT_COLUMNS = (
    "model", "output", "dtype", "runs>", "cosine>", "least>", "largest error>", "equal argmax>",
)  # fmt: skip

_PLACES = {
    "npu": "NPU", "onnxruntime": "onnxruntime", "both": "NPU, onnxruntime", "none": "-",
}  # fmt: skip


def program_tables(done: ProgramRun) -> list[Table]:
    if not done.models:
        return []
    names = model_names(done.models)
    tables = [_models(done, names), _shapes(done, names), _fallbacks(done, names)]
    tables += [_outputs(done, names), _remarks(done, names), _processes(done)]
    return [table for table in tables if table.rows]


def model_names(models: Sequence[ProgramModel]) -> list[str]:
    """A short name for each model: its file's, with digits of its digest where two are alike."""
    short = [PurePath(model.file).name or model.name or spoken("(bytes)") for model in models]
    return [
        name if short.count(name) == 1 else f"{name} {model.digest[:_DIGEST]}"
        for name, model in zip(short, models, strict=True)
    ]


def _models(done: ProgramRun, names: Sequence[str]) -> Table:
    shadow = any(model.shadow.runs for model in done.models)
    columns = (
        "model",
        "ran on",
        "sessions>",
        "NPU runs>",
        "NPU time>",
        "compiled>",
        "compile time>",
    )
    columns += ("onnxruntime runs>", "onnxruntime time>", *(("in shadow>",) if shadow else ()))
    rows = [
        (
            name,
            _PLACES[model.where],
            str(model.sessions),
            str(model.npu.runs),
            _time(model.npu.seconds),
            str(sum(one.times for one in model.compilations)),
            _time(model.compile_seconds),
            str(model.onnxruntime.runs),
            _time(model.onnxruntime.seconds),
            *((_time(model.shadow.seconds),) if shadow else ()),
        )
        for name, model in zip(names, done.models, strict=True)
    ]
    return Table("Models", columns, tuple(rows))


def _time(seconds: float) -> str:
    return format_seconds(seconds) if seconds else "-"


def shapes_text(shapes: dict[str, list[int]]) -> str:
    """Shapes as --input-shape spells them."""
    return ";".join(f"{name}:{','.join(map(str, dims))}" for name, dims in shapes.items()) or "-"


def _shapes(done: ProgramRun, names: Sequence[str]) -> Table:
    rows = []
    for name, model in zip(names, done.models, strict=True):
        listed = [compilation for compilation in model.compilations if compilation.shapes]
        rows += [(name, *_compilation_row(row)) for row in listed[:_MOST_SHAPES]]
        left = len(listed) - _MOST_SHAPES
        if left > 0:
            rows.append((name, Text("... and {count} more", count=left), "", ""))
    columns = ("model", "shapes", "times>", "time>")
    return Table("Shapes compiled", columns, tuple(rows), said=(1,))


def _compilation_row(row: ProgramCompilation) -> tuple[str, str, str]:
    return shapes_text(row.shapes), str(row.times), format_seconds(row.seconds)


def codes_text(fallback: ProgramFallback) -> str:
    return ", ".join(code if n == 1 else f"{n} x {code}" for code, n in fallback.codes.items())


def _fallbacks(done: ProgramRun, names: Sequence[str]) -> Table:
    rows = [
        (
            name,
            spoken("all") if fallback.shapes is None else shapes_text(fallback.shapes),
            codes_text(fallback),
            fallback.message,
        )
        for name, model in zip(names, done.models, strict=True)
        for fallback in model.fallbacks[:_MOST_SHAPES]
    ]
    columns = ("model", "shapes", "codes", "first finding")
    return Table("In onnxruntime because", columns, tuple(rows), said=(3,))


def output_row(name: str, output: ProgramOutput) -> tuple[str, ...]:
    same = output.npu_dtype == output.onnxruntime_dtype
    dtypes = output.npu_dtype if same else f"{output.npu_dtype} ({output.onnxruntime_dtype})"
    runs = str(output.runs)
    if output.other_shapes:
        runs = Text("{runs} ({others} of other shapes)", runs=runs, others=output.other_shapes)
    return (
        name,
        output.name,
        dtypes,
        runs,
        _number(output.cosine, ".6f"),
        _number(output.least_cosine, ".6f"),
        _number(output.largest_error, ".3g"),
        _number(output.equal_argmax, ".2%"),
    )


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _outputs(done: ProgramRun, names: Sequence[str]) -> Table:
    rows = [
        output_row(name, output)
        for name, model in zip(names, done.models, strict=True)
        for output in model.outputs
    ]
    return Table("Compared with onnxruntime", OUTPUT_COLUMNS, tuple(rows), said=(3,))


def _remarks(done: ProgramRun, names: Sequence[str]) -> Table:
    rows = [
        (name, remark)
        for name, model in zip(names, done.models, strict=True)
        for remark in model.remarks
    ]
    return Table("Without effect", ("model", "what the program asked for"), tuple(rows), said=(1,))


def _processes(done: ProgramRun) -> Table:
    listed = done.processes if len(done.processes) > 1 else []
    rows = [
        (
            str(process.pid),
            str(process.parent),
            process.python,
            str(process.sessions),
            str(process.runs),
        )
        for process in listed
    ]
    columns = ("process>", "started by>", "Python", "sessions>", "runs>")
    return Table("Processes", columns, tuple(rows))


def finding_text(finding: Mapping[str, Any]) -> str:
    """A finding as `diagnostic_text` has it."""
    place = finding.get("place") or {}
    where = ", ".join(
        spoken(value if isinstance(value, str) else str(value)) for value in place.values()
    )
    level = level_text(Severity(finding["severity"]))
    message = clipped(spoken(finding["message"]))
    lines = [f"{level}[{finding['code']} {finding['name']}]: {message}"]
    lines += [f"  --> {clipped(where)}"] if where else []
    return "\n".join([*lines, f"  {help_text(clipped(spoken(finding['help'] or '')))}"])


def program_json(done: ProgramRun) -> str:
    """The record as JSON, indented; what UTF-8 cannot carry is escaped."""
    return format_json(finite(_texts(msgspec.to_builtins(done, enc_hook=plain_text))))


def _texts(value: object) -> object:
    """Values with texts that UTF-8 can carry: bytes of file names become escapes."""
    if isinstance(value, str):
        return legible(value)
    if isinstance(value, dict):
        return {str(_texts(name)): _texts(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_texts(inner) for inner in value]
    return value


_LEVELS = {"npu": "supported", "onnxruntime": "error", "both": "aicpu", "none": "known"}
"""Colors of the places, by the classes of the style of `check`."""


def program_html(done: ProgramRun) -> str:
    from atc_py.report.page.rendering import plain_page  # jinja2 takes long to import

    names = model_names(done.models)
    return plain_page(
        "exec",
        lambda: {
            "command": shlex.join(done.command),
            "facts": _facts(done),
            "findings": done.diagnostics,
            "columns": [column.rstrip(">") for column in OUTPUT_COLUMNS[1:]],
            "models": [_model(model, name) for model, name in zip(done.models, names, strict=True)],
            "processes": done.processes,
            "tool": done.tool,
        },
    )


def _facts(done: ProgramRun) -> list[tuple[str, str]]:
    on_npu = sum(model.where in {"npu", "both"} for model in done.models)
    models = Text("{count}, {on_npu} on the simulated NPU", count=len(done.models), on_npu=on_npu)
    facts = [
        ("exit status", str(done.status)),
        ("time", format_seconds(done.seconds)),
        ("models", models),
    ]
    options = [
        (_OPTION_NAMES.get(keyword, keyword.replace("_", " ")), _option(value))
        for keyword, value in done.options.items()
        if value or value == {}
    ]
    return [*facts, *options]


_OPTION_NAMES = {
    "soc": "SoC",
    "semantics": "semantics",
    "strict_list": "strict list",
    "cann": "CANN",
    "is_weight_clip": "weight clipping",
    "quant_bias": "biases of int8 layers",
    "allow_hf32": "HF32",
    "op_specs": "operator specifications",
    "precision_mode_v2": "precision mode",
    "op_precision_mode": "precision of operators",
    "keep_dtype": "nodes that keep their dtypes",
    "customize_dtypes": "dtypes of nodes",
    "modify_mixlist": "changed lists of mixed precision",
    "input_fp16_nodes": "float16 inputs",
    "output_type": "dtypes of outputs",
    "only_atc_passes": "only passes of ATC",
    "disable_pass": "passes switched off",
    "fix": "rewrites by --fix",
    "keep": "shapes kept compiled",
    "strict": "ends where a model does not compile",
    "shadow": "onnxruntime beside it",
    "returned": "results that the program gets",
}
"""Names of options that are not their keywords with blanks."""


def _option(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        given = (f"{name} {_option(inner)}" for name, inner in value.items() if inner)
        return ", ".join(given) or "yes"
    return "yes" if value is True else str(value)


def _model(model: ProgramModel, name: str) -> dict[str, Any]:
    sessions = plural(model.processes, "{count} in {n} process", "{count} in {n} processes")
    facts = [
        ("file", model.file or "(bytes)"),
        ("graph", model.name or "-"),
        ("SHA-256", model.digest or "-"),
        ("size", format_bytes(model.bytes)),
        ("sessions", sessions.with_values(n=model.processes, count=model.sessions)),
        ("on the NPU", _use(model.npu)),
        ("in onnxruntime", _use(model.onnxruntime)),
    ]
    if model.shadow.runs:
        facts.append(("in onnxruntime, beside the NPU", _use(model.shadow)))
    return {
        "name": name,
        "where": _PLACES[model.where],
        "level": _LEVELS[model.where],
        "facts": facts,
        "shapes": [_compilation_row(compilation) for compilation in model.compilations],
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


def _use(use: ProgramUse) -> Text:
    if not use.runs:
        return Text("no run")
    time = format_seconds(use.seconds)
    return plural(use.runs, "{n} run, {time}", "{n} runs, {time}", time=time)
