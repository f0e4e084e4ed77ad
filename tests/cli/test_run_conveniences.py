"""`run --cast`, data from a folder, and `run --save`."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from atc_py.pipeline.running.folders import file_stem, files_of_folder
from tests.cli.conftest import Result

Atc = Callable[..., Result]


@pytest.fixture
def two(atc: Atc) -> Atc:
    """Convert a sum of a float input and a whole-number input cast to float; return the command."""
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        [
            helper.make_node("Cast", ["b:0"], ["f"], to=1),
            helper.make_node("Add", ["a", "f"], ["sum"]),
            helper.make_node("Sub", ["a", "f"], ["gap"]),
        ],
        "two",
        [info("a", 1, [2, 3]), info("b:0", 6, [2, 3])],
        [info("sum", 1, [2, 3]), info("gap", 1, [2, 3])],
    )
    opsets = [helper.make_opsetid("", 13)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), "two.onnx")
    assert atc("convert", "two.onnx", "--precision-mode", "must_keep_origin_dtype").status == 0
    Path("data").mkdir()
    return atc


def save(name: str, *values: object, dtype: str = "float32") -> None:
    """Save a file of data in the folder."""
    np.save(Path("data") / name, np.array(values, dtype).reshape(2, 3))


A, B = (1, 2, 3, 4, 5, 6), (10, 20, 30, 40, 50, 60)


def test_inputs_come_from_one_folder(two: Atc) -> None:
    save("a.npy", *A)
    save("b_0.npy", *B, dtype="int32")
    Path("data/README.txt").write_text("about the data", encoding="utf-8")
    done = two("run", "two.om", "-i", "data", "-o", "out")
    assert (done.status, done.err) == (0, "")
    assert np.load("out/sum.npy").tolist() == [[11, 22, 33], [44, 55, 66]]
    assert two("run", "two.om", "-i", "data", "--expect", "out").status == 0


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ((), "data has no data"),
        (("a.npy", "c.npy"), "data has c.npy not named after any input"),
        (("a.npy", "a.bin"), "two files for a"),
        (("a.npy",), "b:0"),
    ],
)
def test_folder_that_does_not_fit_is_refused(two: Atc, files: tuple[str, ...], words: str) -> None:
    for name in files:
        with (Path("data") / name).open("wb") as file:
            np.save(file, np.array(A, np.float32).reshape(2, 3))
    done = two("run", "two.om", "-i", "data")
    assert done.status in {2, 3}
    assert "error[ATC10" in done.err
    assert words in done.err


def test_folder_and_file_for_one_input_are_refused(two: Atc) -> None:
    save("a.npy", *A)
    done = two("run", "two.om", "-i", "data", "-i", "a=data/a.npy", "--random", "0")
    assert "data for a are given twice" in done.err


@pytest.mark.parametrize("name", ["a/b:c", ".x", "plain"])
def test_file_is_named_as_run_names_outputs(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"{file_stem(name)}.npy"
    np.save(path, np.zeros(1))
    assert files_of_folder(tmp_path, [name, "other"]) == [(name, path)]


def test_data_of_another_dtype_need_cast(two: Atc) -> None:
    save("a.npy", *A, dtype="float64")
    save("b_0.npy", *B, dtype="int64")
    refused = two("run", "two.om", "-i", "data")
    assert refused.status != 0
    done = two("run", "two.om", "-i", "data", "--cast", "-o", "out")
    assert (done.status, done.err) == (0, "")
    assert np.load("out/gap.npy").tolist() == [[-9, -18, -27], [-36, -45, -54]]


@pytest.mark.parametrize(
    ("name", "dtype", "value"),
    [
        ("b_0.npy", "int64", 2**40),
        ("b_0.npy", "float64", 1.5),
        ("b_0.npy", "float64", float("nan")),
        ("a.npy", "float64", 1e300),
    ],
)
def test_values_that_do_not_fit_are_refused(two: Atc, name: str, dtype: str, value: float) -> None:
    save("a.npy", *A)
    save("b_0.npy", *B, dtype="int32")
    save(name, 1, 2, 3, value, 5, 6, dtype=dtype)
    done = two("run", "two.om", "-i", "data", "--cast")
    assert done.status == 2
    assert "1 of 6 values of" in done.err
    assert "the first at index [1, 0]" in done.err


def test_infinities_stay_infinities_among_floats(two: Atc) -> None:
    save("a.npy", 1, 2, 3, float("inf"), 5, 6, dtype="float64")
    save("b_0.npy", *B, dtype="int32")
    assert two("run", "two.om", "-i", "data", "--cast").status == 0


def test_outputs_are_saved_together(two: Atc) -> None:
    done = two("run", "two.om", "--random", "0", "--save", "all.npz", "-o", "out")
    assert done.status == 0
    with np.load("all.npz") as found:
        assert sorted(found) == ["gap", "sum"]
        assert np.array_equal(found["sum"], np.load("out/sum.npy"))
    first = Path("all.npz").read_bytes()
    two("run", "two.om", "--random", "0", "--save", "all.npz")
    assert Path("all.npz").read_bytes() == first
    assert two("run", "two.om", "--random", "0", "--expect", "all.npz").status == 0


@pytest.mark.parametrize(
    ("name", "status"), [("-", 2), ("all.npy", 2), ("two.om", 2), ("gone/all.npz", 3)]
)
def test_file_that_cannot_be_saved_is_refused(two: Atc, name: str, status: int) -> None:
    before = Path("two.om").read_bytes()
    done = two("run", "two.om", "--random", "0", "--save", name)
    assert done.status == status
    assert done.err.startswith("error[ATC")
    assert Path("two.om").read_bytes() == before
