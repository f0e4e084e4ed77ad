"""Networks whose `fusion_result.json` is public: what fires in the real one fires in the rebuilt one.

Counts are those of the files of users: YOLOv8n with Relu and AIPP on Ascend310B, YOLOv8n with SiLU with
and without AIPP, MiDaS on Ascend310B. docs/real-models.md has what differs.
"""

import json
from pathlib import Path

import onnx
import pytest

from atc_py.adapters.atc.console import Console
from atc_py.adapters.atc.run import run_atc
from tests.networks.builders.rebuilt import build_midas, build_yolov8n

AIPP = """aipp_op { aipp_mode: static input_format: RGB888_U8 src_image_size_w: 640
  src_image_size_h: 640 var_reci_chn_0: 0.0039 var_reci_chn_1: 0.0039 var_reci_chn_2: 0.0039 }"""


def effects(model: onnx.ModelProto, soc: str, *more: str) -> dict[str, str]:
    """Return effects and matches of each rule in the file that atc writes, as `54/61`."""
    onnx.save(model, "net.onnx")
    words = ["--model=net.onnx", "--framework=5", "--output=net", f"--soc_version={soc}", *more]
    assert run_atc(words, Console(print, print, print)) == 0
    (found,) = json.loads(Path("fusion_result.json").read_text(encoding="utf-8"))
    sections = (found.get("graph_fusion", {}), found.get("ub_fusion", {}))
    return {
        name: f"{times['effect_times']}/{times['match_times']}"
        for section in sections
        for name, times in section.items()
    }


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASCEND_WORK_PATH", raising=False)
    Path("aipp.cfg").write_text(AIPP, encoding="utf-8")


def test_detector_with_relu_and_aipp_fires_what_atc_fires() -> None:
    found = effects(build_yolov8n(), "Ascend310B4", "--insert_op_conf=aipp.cfg")
    real = {
        "ASoftmaxFusionPass": "0/1",
        "ConvConcatFusionPass": "3/19",
        "FIXPIPEFUSIONPASS": "54/61",
        "RealDiv2MulsFusionPass": "1/1",
        "TbeAippCommonFusionPass": "1/1",
    }
    assert {name: found[name] for name in real} == real
    assert found["SameInputConv2dPass"].startswith("3/")
    assert found["TbeMultiOutputFusionPass"] == "1/1"
    assert "AutomaticUbFusion" not in found


def test_detector_with_silu_fires_what_atc_fires() -> None:
    model = build_yolov8n("Silu")
    joined = effects(model, "Ascend310P3", "--insert_op_conf=aipp.cfg")
    apart = effects(model, "Ascend310B4")
    assert joined["TbeConvSigmoidMulQuantFusionPass"] == "56/56"
    assert joined["TbeAippCommonFusionPass"] == "1/1"
    assert apart["TbeConvSigmoidMulQuantFusionPass"] == "57/57"
    assert joined["RealDiv2MulsFusionPass"] == apart["RealDiv2MulsFusionPass"] == "1/1"
    assert joined["TbeMultiOutputFusionPass"] == apart["TbeMultiOutputFusionPass"] == "1/1"
    assert "AutomaticUbFusion" not in apart


def test_depth_of_images_fires_what_atc_fires() -> None:
    found = effects(build_midas(), "Ascend310B4")
    assert found["FIXPIPEFUSIONPASS"] == "120/125"
    assert found["RealDiv2MulsFusionPass"] == "0/1"
    assert found["ResizeFusionPass"] == "5/5"
    assert found["SameInputConv2dPass"].startswith("0/")
