"""What the page shows of a model, as one JSON document; every part may be missing."""

import base64
import os
import zlib
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import msgspec

from atc_py import __version__
from atc_py.cost.cores import cube_depth, vector_cores
from atc_py.cost.factors import PIPES
from atc_py.cost.network import KernelCost
from atc_py.onnx_graph.source import FileGraph
from atc_py.report.board.tables import comparison_tables, run_name
from atc_py.report.model.semantics import newer_rows, semantics_tables
from atc_py.report.page.actions import actions_json
from atc_py.report.page.findings import BothChecks, check_json
from atc_py.report.page.graphs import compiled_json, source_json
from atc_py.report.page.precision import precision_json
from atc_py.report.page.verdict import outputs_json
from atc_py.report.page.wins import biggest_wins, fusions_json
from atc_py.report.page.words import diagnostic_json, in_both, name_text, table_json
from atc_py.report.profile.text import bound_text, calibration_tables
from atc_py.report.tables import Table, format_time
from atc_py.results.board import BoardComparison
from atc_py.results.profile import Profile, SocProfile
from atc_py.results.summary import ModelSummary
from atc_py.system.input_files import sha256_of
from atc_py.target import Soc
from atc_py.target.soc import rates_of
from atc_py.tensor.dtypes import DType
from atc_py.text import LANGUAGES, plain_text
from atc_py.text.language import speaking

_CUBE, _VECTOR = 16, 128
"""Rows and columns of the cube; elements of float16 that the vector unit takes in a cycle."""


def roofs_of(soc: Soc) -> dict[str, float]:
    """Operations or bytes in a second: `cube`, `vector`, `memory`, and `l2` where it is known."""
    hertz = soc.mhz * 1e6
    rates = rates_of(soc)
    found = {
        "cube": 2.0 * _CUBE * _CUBE * cube_depth(DType.FLOAT16) * soc.aicores * hertz,
        "vector": float(_VECTOR * vector_cores(soc) * hertz),
        "memory": soc.gm_read * soc.aicores * hertz,
    }
    if rates.l2_read:
        found["l2"] = rates.l2_read * soc.aicores * hertz
    return found


def _time(done: Profile) -> dict[str, object]:
    tables = [] if done.calibration is None else calibration_tables(done.calibration)
    return {
        "pipes": list(PIPES),
        "socs": [_soc(soc) for soc in done.socs],
        "calibration": [*map(table_json, tables)],
    }


def _soc(each: SocProfile) -> dict[str, object]:
    cost = each.cost
    document: dict[str, object] = {"soc": each.soc, "verdict": in_both(each.verdict)}
    if cost is None:
        return document
    memory = cost.footprint
    return document | {
        "fits": cost.fits,
        "time": [cost.time.low, cost.time.expected, cost.time.high],
        "nodes": cost.nodes,
        "busy": cost.busy,
        "assumes": [*map(in_both, cost.assumptions())],
        "memory": {
            "total": memory.total,
            "weights": memory.weights,
            "ports": memory.ports,
            "arena": memory.arena,
            "workspace": memory.workspace,
            "planned": memory.planned,
            "device": cost.soc.memory,
            "results": list(memory.results),
        },
        "roofs": roofs_of(cost.soc),
        "kernels": [_kernel(kernel) for kernel in cost.kernels],
        "gears": [
            {
                "values": list(gear.values),
                "time": format_time(gear.cost.time.expected),
                "memory": gear.cost.footprint.total,
                "rate": gear.throughput if gear.samples else None,
                "best": gear is each.best,
            }
            for gear in each.gears
        ],
    }


def _kernel(kernel: KernelCost) -> list[object]:
    """A kernel.

    It is [name of its first node, operators, engine, dtype, dims, formats, start, expected time,
    low, high, bottleneck, next bottleneck, use of the peak, cores, multiplications, vector
    elements, bytes read, bytes written, launch, seconds of each pipe, positions in the file].
    """
    span = kernel.cost
    return [
        name_text(kernel.name),
        kernel.op,
        kernel.engine,
        kernel.dtype,
        kernel.shapes,
        kernel.formats if kernel.has_blocks else "",
        *(_seconds(each) for each in (kernel.start, span.expected, span.low, span.high)),
        span.bound,
        in_both(bound_text(span)),
        round(span.utilization, 4),
        span.cores,
        span.macs,
        span.vector_elements,
        span.read,
        span.written,
        _seconds(span.overhead),
        [_seconds(getattr(span.pipes, pipe)) for pipe in PIPES],
        list(kernel.positions),
    ]


def _seconds(value: float) -> float:
    return round(value, 12)


VERSION = 1


def page_json(models: Sequence[Mapping[str, object]], language: str) -> bytes:
    """The whole document as JSON, null for numbers that JSON does not have."""
    return msgspec.json.encode(
        {
            "version": VERSION,
            "tool": f"atc-py {__version__}",
            "made": _now(),
            "lang": language,
            "models": models,
        },
        enc_hook=plain_text,
    )


def _now() -> str:
    """The time in UTC; SOURCE_DATE_EPOCH, where it is set, decides it."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    at = int(epoch) if epoch.isdecimal() else datetime.now(timezone.utc).timestamp()
    return datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%d %H:%M UTC")


def summary_document(
    done: ModelSummary, checks: BothChecks | None = None, at: int = 0
) -> dict[str, object]:
    with speaking(LANGUAGES[0]):  # texts are given in English, with their Chinese beside them
        return _document(done, checks, at)


def _document(done: ModelSummary, checks: BothChecks | None, at: int) -> dict[str, object]:
    check = None if checks is None else check_json(checks, at)
    state, wins = _state(done, check), []
    if done.profile is not None and done.compiled is not None and done.profile.costs:
        wins = biggest_wins(done.profile.costs[0], done.compiled.report)
    return {
        "path": name_text(str(done.model) if done.board is None else run_name(done.board)),
        "facts": _facts(done),
        "options": [
            name_text(f"{name} {value}")
            for name, values in done.options.items()
            for value in values or ("",)
        ],
        "state": state,
        "gear": done.gear,
        "shape": name_text(done.shape),
        "outputs": outputs_json(done),
        "actions": actions_json(done, check, wins, is_sound=state == "compiles"),
        "check": check,
        "refusals": [diagnostic_json(refusal) for refusal in done.refusals],
        "not_compared": [diagnostic_json(found) for found in done.not_compared],
        "missed": [diagnostic_json(found) for found in done.missed],
        "source": None if done.file_graph is None else source_json(done.file_graph),
        "compiled": None if done.compiled is None else compiled_json(done.compiled),
        "kernels": _kernels(done),
        "precision": None if done.comparison is None else precision_json(done.comparison),
        "time": None if done.profile is None else _time(done.profile),
        "board": None if done.board is None else board_json(done.board),
        "wins": [[win.share, in_both(win.text), name_text(win.node)] for win in wins],
        "fusions": [] if done.compiled is None else fusions_json(done.compiled.report),
        "semantics": _semantics(done),
    }


def _state(done: ModelSummary, check: dict[str, Any] | None) -> str:
    """`compiles`, `refused` or `undecided`."""
    if done.compiled is not None or done.comparison is not None:
        return "compiles"
    if done.refusals:
        return "refused"
    verdict = None if check is None else check["verdict"]
    return {"error": "refused", "unknown": "undecided"}.get(str(verdict), "compiles")


def _facts(done: ModelSummary) -> dict[str, object]:
    document: dict[str, object] = {"file": name_text(done.model.name), **_file(done.model)}
    if done.file_graph is not None:
        document |= _file_graph(done.file_graph)
    if done.compiled is not None:
        compiled = done.compiled
        document |= {
            "soc": compiled.description.soc,
            "compiled_nodes": len(compiled.description.nodes),
            "compiled_bytes": compiled.file_bytes,
            "mode": str(compiled.report.get("precision_mode", "")),
            "launches": compiled.report.get("launches"),
        }
    if done.check is not None:
        document |= {"check_mode": done.check.precision_mode, "check_soc": done.check.soc}
    return document


def _file_graph(file_graph: FileGraph) -> dict[str, object]:
    return {
        "graph": name_text(file_graph.name),
        "producer": name_text(file_graph.producer),
        "opsets": {name_text(key or "ai.onnx"): opset for key, opset in file_graph.opsets.items()},
        "nodes": sum(node.op_type != "Constant" for node in file_graph.nodes),
        "parameters": file_graph.parameters,
        "weight_bytes": file_graph.weight_bytes,
    }


def _file(path: Path) -> dict[str, object]:
    try:
        if not path.is_file():
            return {}
        return {"bytes": path.stat().st_size, "sha256": sha256_of(path)}
    except OSError:
        return {}


def _kernels(done: ModelSummary) -> str:
    if done.compiled is None or not done.compiled.sources:
        return ""
    named = {name_text(name): text for name, text in done.compiled.sources.items()}
    return base64.b64encode(
        zlib.compress(msgspec.json.encode(named, enc_hook=plain_text), 6)
    ).decode()


def _semantics(done: ModelSummary) -> list[dict[str, object]]:
    found = None
    if done.comparison is not None:
        found = done.comparison.semantics
    elif done.profile is not None:
        found = done.profile.semantics
    tables = semantics_tables(found)
    if done.check is None and done.profile is not None and done.profile.newer:
        rows = tuple(newer_rows(done.profile.newer))
        tables.append(Table("Taken only by later lists", ("", ""), rows))
    return [*map(table_json, tables)]


def board_json(done: BoardComparison) -> dict[str, object]:
    head, *tables = comparison_tables(done, whole=True)
    last = [name_text(layer.nodes[-1]) if layer.nodes else "" for layer in done.layers]
    found = []
    for table in tables:
        numbers = [at for at, (_, is_number) in enumerate(table.headings()) if is_number]
        is_of_layers = len(table.rows) == len(last) and table.headings()[0][0] == "op"
        nodes = last if is_of_layers else []
        found.append({**table_json(table), "numbers": numbers, "nodes": nodes})
    return {
        "title": in_both(head.title),
        "is_off": done.first is not None,
        "summary": [[in_both(name), in_both(value)] for name, value in head.rows],
        "findings": [diagnostic_json(each) for each in done.findings],
        "tables": found,
    }
