"""Modes 1 and 6 of files that Huawei's atc writes."""

import json
from pathlib import Path
from typing import Any

import pytest

from atc_py.adapters.atc.modes.own_om import model_info, om_to_json
from atc_py.diag import AtcError, AtcFault
from tests.package.ge import om_files
from tests.package.ge.om_files import om_file, small_model

REAL = Path(__file__).resolve().parents[2].parent / "shared" / "real"
needs_real = pytest.mark.skipif(not REAL.is_dir(), reason="files of other makers stay outside")


def written(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "net.om"
    path.write_bytes(data)
    return path


def attributes(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {row["key"]: row.get("value") for row in rows}


def test_numbers_of_names_are_replaced_and_their_tables_left_out(tmp_path: Path) -> None:
    found = json.loads(om_to_json(written(tmp_path, small_model())))
    keys = set(attributes(found["attr"]))
    assert "soc_version" in keys
    assert not keys & {"om_compress_version", "attr_name_enum", "attr_value_enum"}
    conv = next(op for op in found["graph"][0]["op"] if op["type"] == "Conv2D")
    values = attributes(conv["attr"])
    assert values["_kernelname"] == {"s": "te_fused_conv"}
    assert values["_datadump_original_op_names"]["list"]["s"] == ["conv", "relu"]
    assert values["tvm_blockdim"] == {"i": 2}
    origin = attributes(conv["input_desc"][0]["attr"])
    assert origin["origin_format"] == {"s": "NCHW"}
    assert origin["format_for_int"] == {"i": 83886083}
    assert conv["input_desc"][3]["layout"] == "FORMAT_RESERVED"


def test_json_is_the_same_with_names_as_with_numbers(tmp_path: Path) -> None:
    numbers = json.loads(om_to_json(written(tmp_path, small_model(enumerated=True))))
    names = json.loads(om_to_json(written(tmp_path, small_model(enumerated=False))))
    for found in (numbers, names):
        for op in found["graph"][0]["op"]:
            for row in op.get("attr", []):  # what a text was stored as is not kept
                row.get("value", {}).get("list", {}).pop("val_type", None)
            op["attr"] = sorted(op.get("attr", []), key=lambda row: str(row["key"]))
    by_type = [
        {op["name"]: op for op in found["graph"][0]["op"] if op["type"] != "Const"}
        for found in (numbers, names)
    ]
    values = [attributes(ops["convrelu"]["attr"]) for ops in by_type]
    assert values[0] == values[1]
    assert numbers["name"] == names["name"]


def test_lines_of_a_new_an_old_and_a_first_file(tmp_path: Path) -> None:
    lines = model_info(written(tmp_path, small_model()))
    assert lines[1] == (
        "Original Atc command line: /usr/local/bin/atc.bin --model=net.onnx --framework=5 --output=net"
    )
    assert lines[2] == (
        "system   info: atc_version[7.6.0.1.220], soc_version[Ascend310B4], framework_type[Onnx]."
    )
    assert lines[4].endswith("task_info_size[50 B], so_store_size[0 B].")
    four = om_files.model_def([], {"om_info_list": [1, 2, 3, 4]})
    line = model_info(written(tmp_path, om_file([(0, four)])))[4]
    assert line.endswith("task_info_size[4 B].")
    none = model_info(written(tmp_path, om_file([(0, om_files.model_def([]))])))
    assert none[3] == (
        "resource info: memory_size[-1 B], weight_size[-1 B], stream_num[-1], event_num[-1]."
    )
    assert none[4].startswith('Display Model Info failed, attr "om_info_list" is not found')
    odd = om_files.model_def([], {"om_info_list": [1]})
    assert model_info(written(tmp_path, om_file([(0, odd)])))[4] == (
        "Display Model Info error, please check!"
    )


@pytest.mark.parametrize("read", [om_to_json, model_info])
@pytest.mark.parametrize(
    "data", [small_model()[:300], om_file([(0, b"\xff\xff")]), om_file([(0, b"")], encrypted=True)]
)
def test_damaged_file_is_e10041(tmp_path: Path, read: Any, data: bytes) -> None:
    path = written(tmp_path, data)
    with pytest.raises(AtcError) as caught:
        read(path)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code.id == "ATC5006"
    assert diagnostic.atc == AtcFault("E10041", (str(path),))


@needs_real
def test_lanenet_as_atc_shows_it() -> None:
    found = json.loads(om_to_json(REAL / "lanenet_310B4_cann8.0.0.om"))
    assert (found["version"], found["graph"][0]["name"]) == (2, "my_122_anenet_0")
    assert attributes(found["attr"])["framework_type"] == {"s": "Onnx"}
    ops = found["graph"][0]["op"]
    assert len(ops) == 547
    fused = next(op for op in ops if op["type"] == "Conv2D" and len(op["input_desc"]) == 13)
    values = attributes(fused["attr"])
    assert values["data_format"] == {"s": "NHWC"}
    assert not {"strides", "pads"} & set(values)
    assert fused["input_desc"][3]["layout"] == "FORMAT_RESERVED"
    formats = {
        attributes(desc["attr"])["format_for_int"]["i"]
        for op in ops
        for desc in op.get("input_desc", [])
        if desc["layout"] in {"NC1HWC0", "FRACTAL_Z"}
    }
    assert formats == {83886083, 83886084}
