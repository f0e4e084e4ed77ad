"""What commands say of storage: `info --layout`, and conversions in the summary of `convert`."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from atc_py.diag import AtcError
from atc_py.report.model.records import LayoutRecord, read_record
from tests.cli.conftest import Result

Atc = Callable[..., Result]


def test_info_lists_storage_and_the_reason_of_each_conversion(atc: Atc, om: Path) -> None:
    record = atc("info", om, "--layout", "--json").json
    assert record["values"] == {"FRACTAL_Z": 1, "NC1HWC0": 3, "NCHW": 4}
    first, second = record["trans_data"]
    assert (first["from"], first["to"], first["given_by"]) == ("NCHW", "NC1HWC0", "Cast")
    assert first["reason"] == "Cast of x gives NCHW; Conv2D conv takes NC1HWC0"
    assert (second["to"], second["taken_by"]) == ("NCHW", ["Cast"])
    assert second["reason"] == "Relu last gives NC1HWC0; Cast last takes NCHW"
    assert first["bytes"] == 2 * (3 + 16) * 8 * 8
    text = atc("info", om, "--layout").out
    assert "2 TransData" in text
    assert second["reason"] in text


def test_convert_counts_conversions_and_its_json_has_their_reasons(atc: Atc, model: Path) -> None:
    done = atc("convert", "-v", model)
    assert re.search(r"conversions left +2 TransData, 2 Cast\n", done.out)
    record = atc("convert", model, "--json").json["layout"]
    assert [each["from"] for each in record["trans_data"]] == ["NCHW", "NC1HWC0"]


@pytest.mark.parametrize("name", ["assign-storage", "merge-trans-data"])
def test_layout_can_be_switched_off(atc: Atc, model: Path, name: str) -> None:
    done = atc("convert", model, "--disable-pass", name, "--json")
    assert done.status == 0
    converted = done.json["target_operators"].get("TransData", 0)
    assert converted == (0 if name == "assign-storage" else 2)


def test_conversions_cannot_be_left_out_where_storage_differs(atc: Atc, model: Path) -> None:
    refused = atc("convert", model, "--disable-pass", "insert-trans-data")
    assert (refused.status, "ATC1005" in refused.err) == (2, True)


@pytest.mark.parametrize(
    ("report", "message"),
    [
        ({}, "the report has no record of layout"),
        ({"layout": {"values": {}}}, "missing required field `trans_data`"),
        ({"layout": {"values": {}, "trans_data": [{"name": 1}]}}, "does not follow its schema"),
    ],
)
def test_offline_model_without_a_record_is_named(report: dict[str, object], message: str) -> None:
    with pytest.raises(AtcError) as caught:
        read_record(report, "layout", LayoutRecord, "old.om")
    (found,) = caught.value.diagnostics
    assert found.code.name == "offline-model-content"
    assert message in found.message
    assert found.help == "convert the model again with this version of atc-py"
