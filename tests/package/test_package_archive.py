"""The archive: the same bytes twice, aligned, and open to every other zip program."""

import io
import shutil
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest

from atc_py.ir import DenseConst, Graph
from atc_py.package import records
from atc_py.package.archive import ArchiveWriter
from atc_py.package.read_ahead import npy_header
from atc_py.package.reader import open_model
from atc_py.package.schema import PackageContents
from atc_py.package.writer import write_model
from atc_py.tensor.dtypes import DType
from tests.failures import in_one_item


def many_sizes() -> Graph:
    """Return constants whose sizes leave every remainder by the alignment."""
    graph = Graph()
    for size in range(70):
        name = "w" * (size % 7 + 1)
        graph.add_output(graph.constant(name, DenseConst(np.full(size, size, np.uint8))))
    return graph


def test_two_runs_give_the_same_bytes(
    graph: Graph, contents: PackageContents, tmp_path: Path
) -> None:
    write_model(graph, tmp_path / "a.om", contents)
    turned = PackageContents(
        producer=contents.producer,
        soc=contents.soc,
        options=dict(sorted(contents.options.items(), reverse=True)),
        kernels=dict(sorted(contents.kernels.items(), reverse=True)),
        kernel_of=contents.kernel_of,
        report=dict(sorted(contents.report.items(), reverse=True)),
    )
    write_model(graph, tmp_path / "b.om", turned)
    assert (tmp_path / "a.om").read_bytes() == (tmp_path / "b.om").read_bytes()


def test_another_weight_gives_other_bytes(tmp_path: Path) -> None:
    files = []
    for value in (1, 2):
        graph = Graph()
        graph.add_output(graph.constant("w", DenseConst(np.full(1, value, np.int8))))
        path = write_model(graph, tmp_path / "m.om", PackageContents("", "sim")).path
        files.append(path.read_bytes())
    assert files[0] != files[1]


def test_every_member_is_stored_aligned_and_of_1980(tmp_path: Path) -> None:
    path = write_model(many_sizes(), tmp_path / "m.om", PackageContents("", "sim")).path
    raw = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        for info in archive.infolist():
            name_size, extra_size = raw[info.header_offset + 26], raw[info.header_offset + 28]
            start = info.header_offset + 30 + name_size + extra_size
            assert start % 64 == 0
            assert raw[start : start + info.file_size] == archive.read(info)
            assert info.compress_type == zipfile.ZIP_STORED
            assert info.date_time == (1980, 1, 1, 0, 0, 0)


def test_extracted_weights_open_with_numpy(tmp_path: Path) -> None:
    path = write_model(many_sizes(), tmp_path / "m.om", PackageContents("", "sim")).path
    with zipfile.ZipFile(path) as archive:
        archive.extractall(tmp_path / "out")
    with open_model(path) as model:
        for member in [tensor.member or "" for tensor in model.description.tensors]:
            loaded = np.load(tmp_path / "out" / member, allow_pickle=False)
            np.testing.assert_array_equal(loaded, model.array(member))


@in_one_item("shape", [(), (0,), (7,), (2, 3, 4), (10**9, 0), (1,) * 20])
@in_one_item("dtype", list(DType))
def test_header_is_read_by_numpy(dtype: DType, shape: tuple[int, ...]) -> None:
    header = npy_header(dtype, shape)
    assert len(header) % 64 == 0
    file = io.BytesIO(header)
    assert np.lib.format.read_magic(file) == (1, 0)
    found_shape, fortran, found_dtype = np.lib.format.read_array_header_1_0(file)
    assert (found_shape, fortran) == (shape, False)
    assert found_dtype.itemsize == dtype.itemsize
    assert file.tell() == len(header)
    named = {DType.BFLOAT16: np.dtype("V2"), DType.INT4: np.dtype(np.int8)}
    assert found_dtype == named.get(dtype, dtype.numpy)


@pytest.mark.skipif(shutil.which("unzip") is None, reason="no unzip here")
def test_unzip_finds_no_fault(om: Path) -> None:
    done = subprocess.run(["unzip", "-tq", str(om)], capture_output=True, check=False)  # noqa: S607
    assert done.returncode == 0, done.stdout + done.stderr


def test_zip64_records_are_read_by_others_and_by_us(
    om: Path, graph: Graph, contents: PackageContents, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = om.read_bytes()
    monkeypatch.setattr(records, "ZIP64_FROM", 100)
    write_model(graph, om, contents)
    assert om.read_bytes() != plain
    with zipfile.ZipFile(om) as archive:
        assert archive.testzip() is None
        assert archive.read("kernels/add.cpp") == b"// add\n"
        assert len(archive.namelist()) == 6
    with open_model(om) as model:
        assert model.array("weights/0000_w.npy").sum() == 15
    if shutil.which("unzip"):
        subprocess.run(["unzip", "-tq", str(om)], capture_output=True, check=True)  # noqa: S607


def test_many_members_take_zip64_records(om: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MANY_ENTRIES", 60)
    write_model(many_sizes(), om, PackageContents("", "sim"))
    with zipfile.ZipFile(om) as archive:
        assert len(archive.namelist()) == 72
        assert archive.testzip() is None
    open_model(om).close()


def test_member_of_another_size_than_promised_is_a_bug() -> None:
    with pytest.raises(ValueError, match="promised 7"):
        ArchiveWriter(io.BytesIO()).add("a", 7, [b"123456"])


def test_member_name_that_is_taken_is_a_bug() -> None:
    writer = ArchiveWriter(io.BytesIO())
    writer.add_bytes("a", b"")
    with pytest.raises(ValueError, match="already"):
        writer.add_bytes("a", b"")
