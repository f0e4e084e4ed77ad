"""A check's report in the structure of ATC's pre-check."""

import json
from typing import Any

from atc_py.check.findings import ModelCheck, NodeRow, Standing
from atc_py.report.check.atc_lines import check_atc
from atc_py.report.check.json_document import check_document
from tests.report.check_samples import (
    RESTATED,
    STRIDES,
    UNDECIDED,
    at,
    faulty,
    mixed,
    model_check,
    report,
    unreadable,
)


def atc_of(*models: ModelCheck, language: str = "en") -> Any:
    return json.loads(check_atc(check_document(report(*models), language)))


def test_nodes_stand_in_the_order_of_the_network() -> None:
    value = atc_of(mixed())
    assert [row["type"].rpartition("::")[2] for row in value["op"]] == [
        "Conv", "Relu", "Conv", "Conv", "Conv", "TopK", "Gelu",
    ]  # fmt: skip
    assert (value["name"], value["result"]) == ("main_graph", "failed")
    assert (value["total"], value["pass"], value["fail"]) == (7, 3, 4)


def test_clean_node_has_no_cause() -> None:
    value = atc_of(model_check(UNDECIDED, RESTATED))
    assert value["result"] == "success"
    assert value["op"][0] == {
        "name": "conv1",
        "type": "ai.onnx::13::Conv",
        "result": "success",
    }


def test_causes_have_the_numbers_of_atc() -> None:
    rows = {row["name"]: row for row in atc_of(mixed())["op"]}
    assert rows["gelu"]["cause"] == [{"code": 1, "message": "Gelu is not on the operator list"}]
    assert rows["conv2"]["cause"] == [
        {"code": 2, "message": "strides of Conv must be in [1, 63], found [1, 64]"}
    ]


def test_repeated_name_is_a_cause_of_each() -> None:
    value = atc_of(model_check(at(RESTATED, 1, "twin"), at(RESTATED, 2, "twin")))
    assert [[cause["code"] for cause in row["cause"]] for row in value["op"]] == [[9], [9]]
    assert value["result"] == "failed"


def test_nodes_without_name_repeat_none() -> None:
    value = atc_of(model_check(at(RESTATED, 1, ""), at(RESTATED, 2, "")))
    assert value["fail"] == 0


def test_same_name_in_another_subgraph_is_not_a_repetition() -> None:
    rows = tuple(
        NodeRow(1, "a", "ai.onnx::13::Add", scope, Standing.SUPPORTED) for scope in ("", "branch")
    )
    assert atc_of(model_check(rows=rows))["fail"] == 0


def test_fault_fails_the_network_and_its_node() -> None:
    rows = (NodeRow(2, "cat", "ai.onnx::13::Concat", "", Standing.ERROR),)
    value = atc_of(ModelCheck("b", "g", {}, 1, 1, (), faulty().faults, rows=rows))
    assert (value["result"], value["fail"]) == ("failed", 1)
    assert value["op"][0]["cause"] == [{"code": 2, "message": "dims 3 and 4 disagree"}]
    assert atc_of(unreadable())["result"] == "failed"


def test_several_models_are_a_list() -> None:
    assert [each["name"] for each in atc_of(mixed(), model_check(STRIDES))] == ["main_graph"] * 2
