"""Traces follow the rules of Chrome's trace format by which Perfetto reads them.

Source: "Trace Event Format" (Google, 2016): JSON object format, metadata, complete and counter
events. Perfetto drops events that break these rules without a word.
"""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import jsonschema
import onnx
import pytest

from atc_py.pipeline.profile import profile_model
from atc_py.report.profile.formats import trace_json
from tests.cost.small_networks import chain, views

MODELS = Path(__file__).resolve().parents[2] / ".." / "shared" / "models"
NETWORKS = ("bert_mini_opset13", "lstm_cls_opset11", "yolo_csp_opset11")
WHOLE = {"type": "integer", "minimum": 0}
NAME = {"type": "string", "minLength": 1}
TIME = {"type": "number", "minimum": 0}
TRACK = {"pid": WHOLE, "tid": WHOLE, "name": NAME}


def event(kind: str, fields: dict[str, Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of events of one kind, which have these fields and no others."""
    known = {"ph": {"const": kind}, **TRACK, **fields, "args": {"type": "object", **arguments}}
    return {"properties": known, "required": list(known), "additionalProperties": False}


def named(what: str, argument: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a metadata event."""
    arguments = {"properties": {argument: schema}, "required": [argument]}
    return event("M", {"name": {"const": what}}, arguments)


SCHEMA = {
    "type": "object",
    "required": ["traceEvents", "displayTimeUnit"],
    "properties": {
        "displayTimeUnit": {"enum": ["ms", "ns"]},
        "otherData": {"type": "object"},
        "traceEvents": {
            "type": "array",
            "minItems": 1,
            "items": {
                "oneOf": [
                    named("process_name", "name", NAME),
                    named("thread_name", "name", NAME),
                    named("process_sort_index", "sort_index", WHOLE),
                    event("X", {"ts": TIME, "dur": TIME, "cat": NAME}, {}),
                    event("C", {"ts": TIME}, {"additionalProperties": {"type": "number"}}),
                ]
            },
        },
    },
}


def refused(constant: str) -> None:
    """Refuse NaN and Infinity, which JSON lacks and Python's reader takes."""
    raise ValueError(constant)


def trace_of(path: Path) -> dict[str, Any]:
    """Return the trace of a model on the SoC `sim`, which must be of the schema."""
    (cost,) = profile_model(path, ["sim"]).costs
    document: dict[str, Any] = json.loads(trace_json(cost), parse_constant=refused)
    jsonschema.validate(document, SCHEMA)
    return document


def require_sound(document: dict[str, Any]) -> None:
    """Check that tracks have names, slices follow each other, and counters go forward in time."""
    events = document["traceEvents"]
    processes = {e["pid"] for e in events if e["name"] == "process_name"}
    threads = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    ends: dict[tuple[int, int, str], float] = defaultdict(float)
    for each in (e for e in events if e["ph"] != "M"):
        assert each["pid"] in processes
        assert each["ph"] == "C" or (each["pid"], each["tid"]) in threads
        track = each["pid"], each["tid"], each["ph"]
        assert each["ts"] >= ends[track] - 1e-6, each
        ends[track] = each["ts"] + each.get("dur", 0.0)
    counted = [e for e in events if e["ph"] == "C"]
    assert len({tuple(sorted(e["args"])) for e in counted}) == 1
    assert counted[-1]["ts"] >= max(e["ts"] + e["dur"] for e in events if e["ph"] == "X") - 1e-3


@pytest.mark.parametrize("build", [chain, views])
def test_trace_of_a_small_model_follows_the_format(build: Any, tmp_path: Path) -> None:
    onnx.save(build(), tmp_path / "m.onnx")
    require_sound(trace_of(tmp_path / "m.onnx"))


@pytest.mark.skipif(not MODELS.exists(), reason="the shared models are not here")
@pytest.mark.parametrize("name", NETWORKS)
def test_trace_of_a_network_follows_the_format(name: str) -> None:
    document = trace_of(MODELS / name / "model.onnx")
    require_sound(document)
    kernels = {e["args"]["name"] for e in document["traceEvents"] if "low_us" in e["args"]}
    assert len(kernels) > 5


def test_what_breaks_the_format_is_found(tmp_path: Path) -> None:
    onnx.save(chain(), tmp_path / "m.onnx")
    document = trace_of(tmp_path / "m.onnx")
    (first, *_) = (e for e in document["traceEvents"] if e["ph"] == "X")
    for changes in ({"pid": "1"}, {"ts": -1.0}, {"dur": None}, {"tid": 0.5}, {"name": ""}):
        broken = {**document, "traceEvents": [{**first, **changes}]}
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(broken, SCHEMA)
    unnamed = [e for e in document["traceEvents"] if e["name"] != "thread_name"]
    with pytest.raises(AssertionError):
        require_sound({"traceEvents": unnamed})
    with pytest.raises(AssertionError):
        require_sound({"traceEvents": [*document["traceEvents"], first]})
