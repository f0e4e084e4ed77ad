"""Data of specification files between runs: as the files have it, and read anew where they changed."""

import shutil
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from atc_py.spec import OpSpec, load_spec, loader
from atc_py.spec.yaml_reader import read_document
from atc_py.system.cache_folders import op_specs_dir

SPECS = sorted(op_specs_dir().glob("*/*/*.yaml"))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that stands for atc-py's own, with one file."""
    own = home.parent / "op_specs"
    own.mkdir()
    (own / "a.yaml").write_text("op: A\n")
    monkeypatch.setattr(loader, "op_specs_dir", lambda: own)
    return own


def data_of(path: Path, reads: list[Path]) -> Any:
    """Return the data of a file; `reads` gets its path where it is read."""

    def read() -> tuple[Any, tuple[Path, ...]]:
        reads.append(path)
        return read_document(path.read_text(), str(path)).data, (path,)

    return loader.kept_data(path, read)


def entries(home: Path) -> list[Path]:
    return [path for path in home.rglob("*") if path.is_file()]


@pytest.mark.usefixtures("home")
def test_every_specification_is_kept_as_it_is_read() -> None:
    for path in SPECS:
        read = loader.read_spec(path)[0]
        assert load_spec(path) == read
        assert load_spec(path) == read


@pytest.mark.usefixtures("home")
def test_yaml_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    (like,) = op_specs_dir().glob("cann-9.0/*/max_pool.yaml")
    load_spec(like)
    monkeypatch.setattr("atc_py.spec.yaml_reader.read_document", lambda *_: pytest.fail("read"))
    assert load_spec(like).op == "MaxPool"


def test_file_that_changed_is_read_anew(folder: Path) -> None:
    reads: list[Path] = []
    path = folder / "a.yaml"
    assert data_of(path, reads) == data_of(path, reads) == {"op": "A"}
    assert reads == [path]
    path.write_text("op: B\n")
    assert data_of(path, reads) == {"op": "B"}
    assert reads == [path, path]


def test_file_that_another_is_like_counts_as_well(folder: Path) -> None:
    other = folder / "other.yaml"
    other.write_text("op: A\n")
    path = folder / "a.yaml"
    texts = iter(["first", "second"])
    read = lambda: (next(texts), (path, other))  # noqa: E731
    assert loader.kept_data(path, read) == loader.kept_data(path, read) == "first"
    other.unlink()
    assert loader.kept_data(path, read) == "second"


def test_changed_reader_reads_anew(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[Path] = []
    data_of(folder / "a.yaml", reads)
    monkeypatch.setattr(loader, "_reader", lambda: 1)
    data_of(folder / "a.yaml", reads)
    assert len(reads) == 2


@pytest.mark.parametrize("damage", [b"", b"\xc1", b"\xff" * 500, msgspec.msgpack.encode({"a": 1})])
def test_damaged_entry_is_read_anew(folder: Path, home: Path, damage: bytes) -> None:
    reads: list[Path] = []
    data_of(folder / "a.yaml", reads)
    (entry,) = entries(home)
    entry.write_bytes(damage)
    assert data_of(folder / "a.yaml", reads) == {"op": "A"}
    assert len(reads) == 2


def test_entry_of_other_data_is_no_specification(home: Path) -> None:
    path = SPECS[0]
    spec = load_spec(path)
    (entry,) = entries(home)
    known = msgspec.msgpack.decode(entry.read_bytes())
    entry.write_bytes(msgspec.msgpack.encode(known | {"data": {"op": 7}}))
    assert load_spec(path) == spec


def test_files_of_users_are_not_kept(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "conv.yaml"
    shutil.copy(op_specs_dir() / "base/nn/conv.yaml", path)
    assert isinstance(load_spec(path), OpSpec)
    assert entries(home) == []


@pytest.mark.parametrize("data", [1 << 70, "\udcff"])
def test_data_that_cannot_be_written_is_read_each_time(folder: Path, home: Path, data: Any) -> None:
    path = folder / "a.yaml"
    assert loader.kept_data(path, partial(tuple, (data, (path,)))) == data
    assert entries(home) == []


def test_home_that_is_none_does_without(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc")
    assert data_of(folder / "a.yaml", []) == {"op": "A"}
