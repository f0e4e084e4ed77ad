"""Mode 6: what an offline model was made by, and its sizes."""

import json
import re
import zipfile
from pathlib import Path

import pytest

from atc_py import __version__
from atc_py.adapters.atc.modes.own_om import model_info, om_to_json
from atc_py.diag import AtcError, AtcFault
from tests.atc_modes.conftest import COMMAND


def test_lines_are_those_of_atc(om: Path) -> None:
    lines = model_info(om)
    assert lines[0] == "============ Display Model Info start ============"
    assert lines[1] == f"Original Atc command line: {COMMAND}"
    assert lines[2] == (
        f"system   info: atc_version[atc-py {__version__}], soc_version[Ascend310P3], "
        "framework_type[Onnx]."
    )
    assert re.fullmatch(
        r"resource info: memory_size\[\d+ B\], weight_size\[\d+ B\], stream_num\[1\], "
        r"event_num\[0\]\.",
        lines[3],
    )
    assert re.fullmatch(
        r"om       info: modeldef_size\[\d+ B\], weight_data_size\[\d+ B\], "
        r"tbe_kernels_size\[\d+ B\], cust_aicpu_kernel_store_size\[0 B\], "
        r"task_info_size\[0 B\], so_store_size\[0 B\]\.",
        lines[4],
    )
    assert lines[5:] == ["============ Display Model Info end   ============"]


def test_sizes_are_those_of_the_members(om: Path) -> None:
    with zipfile.ZipFile(om) as archive:
        sizes = {each.filename: each.file_size for each in archive.infolist()}
    weights = sum(size for name, size in sizes.items() if name.startswith("weights/"))
    kernels = sum(size for name, size in sizes.items() if name.startswith("kernels/"))
    line = model_info(om)[4]
    assert f"modeldef_size[{sizes['model.json']} B]" in line
    assert f"weight_data_size[{weights} B]" in line
    assert f"tbe_kernels_size[{kernels} B]" in line
    listed = json.loads(om_to_json(om))["attr"]
    (info,) = [row["value"]["list"]["i"] for row in listed if row["key"] == "om_info_list"]
    assert info == [weights, kernels, 0, 0, 0]


def test_other_file_than_an_offline_model_is_e10041(model: Path) -> None:
    with pytest.raises(AtcError) as caught:
        model_info(model)
    assert caught.value.diagnostics[0].atc == AtcFault("E10041", ("small.onnx",))
