"""What the commands print of models whose shapes only the run knows."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

from tests.cli.conftest import Result

Atc = Callable[..., Result]

TEXT = """<ir_version: 8, opset_import: ["" : 13]>
g (float[6,4] x, bool c, int64[2] ends) => (y, places) <int64[2] zero = {0, 0}> {
  part = Slice (x, zero, ends)
  y = If (c) <then_branch = t () => (float[n,4] a) { a = Abs (part) },
              else_branch = e () => (float[6,4] b) { b = Neg (x) }>
  places = NonZero (part)
}"""
X = np.arange(24, dtype=np.float32).reshape(6, 4)


@pytest.fixture
def om(atc: Atc) -> Path:
    """Return the model above, with data for a run that takes two rows."""
    onnx.save(onnx.parser.parse_model(TEXT), "open.onnx")
    done = atc("convert", "open.onnx", "-o", "open.om", "--dump-ir", "ir", "--kernels", "kernels")
    assert done.status == 0
    np.save("x.npy", X)
    np.save("c.npy", np.ones((), np.bool_))
    np.save("ends.npy", np.array([2, 4]))
    return Path("open.om")


def run(atc: Atc, om: Path, *options: object) -> Result:
    """Return one run on the data."""
    feeds = [f"--input={name}={name}.npy" for name in ("x", "c", "ends")]
    return atc("run", om, *feeds, *options)


def test_info_shows_open_dims(atc: Atc, om: Path) -> None:
    rows = [line.split() for line in atc("info", om).out.splitlines()]
    assert ["output", "y", "float32", "?,?", "ND"] in rows
    assert ["output", "places", "int64", "2,?", "ND"] in rows
    assert [port["shape"] for port in atc("info", om, "--json").json["outputs"]] == [
        [None, None],
        [2, None],
    ]


@pytest.mark.usefixtures("om")
def test_dumps_and_kernels_show_open_dims() -> None:
    for path in Path("ir").iterdir():
        assert "[?,?] ND" in path.read_text(encoding="utf-8")
    tables = [path.read_text(encoding="utf-8") for path in Path("kernels").rglob("*_tiling.h")]
    assert any("// x ?x?, y 2x?; ?" in table for table in tables)


def test_run_shows_the_dims_of_the_run(atc: Atc, om: Path) -> None:
    done = run(atc, om, "--output", "out", "--json")
    assert done.status == 0
    assert {name: row["shape"] for name, row in done.json["outputs"].items()} == {
        "y": [2, 4],
        "places": [2, 7],
    }
    np.testing.assert_array_equal(np.load("out/y.npy"), X[:2])


def test_expected_data_may_have_any_dims_that_the_run_has(atc: Atc, om: Path) -> None:
    for name, array, status in (("right", X[:2], 0), ("wrong", X[:3], 4), ("flat", X[0], 4)):
        np.save(f"{name}.npy", array)
        assert run(atc, om, "--expect", f"y={name}.npy").status == status


def test_raw_file_for_an_open_output_is_refused(atc: Atc, om: Path) -> None:
    Path("y.bin").write_bytes(X[:2].tobytes())
    done = run(atc, om, "--expect", "y=y.bin")
    assert done.status == 2
    assert "y.bin has no shape" in done.err
    assert "float32 ?x?" in done.err


def test_data_that_do_not_fit_name_the_node(atc: Atc, om: Path) -> None:
    onnx.save(
        onnx.parser.parse_model(
            '<ir_version: 8, opset_import: ["" : 13]> g (float[6,4] x, int64[2] ends) => (y) '
            "{ [view] y = Reshape (x, ends) }"
        ),
        "view.onnx",
    )
    assert om.exists()
    assert atc("convert", "view.onnx", "-o", "view.om").status == 0
    done = atc("run", "view.om", "--input=x=x.npy", "--input=ends=ends.npy")
    assert done.status == 4
    assert "6x4 cannot be reshaped to [2, 4]" in done.err
    assert "Reshape" in done.err
