"""AIPP in models with gears: each gear is the model of its shapes alone, and takes its pictures."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import atc_py
from atc_py.diag import AtcError
from tests.aipp_graph.networks import DYNAMIC, NV12, RGB, config, network
from tests.gears.models import differences

SHAPE = ("n", 3, "h", "w")
BATCH = {"input_shape": "x0:-1,3,8,12", "batch_sizes": "1,3,2"}
IMAGE = {"input_shape": "x0:1,3,-1,-1", "image_sizes": "8,12;12,8"}


@pytest.mark.parametrize(
    ("text", "gears", "shape"),
    [(NV12, BATCH, (3, 12, 12, 1)), (RGB, BATCH, (3, 8, 12, 3)), (NV12, IMAGE, (1, 18, 8, 1))],
    ids=["nv12-batch", "rgb-batch", "nv12-image"],
)
def test_static_pictures(
    tmp_path: Path, text: str, gears: dict[str, Any], shape: tuple[int, ...]
) -> None:
    source, file = network(tmp_path / "net.onnx", (SHAPE,)), config(tmp_path, text)
    atc_py.convert(source, tmp_path / "net.om", aipp=file, **gears)
    assert differences(tmp_path / "net.om", source, tmp_path, aipp=file) == []
    with atc_py.load(tmp_path / "net.om") as model:
        assert model.gears is not None
        assert model.gears.fed_shapes_of(1) == {"x0": shape}
        assert model.run({"x0": np.ones(shape, np.uint8)})["y"].any()


def test_dynamic_pictures(tmp_path: Path) -> None:
    source, file = network(tmp_path / "net.onnx", (SHAPE,)), config(tmp_path, DYNAMIC)
    atc_py.convert(source, tmp_path / "net.om", aipp=file, **BATCH)  # type: ignore[arg-type]
    with atc_py.load(tmp_path / "net.om") as model:
        assert model.gears is not None
        sizes = [model.gears.fed_shapes_of(at)["ascend_dynamic_aipp_data"] for at in range(3)]
        assert sizes == [(64 + 96,), (64 + 3 * 96,), (64 + 2 * 96,)]


@pytest.mark.parametrize(
    ("text", "gears", "code"),
    [
        (NV12, {"input_shape": "x0:-1,3,8,12", "dims": "1;2"}, "E10001"),
        (RGB + "  src_image_size_w: 12\n  src_image_size_h: 8\n", IMAGE, "E10052"),
    ],
)
def test_settings_that_gears_exclude(
    tmp_path: Path, text: str, gears: dict[str, Any], code: str
) -> None:
    source, file = network(tmp_path / "net.onnx", (SHAPE,)), config(tmp_path, text)
    with pytest.raises(AtcError) as refused:
        atc_py.convert(source, tmp_path / "net.om", aipp=file, **gears)
    atc = refused.value.diagnostics[0].atc
    assert atc is not None
    assert atc.code == code
