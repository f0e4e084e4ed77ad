"""Pages of a mapped model are given back after reading, and hold the same when they are read again."""

import re
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from atc_py.ir import DenseConst, Graph
from atc_py.package import integrity
from atc_py.package.read_ahead import release_pages
from atc_py.package.reader import open_model
from atc_py.package.schema import PackageContents
from atc_py.package.writer import write_model

MIB = 1 << 20
STATUS = Path("/proc/self/status")

needs_status = pytest.mark.skipif(not STATUS.exists(), reason="no /proc here")


def mapped_bytes() -> int:
    """Return the bytes of files that are mapped and in memory."""
    found = re.search(r"^RssFile:\s+(\d+) kB$", STATUS.read_text(encoding="ascii"), re.MULTILINE)
    assert found
    return int(found[1]) * 1024


def large_model(path: Path) -> npt.NDArray[np.float32]:
    """Write a model whose one constant takes 16 MiB, and return that."""
    graph = Graph("large")
    array = np.arange(4 * MIB, dtype=np.float32)
    graph.add_output(graph.constant("w", DenseConst(array)))
    write_model(graph, path, PackageContents("test", "sim"))
    return array


@needs_status
def test_released_array_is_out_of_memory_and_reads_the_same(tmp_path: Path) -> None:
    array = large_model(tmp_path / "m.om")
    with open_model(tmp_path / "m.om") as model:
        view = model.array("weights/0000_w.npy")
        np.testing.assert_array_equal(view, array)
        before = mapped_bytes()
        release_pages(view)
        assert before - mapped_bytes() > 12 * MIB
        np.testing.assert_array_equal(view, array)


def test_array_of_no_file_is_left_alone() -> None:
    array = np.ones(5)
    release_pages(array[1:])
    release_pages(np.frombuffer(b"12345678", np.uint8))
    assert array.sum() == 5


@needs_status
def test_verification_does_not_keep_large_members_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large_model(tmp_path / "m.om")
    monkeypatch.setattr(integrity, "_AT_ONCE", MIB)
    before = mapped_bytes()
    with open_model(tmp_path / "m.om"):
        assert mapped_bytes() - before < 6 * MIB
