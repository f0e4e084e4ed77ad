"""Samples in files and folders, and what is refused of them."""

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from atc_py.diag import AtcError, Sink
from atc_py.diag.codes import (
    BAD_DATA_FILE,
    BAD_OPTION,
    BAD_RUN_INPUT,
    BAD_SAMPLE,
    NO_SAMPLES,
    SAMPLE_NOT_FINITE,
)
from atc_py.diag.diagnostic import Code
from atc_py.pipeline.running.model import Port
from atc_py.pipeline.running.samples import ArraySamples, RandomSamples, checked, open_samples
from atc_py.tensor.dtypes import DType
from tests.quantizing.float_networks import Array

X = Port("x", DType.FLOAT32, (None, 3, 4))
FIXED = Port("x", DType.FLOAT32, (2, 3, 4))
IDS = Port("ids", DType.INT64, (1, 5))


def rows(count: int, *shape: int) -> Array:
    return np.random.default_rng(count).standard_normal((count, *shape)).astype(np.float32)


def read(given: Any, *ports: Port) -> list[dict[str, Array]]:
    texts = given if isinstance(given, list) else [given]
    samples = open_samples([str(each) for each in texts], ports, Sink())
    found = [dict(each.feeds) for each in checked(samples, ports)]
    assert samples.count == len(found)
    assert len([*samples]) == len(found), "samples can be gone through twice"
    return found


def test_folder_of_npy_files_is_read_in_order_of_names(tmp_path: Path) -> None:
    arrays = rows(3, 1, 3, 4)
    for position, array in enumerate(arrays):
        np.save(tmp_path / f"{position}.npy", array)
    (tmp_path / ".hidden").write_text("no sample")
    found = read(tmp_path, X)
    assert [each["x"].tolist() for each in found] == arrays.tolist()


def test_folder_of_npz_files_has_all_inputs(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=rows(1, 3, 4), ids=np.arange(5)[None])
    np.savez(tmp_path / "b.npz", x=rows(2, 3, 4)[1:], ids=np.arange(5)[None])
    assert [each.keys() for each in read(tmp_path, X, IDS)] == [{"x", "ids"}] * 2


def test_folder_of_tensors_and_raw_files(tmp_path: Path) -> None:
    array = rows(2, 3, 4)
    (tmp_path / "a.pb").write_bytes(numpy_helper.from_array(array, "x").SerializeToString())
    (tmp_path / "b.bin").write_bytes(array.tobytes())
    assert all(each["x"].tolist() == array.tolist() for each in read(tmp_path, FIXED))


def test_folders_of_onnx_test_data(tmp_path: Path) -> None:
    for position in range(2):
        folder = tmp_path / f"test_data_set_{position}"
        folder.mkdir()
        for name, array in (("input_0", rows(1, 3, 4)), ("input_1", np.arange(5)[None])):
            proto = numpy_helper.from_array(array, name)
            onnx.save_tensor(proto, folder / f"{name}.pb")
        onnx.save_tensor(numpy_helper.from_array(rows(1, 2), "y"), folder / "output_0.pb")
    assert [each.keys() for each in read(tmp_path, X, IDS)] == [{"x", "ids"}] * 2


def test_folder_for_each_input(tmp_path: Path) -> None:
    for name, array in (("x", rows(1, 3, 4)), ("ids", np.arange(5)[None])):
        (tmp_path / name).mkdir()
        for position in range(3):
            np.save(tmp_path / name / f"{position}.npy", array)
    given = [f"x={tmp_path / 'x'}", f"ids={tmp_path / 'ids'}"]
    assert len(read(given, X, IDS)) == 3
    (tmp_path / "ids" / "2.npy").unlink()
    with pytest.raises(AtcError) as refused:
        read(given, X, IDS)
    assert refused.value.diagnostics[0].code is NO_SAMPLES


@pytest.mark.parametrize("suffix", [".npz", ".npy"])
@pytest.mark.parametrize(
    ("shape", "port", "count", "one"),
    [
        ((6, 3, 4), X, 6, (1, 3, 4)),
        ((6, 3, 4), FIXED, 3, (2, 3, 4)),
        ((6, 2, 3, 4), FIXED, 6, (2, 3, 4)),
        ((6, 5, 3, 4), X, 6, (5, 3, 4)),
    ],
)
def test_rows_of_a_file_are_samples(
    tmp_path: Path,
    suffix: str,
    shape: tuple[int, ...],
    port: Port,
    count: int,
    one: tuple[int, ...],
) -> None:
    array, path = rows(*shape), tmp_path / f"all{suffix}"
    if suffix == ".npz":
        np.savez(path, x=array)
    else:
        np.save(path, array)
    found = read(path, port)
    assert len(found) == count
    assert {each["x"].shape for each in found} == {one}
    assert np.concatenate([each["x"].ravel() for each in found]).tolist() == array.ravel().tolist()


def test_samples_of_an_input_without_axes_are_arrays(tmp_path: Path) -> None:
    np.savez(tmp_path / "s.npz", x=rows(2, 3, 4)[:, None], c=np.array([True, False]))
    found = read(tmp_path / "s.npz", X, Port("c", DType.BOOL, ()))
    assert [type(each["c"]) for each in found] == [np.ndarray, np.ndarray]
    assert [bool(each["c"]) for each in found] == [True, False]


def test_compressed_rows_are_read_one_at_a_time(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "all.npz", x=rows(40, 3, 4), ids=np.zeros((40, 5), np.int64))
    found = read(tmp_path / "all.npz", X, IDS)
    assert len(found) == 40
    assert found[7]["ids"].shape == (1, 5)


def test_random_samples_repeat() -> None:
    samples = RandomSamples([FIXED], 3, 7)
    first, second = ([each["x"].tolist() for _, each in samples] for _ in range(2))
    assert first == second
    assert first[0] != first[1]


def one_npy(folder: Path, array: Array) -> Path:
    np.save(folder / "s.npy", array)
    return folder


def missing(folder: Path) -> Path:
    return folder / "gone"


def empty(folder: Path) -> Path:
    return folder


def other_rows(folder: Path) -> Path:
    np.savez(folder / "s.npz", x=rows(4, 3, 5))
    return folder / "s.npz"


def no_rows(folder: Path) -> Path:
    np.savez(folder / "s.npz", x=rows(4, 3, 4)[:0])
    return folder / "s.npz"


def part_of_a_batch(folder: Path) -> Path:
    np.savez(folder / "s.npz", x=rows(5, 3, 4))
    return folder / "s.npz"


def damaged(folder: Path) -> Path:
    np.savez(folder / "s.npz", x=rows(4, 3, 4))
    data = (folder / "s.npz").read_bytes()
    (folder / "s.npz").write_bytes(data[: len(data) // 2])
    return folder / "s.npz"


def short(folder: Path) -> Path:
    np.save(folder / "s.npy", rows(4, 3, 4))
    data = (folder / "s.npy").read_bytes()
    (folder / "s.npy").write_bytes(data[:-20])
    return folder / "s.npy"


def raw_of_open_shape(folder: Path) -> Path:
    (folder / "s.bin").write_bytes(bytes(48))
    return folder


def not_finite(folder: Path) -> Path:
    array = rows(1, 3, 4)
    array[0, 1, 2] = np.nan
    return one_npy(folder, array)


@pytest.mark.parametrize(
    ("make", "port", "code"),
    [
        (missing, X, NO_SAMPLES),
        (empty, X, NO_SAMPLES),
        (no_rows, X, NO_SAMPLES),
        (part_of_a_batch, FIXED, NO_SAMPLES),
        (other_rows, X, BAD_SAMPLE),
        (lambda folder: one_npy(folder, rows(1, 3, 4).astype(np.float64)), X, BAD_SAMPLE),
        (lambda folder: one_npy(folder, rows(1, 3, 5)), X, BAD_SAMPLE),
        (lambda folder: one_npy(folder, rows(1, 3)), X, BAD_SAMPLE),
        (not_finite, X, SAMPLE_NOT_FINITE),
        (damaged, X, BAD_DATA_FILE),
        (short, X, BAD_DATA_FILE),
        (raw_of_open_shape, X, BAD_RUN_INPUT),
    ],
)
def test_sample_that_the_model_does_not_take(
    tmp_path: Path, make: Callable[[Path], Path], port: Port, code: Code
) -> None:
    with pytest.raises(AtcError) as refused:
        read(make(tmp_path), port)
    assert [each.code for each in refused.value.diagnostics] == [code]


def test_array_without_an_input() -> None:
    with pytest.raises(AtcError) as refused:
        list(checked(ArraySamples([{"y": rows(1, 3, 4)}]), [X]))
    assert refused.value.diagnostics[0].code is BAD_SAMPLE


@pytest.mark.parametrize("given", [["z=a.npy"], ["x=a.npy", "a.npy"]])
def test_names_that_the_model_does_not_have(
    tmp_path: Path, given: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", rows(1, 3, 4))
    with pytest.raises(AtcError) as refused:
        read(given, X)
    assert refused.value.diagnostics[0].code is BAD_OPTION


def test_memory_does_not_grow_with_the_number_of_samples(tmp_path: Path) -> None:
    port = Port("x", DType.FLOAT32, (None, 100, 100))
    np.savez(tmp_path / "all.npz", x=rows(300, 100, 100))
    samples = open_samples([str(tmp_path / "all.npz")], [port], Sink())
    tracemalloc.start()
    try:
        count = sum(1 for _ in checked(samples, [port]))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 300
    assert peak < 10 * 100 * 100 * 4
