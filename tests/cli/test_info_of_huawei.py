"""`atc-py info` of files that Huawei's atc writes."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from tests.check_schema import HUAWEI_SCHEMA, schema_text
from tests.cli.conftest import Result
from tests.package.ge import om_files
from tests.package.ge.om_files import om_file, small_model

Atc = Callable[..., Result]

REAL = Path(__file__).resolve().parents[2].parent / "shared" / "real"
needs_real = pytest.mark.skipif(not REAL.is_dir(), reason="files of other makers stay outside")


def written(data: bytes, name: str = "net.om") -> Path:
    path = Path(name)
    path.write_bytes(data)
    return path


def test_tables_show_what_the_file_holds(atc: Atc) -> None:
    done = atc("info", written(small_model()))
    assert (done.status, done.err) == (0, "")
    for text in (
        "Offline model of Huawei's atc",
        "SoC           Ascend310B4",
        "command line  /usr/local/bin/atc.bin --model=net.onnx",
        "the command line may hold paths of the machine that built the model",
        "input   x     float32  1,16,4,4  NCHW    1.0 KiB",
        "output  y     float32  1,16,4,4  NCHW    1.0 KiB",
        "arena      2.0 KiB",
        "zero copy  1.0 KiB",
        "Conv2D + Relu      2         1  TbeConvFixPipeFusionPass",
        "kernels         2, 128 B",
    ):
        assert text in done.out
    assert "Launches in order" not in done.out


def test_ops_lists_every_launch(atc: Atc) -> None:
    done = atc("info", written(small_model()), "--ops")
    row = next(line for line in done.out.splitlines() if "conv, relu" in line)
    for text in ("Conv2D + Relu", "AIC", "float16[1,1,4,4,16] NC1HWC0", "FRACTAL_Z"):
        assert text in row


def test_json_follows_its_schema(atc: Atc) -> None:
    schema = json.loads(HUAWEI_SCHEMA.read_text(encoding="utf-8"))
    assert HUAWEI_SCHEMA.read_text(encoding="utf-8") == schema_text(HUAWEI_SCHEMA)
    for options in ((), ("--ops",)):
        found = atc("info", written(small_model()), *options, "--json").json
        jsonschema.validate(found, schema)
        (model,) = found["models"]
        assert (model["ops"] is None) is not bool(options)
    assert model["fusions"] == [
        {
            "operators": ["Conv2D", "Relu"],
            "nodes": 2,
            "launches": 1,
            "passes": ["TbeConvFixPipeFusionPass"],
        }
    ]


def test_old_file_has_its_interface_from_the_graph(atc: Atc) -> None:
    data = small_model(enumerated=False, wide=False, version=0x10000000)
    (model,) = atc("info", written(data), "--json").json["models"]
    assert [(row["name"], row["dims"]) for row in model["inputs"]] == [("x", [1, 1, 4, 4, 16])]
    assert [row["name"] for row in model["outputs"]] == ["y"]


def test_aipp_is_shown_in_words_of_its_configuration(atc: Atc) -> None:
    settings = {
        "aipp_mode": 1,
        "input_format": 3,
        "csc_switch": True,
        "matrix_r0c0": 298,
        "var_reci_chn_0": [0.5],
        "crop": False,
    }
    function = om_files.message("NamedAttrs", name="aipp") + om_files.entries(
        "NamedAttrs", settings
    )
    ops = [
        om_files.op("x", "Data", {"_data_related_aipp_mode": "static_aipp"}),
        om_files.op(
            "x_0_huawei_aipp", "Aipp", {"aipp": om_files.member("func", function)}, input=["x:0"]
        ),
    ]
    data = om_file([(0, om_files.model_def([om_files.graph("g", ops)]))])
    done = atc("info", written(data))
    assert "Pictures for input x (AIPP)" in done.out
    (model,) = atc("info", "net.om", "--json").json["models"]
    (aipp,) = model["aipp"]
    assert (aipp["mode"], aipp["op"]) == ("static_aipp", "x_0_huawei_aipp")
    assert aipp["settings"] == {
        "aipp_mode": "static",
        "input_format": "RGB888_U8",
        "csc_switch": True,
        "matrix_r0c0": 298,
        "var_reci_chn_0": 0.5,
    }


def test_bundle_shows_each_model(atc: Atc) -> None:
    data = om_file([(24, small_model()), (24, small_model())], model_type=5)
    done = atc("info", written(data))
    assert "models  3" in done.out
    assert done.out.count("SoC           Ascend310B4") == 2


def test_encrypted_file_is_named_so(atc: Atc) -> None:
    done = atc("info", written(om_file([(0, b"\xff"), (1, bytes(9))], encrypted=True)))
    assert "encrypted" in done.out
    assert "WEIGHTS_DATA" in done.out
    assert done.status == 0


@pytest.mark.parametrize("option", ["--precision", "--layout"])
def test_options_of_our_own_models_are_refused(atc: Atc, option: str) -> None:
    done = atc("info", written(small_model()), option)
    assert done.status == 2
    assert "is one of Huawei's atc" in done.err


def test_ops_of_our_own_model_are_refused(atc: Atc, om: Path) -> None:
    done = atc("info", om, "--ops")
    assert done.status == 2
    assert "--ops applies to offline models of Huawei's atc" in done.err


def test_names_from_the_file_cannot_command_the_terminal(atc: Atc) -> None:
    ops = [om_files.op("a\x1b[2Jb\nc", "Data", output_desc=om_files.tensor_desc())]
    data = om_file([(0, om_files.model_def([om_files.graph("g\x1b[2J", ops)]))])
    done = atc("info", written(data))
    assert "\x1b" not in done.out


def test_text_is_chinese_where_that_is_asked_for(atc: Atc) -> None:
    done = atc("info", written(small_model()), "--lang", "zh")
    for text in ("华为 atc 的离线模型", "融合启动", "任务"):
        assert text in done.out


@needs_real
def test_lanenet(atc: Atc) -> None:
    (model,) = atc("info", REAL / "lanenet_310B4_cann8.0.0.om", "--json", "--ops").json["models"]
    assert (model["soc"], model["soc_source"]) == ("Ascend310B4", "attribute")
    assert (len(model["ops"]), model["kernels"], model["constants"]) == (152, 129, 393)
    cores = [op["core"] for op in model["ops"]]
    assert (cores.count("AIC"), cores.count("AIV")) == (133, 19)
    assert model["sizes"]["memory"] - model["sizes"]["zero copy"] == 6555648
    assert sum(fusion["launches"] for fusion in model["fusions"]) == 129
    assert model["fusions"][0]["operators"] == ["Conv2D", "PRelu"]
    assert model["fusions"][0]["launches"] == 68


@needs_real
def test_vanillacnn(atc: Atc) -> None:
    (model,) = atc("info", REAL / "vanillacnn_310_2021.om", "--json", "--ops").json["models"]
    assert (model["soc"], model["soc_source"]) == ("Ascend310", "kernels")
    assert [op["operator"] for op in model["ops"]].count("Conv2D") == 4
    assert len(model["ops"]) == 14
    assert model["sizes"]["memory"] - model["sizes"]["zero copy"] == 411136


@needs_real
def test_facts_of_a_file_are_read_without_numpy() -> None:
    """Reading a file of 4 MB loads no numpy, which would take most of the time."""
    program = (
        "from pathlib import Path\n"
        "import sys\n"
        "from atc_py.package.ge.model import open_huawei\n"
        "from atc_py.pipeline.huawei_facts import huawei_facts\n"
        "with open_huawei(Path(sys.argv[1])) as file:\n"
        "    huawei_facts(file)\n"
        "assert 'numpy' not in sys.modules\n"
    )
    path = REAL / "lanenet_310B4_cann8.0.0.om"
    subprocess.run([sys.executable, "-c", program, str(path)], check=True)
