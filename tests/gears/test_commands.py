"""Commands on models with gears: convert, info, run, profile, kernels, export, compare."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import atc_py
from atc_py.cli.main import main
from tests.gears.models import image_model


@pytest.fixture(scope="module")
def om(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an offline model with gears of images."""
    folder = tmp_path_factory.mktemp("images")
    source = image_model(folder / "net.onnx")
    sizes = "16,16;32,16;16,32"
    atc_py.convert(source, folder / "net.om", input_shape="x:1,3,-1,-1", image_sizes=sizes)
    return folder / "net.om"


@pytest.fixture
def atc(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str, str]]:
    """Return what runs `atc-py` in an empty folder: status and streams."""
    monkeypatch.chdir(tmp_path)

    def run(*args: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main([str(each) for each in args])
        found = capsys.readouterr()
        return int(ended.value.code or 0), found.out, found.err

    return run


def document(found: tuple[int, str, str]) -> Any:
    """Return the JSON document of a command that succeeded."""
    assert found[0] == 0, found
    return json.loads(found[1])


def test_convert_lists_gears(atc: Any, tmp_path: Path) -> None:
    image_model(tmp_path / "net.onnx")
    lists = ("--input-shape", "x:-1,3,16,16", "--dynamic_batch_size", "1,2")
    status, out, _ = atc("convert", "-v", "net.onnx", *lists)
    assert status == 0
    assert "\nGears\n" in out
    assert "x 2x3x16x16" in out
    found = document(atc("convert", "net.onnx", *lists, "--json"))
    assert [each["gear"] for each in found["gears"]] == [[1], [2]]
    assert found["gears"][1]["inputs"] == {"x": [2, 3, 16, 16]}
    assert found["memory"] == found["gears"][1]["memory"]


def test_refused_gear_is_printed_with_its_finding(atc: Any, tmp_path: Path) -> None:
    image_model(tmp_path / "net.onnx")
    lists = ("--input-shape", "x:1,3,-1,-1", "--image-sizes", "16,16;1,1")
    status, _, err = atc("convert", "net.onnx", *lists)
    assert status != 0
    assert "ATC1050" in err
    assert "gear 1,1 of --image-sizes" in err
    assert not (tmp_path / "net.om").exists()


def test_folders_of_a_conversion_have_one_for_each_gear(atc: Any, tmp_path: Path) -> None:
    image_model(tmp_path / "net.onnx")
    lists = ("--input-shape", "x:-1,3,16,16", "--batch-sizes", "1,2")
    assert atc("convert", "net.onnx", *lists, "--kernels", "k", "--dump-ir", "d")[0] == 0
    assert sorted(each.name for each in (tmp_path / "k").iterdir()) == ["gear0", "gear1"]
    assert (tmp_path / "d" / "gear1" / "00_lowered.ir").exists()


def test_info_lists_gears_and_the_input_that_chooses(atc: Any, om: Path) -> None:
    found = document(atc("info", om, "--json"))
    gears = found["gears"]
    assert found["format_version"] == 4
    assert (gears["kind"], gears["largest"]) == ("image", 1)
    assert gears["inputs"] == {"x": [1, 3, None, None]}
    assert gears["shape_data"] == {
        "name": "ascend_mbatch_shape_data",
        "dtype": "int32",
        "shape": [2],
        "format": "ND",
    }
    assert [each["gear"] for each in gears["gears"]] == [[16, 16], [32, 16], [16, 32]]
    assert all(each["memory"]["total"] > 0 for each in gears["gears"])
    assert found["inputs"][0]["shape"] == [1, 3, 32, 16]
    chosen = document(atc("info", om, "--image", "16,32", "--json"))
    assert chosen["inputs"][0]["shape"] == [1, 3, 16, 32]
    status, out, _ = atc("info", om)
    assert (status, "without a choice gear 1 runs" in out) == (0, True)
    assert atc("info", om, "--precision", "--gear", "2")[0] == 0


def test_run_chooses_a_gear(atc: Any, om: Path, tmp_path: Path) -> None:
    assert document(atc("run", om, "--random", "0", "--json"))["gear"] == [32, 16]
    named = document(atc("run", om, "--random", "0", "--image", "16, 32", "--json"))
    assert named["gear"] == [16, 32]
    assert document(atc("run", om, "--random", "0", "--gear", "0", "--json"))["gear"] == [16, 16]
    np.save(tmp_path / "x.npy", np.ones((1, 3, 16, 32), np.float32))
    status, out, _ = atc("run", om, "-i", "x.npy", "--profile")
    assert (status, "Outputs of gear 16,32" in out) == (0, True)
    np.savez(tmp_path / "x.npz", np.ones((1, 3, 16, 32), np.float32))
    assert document(atc("run", om, "-i", "x.npz", "--json"))["gear"] == [16, 32]
    np.ones((1, 3, 16, 16), np.float32).tofile(tmp_path / "x.bin")
    assert document(atc("run", om, "-i", "x=x.bin", "--json"))["gear"] == [16, 16]
    np.save(tmp_path / "data.npy", np.array([32, 16], np.int32))
    fed = ("-i", "ascend_mbatch_shape_data=data.npy", "--random", "0")
    assert document(atc("run", om, *fed, "--json"))["gear"] == [32, 16]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--gear", "3"), "ATC1051"),
        (("--batch", "1"), "ATC1051"),
        (("--image", "8,8"), "ATC1051"),
        (("--image", "a,b"), "ATC1001"),
        (("--gear", "0", "--image", "16,16"), "ATC1020"),
        (("-i", "x=two.bin"), "ATC1051"),
        (("-i", "x=none.bin"), "ATC1051"),
        (("-i", "x=none.npy"), "ATC1051"),
    ],
)
def test_gears_that_are_not_there(
    atc: Any, om: Path, tmp_path: Path, arguments: tuple[str, ...], code: str
) -> None:
    np.zeros((1, 3, 32, 16), np.float32).tofile(tmp_path / "two.bin")
    np.zeros((1, 3, 8, 16), np.float32).tofile(tmp_path / "none.bin")
    np.save(tmp_path / "none.npy", np.zeros((1, 3, 8, 16), np.float32))
    status, _, err = atc("run", om, "--random", "0", *arguments)
    assert (status, code in err) == (2, True), err


def test_expected_outputs_are_those_of_the_gear(atc: Any, om: Path) -> None:
    chosen = ("--image", "16,32", "--random", "0")
    assert atc("run", om, *chosen, "-o", "results")[0] == 0
    assert atc("run", om, *chosen, "--expect", "p=results/p.npy")[0] == 0
    assert atc("run", om, "--random", "0", "--expect", "p=results/p.npy")[0] == 4


def test_profile_has_a_line_for_each_gear(atc: Any, om: Path) -> None:
    found = json.loads(atc("profile", om, "--json", "--gear", "2")[1])
    assert [each["gear"] for each in found["gears"]] == [[16, 16], [32, 16], [16, 32]]
    assert found["socs"][0]["time"] == found["gears"][2]["time"]
    status, out, _ = atc("profile", om)
    assert (status, out.startswith("Gears\n")) == (0, True)
    assert atc("profile", om, "--gear", "9")[0] == 2


def test_profile_compares_batches_of_an_onnx_file(atc: Any, tmp_path: Path) -> None:
    onnx.save(
        onnx.parser.parse_model(
            '<ir_version: 8, opset_import: ["" : 13]> net (float[1, 3, 32, 32] x) => '
            "(float[n, 3, 32, 32] y) { y = Relu(x) }"
        ),
        tmp_path / "net.onnx",
    )
    asked = ("profile", "net.onnx", "--soc", "Ascend310P3", "--batch")
    found = json.loads(atc(*asked, "1,2,4096", "--json")[1])
    assert [each["gear"] for each in found["gears"]] == [[1], [2], [4096]]
    assert [each["best"] for each in found["gears"]] == [False, False, True]
    rates = [each["gear"][0] / each["time"]["expected"] for each in found["gears"]]
    assert [each["samples_per_second"] for each in found["gears"]] == pytest.approx(rates)
    status, out, _ = atc(*asked, "1,2,1000000")
    assert (status, out.startswith("Batches on Ascend310P3\n")) == (0, True)
    rows = [line.split() for line in out.splitlines()[2:5]]
    assert [row[0] for row in rows] == ["1", "2", "1000000"]
    assert [" ".join(row[-3:]) for row in rows[1:]] == ["61.5 KiB best", "does not fit"]
    alone = json.loads(atc(*asked, "1", "--json")[1])
    assert alone["socs"][0]["time"] == found["gears"][0]["time"]
    assert atc(*asked, "1,x")[0] == 2
    assert atc(*asked, "1,2", "--input-shape", "x:-1,3,8,8")[0] == 2


def test_kernels_and_export_take_one_gear(atc: Any, om: Path, tmp_path: Path) -> None:
    for gear, dims in (("16,16", [1, 3, 16, 16]), ("16,32", [1, 3, 16, 32])):
        assert atc("kernels", om, "--image", gear, "-o", f"k{gear}")[0] == 0
        assert (tmp_path / f"k{gear}" / "kernels.json").exists()
        assert atc("export", om, "--image", gear, "-o", f"{gear}.onnx")[0] == 0
        (value,) = onnx.load(tmp_path / f"{gear}.onnx").graph.input
        assert [dim.dim_value for dim in value.type.tensor_type.shape.dim] == dims
    assert atc("export", om, "--gear", "9")[0] == 2
    image_model(tmp_path / "net.onnx", (1, 3, 8, 8))
    assert atc("export", "net.onnx", "--gear", "0")[0] == 2


def test_compare_takes_each_gear(atc: Any, tmp_path: Path) -> None:
    image_model(tmp_path / "net.onnx")
    lists = ("--input-shape", "x:-1,3,16,16", "--batch-sizes", "1,2")
    found = document(atc("compare", "net.onnx", *lists, "--json"))
    assert [each["gear"] for each in found["gears"]] == [[1], [2]]
    assert all(each["verdict"] for each in found["gears"])
    status, out, _ = atc("compare", "net.onnx", *lists)
    assert (status, out.count("\nGear ") + out.startswith("Gear ")) == (0, 2)
    assert atc("compare", "net.onnx", *lists, "--fail-under", "cosine=1.1")[0] in {2, 4}
    status, _, err = atc("compare", "net.onnx", *lists, "--format", "csv")
    assert (status, "text, json or html" in err) == (2, True)
