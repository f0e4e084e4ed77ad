"""Records of processes put together, and their reports."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from atc_py.adapters.exec.counters import RunCounters
from atc_py.adapters.exec.gather import gather_models, gather_processes, read_processes
from atc_py.adapters.exec.hybrid import add_comparison
from atc_py.adapters.exec.records import (
    CompilationRecord,
    ModelRecord,
    OutputSums,
    ProcessRecord,
    RefusalRecord,
    UseRecord,
)
from atc_py.report.exec.tables import (
    program_html,
    program_json,
    program_tables,
)
from atc_py.report.tables import plain_lines
from atc_py.results.program_run import VERSION, ProgramRun
from tests.check_schema import EXEC_SCHEMA, schema_text

FINDING = {
    "code": "ATC3001",
    "name": "unknown-operator",
    "severity": "error",
    "message": "<b>HardSwish</b> is not on the operator list",
    "place": {"node": 3},
    "rule": None,
    "help": "export it at opset 13",
}


def record(pid: int = 7) -> ProcessRecord:
    """Return the record of a process with two models."""
    compared = ModelRecord(
        "/m/a.onnx", "ab" * 32, name="a", size=2000, sessions=2, npu=UseRecord(3, 0.5),
        shadow=UseRecord(3, 0.25), compilations=[CompilationRecord({"x": [1, 3]}, 2.0)],
    )  # fmt: skip
    for scale in (1.0, 1.01):
        data = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
        add_comparison(compared.outputs, "y", data * scale, data)
    refused = ModelRecord(
        "", "cd" * 32, sessions=1, onnxruntime=UseRecord(2, 0.1),
        refusals=[RefusalRecord([FINDING, FINDING])], remarks=["ATC1041: \x1b[31m a provider"],
    )  # fmt: skip
    return ProcessRecord(pid, 1, ["python", "x.py"], "3.11.7", [compared, refused])


def whole(*records: ProcessRecord) -> ProgramRun:
    """Return the run of a program with these processes."""
    return ProgramRun(
        version=VERSION,
        tool="atc-py 0",
        command=["python", "<i>x.py\udce4"],
        status=3,
        seconds=1.5,
        options={"soc": "sim", "strict": False, "fix": None},
        models=gather_models(records),
        processes=gather_processes(records),
        diagnostics=[FINDING],
    )


def left(folder: Path, *records: ProcessRecord) -> None:
    """Leave records as processes do."""
    for at, each in enumerate(records):
        file = folder / f"process-{each.pid}-{at}.json"
        file.write_text(json.dumps(asdict(each)), encoding="utf-8")


def test_records_are_read_as_they_were_left(tmp_path: Path) -> None:
    left(tmp_path, record(7), record(8))
    assert read_processes(tmp_path) == [record(7), record(8)]


def test_what_is_no_record_is_passed_by(tmp_path: Path) -> None:
    left(tmp_path, record())
    for name, text in (("1-2", "{"), ("1-3", "[]"), ("1-x", "{}"), ("1-4", '{"models": 3}')):
        (tmp_path / f"process-{name}.json").write_text(text, encoding="utf-8")
    assert read_processes(tmp_path) == [record()]


def test_counters_are_newer_than_the_record(tmp_path: Path) -> None:
    left(tmp_path, record())
    newer = record()
    newer.models[0].npu.add(0.5)
    counters = RunCounters(tmp_path / "process-7-0.counts")
    assert [counters.put(at, each) for at, each in enumerate(newer.models)] == [True, True]
    assert not counters.put(10_000, newer.models[0])
    assert read_processes(tmp_path) == [newer]


def test_processes_are_put_together_by_model() -> None:
    compared, refused = gather_models([record(7), record(8)])
    assert (compared.where, compared.npu.runs, compared.sessions, compared.processes) == (
        "npu",
        6,
        4,
        2,
    )
    assert [(each.times, each.seconds) for each in compared.compilations] == [(2, 4.0)]
    (output,) = compared.outputs
    assert (output.runs, output.equal_argmax) == (4, 1.0)
    assert output.cosine == pytest.approx(1.0, abs=1e-4)
    assert output.largest_error == pytest.approx(0.04, rel=1e-3)
    (reason,) = refused.fallbacks
    assert (refused.where, reason.codes, reason.processes) == ("onnxruntime", {"ATC3001": 2}, 2)


@pytest.mark.parametrize(
    ("ours", "theirs", "error", "argmax"),
    [
        ([1.0, math.nan], [1.0, math.nan], 0.0, None),
        ([1.0, math.inf], [1.0, math.inf], 0.0, 1.0),
        ([1.0, math.inf], [1.0, 5.0], None, 1.0),
        ([0.0, 0.0], [0.0, 0.0], 0.0, 1.0),
        ([2, 1], [1, 2], 1.0, 0.0),
        ([True, False], [True, True], 1.0, 1.0),
        ([3.0], [2.0], 1.0, None),
        ([], [], 0.0, None),
    ],
)
def test_odd_values_are_compared(
    ours: list[float], theirs: list[float], error: float | None, argmax: float | None
) -> None:
    model = ModelRecord("m", "d")
    add_comparison(model.outputs, "y", np.array(ours), np.array(theirs))
    (output,) = gather_models([ProcessRecord(1, 0, [], "", [model])])[0].outputs
    assert (output.largest_error, output.equal_argmax) == (error, argmax)


def test_results_that_cannot_be_compared_are_counted() -> None:
    model = ModelRecord("m", "d")
    add_comparison(model.outputs, "y", np.zeros((2, 3)), np.zeros((3, 2)))
    add_comparison(model.outputs, "y", np.array(["a"]), np.array(["a"]))
    (output,) = gather_models([ProcessRecord(1, 0, [], "", [model])])[0].outputs
    assert (output.runs, output.other_shapes, output.cosine) == (2, 2, None)


def test_document_follows_the_schema_and_is_documented() -> None:
    done = whole(record(7), record(8))
    document = json.loads(program_json(done))
    assert EXEC_SCHEMA.read_text(encoding="utf-8") == schema_text(EXEC_SCHEMA)
    schema = json.loads(schema_text(EXEC_SCHEMA))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(document, schema)
    for name, value in (("version", 2), ("models", {}), ("status", "0")):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**document, name: value}, schema)
    assert document["command"][1] == "<i>x.py\\udce4"


def test_page_escapes_what_comes_from_files() -> None:
    page = program_html(whole(record()))
    assert "<b>HardSwish" not in page
    assert "&lt;b&gt;HardSwish" in page
    assert "<i>x.py" not in page
    assert "\x1b" not in page
    assert "a.onnx" in page


def test_tables_name_what_ran_where() -> None:
    tables = program_tables(whole(record(7), record(8)))
    assert [table.title for table in tables] == [
        "Models",
        "Shapes compiled",
        "In onnxruntime because",
        "Compared with onnxruntime",
        "Without effect",
        "Processes",
    ]
    text = "\n".join(line for table in tables for line in plain_lines(table))
    assert "\x1b" not in text
    assert "2 x ATC3001" in text
    assert program_tables(whole()) == []


def test_sums_of_processes_add_up() -> None:
    sums = OutputSums("float32", "float32", 1, 0, 2.0, 4.0, 1.0, 0.5, 0.1, 3, 2)
    sums.merge(OutputSums("float32", "float32", 2, 1, 1.0, 1.0, 1.0, 0.9, 0.3, 1, 1))
    assert sums == OutputSums("float32", "float32", 3, 1, 3.0, 5.0, 2.0, 0.5, 0.3, 4, 3)
