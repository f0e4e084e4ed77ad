"""Compiled templates between runs: kept where they can be trusted, done without elsewhere."""

import os
import sys
from pathlib import Path

import pytest
from jinja2 import DictLoader, Environment, FileSystemBytecodeCache

from atc_py.kernels.templating import bytecode_cache

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="owners and modes are POSIX's")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def text(cache: FileSystemBytecodeCache | None, source: str = "{{ 6 * 7 }}") -> str:
    environment = Environment(
        loader=DictLoader({"t": source}), bytecode_cache=cache, autoescape=True
    )
    return environment.get_template("t").render()


def kept(home: Path) -> list[Path]:
    return [path for path in home.rglob("*") if path.is_file()]


def test_compiled_template_is_kept_and_read_again(home: Path) -> None:
    assert text(bytecode_cache("test")) == "42"
    (entry,) = kept(home)
    assert text(bytecode_cache("test")) == "42"
    assert kept(home) == [entry]


@pytest.mark.usefixtures("home")
def test_changed_template_is_compiled_anew() -> None:
    text(bytecode_cache("test"))
    assert text(bytecode_cache("test"), "{{ 6 * 8 }}") == "48"


@pytest.mark.parametrize("damage", [b"", b"j2", b"\xff" * 500])
def test_damaged_entry_is_compiled_anew(home: Path, damage: bytes) -> None:
    text(bytecode_cache("test"))
    (entry,) = kept(home)
    whole = entry.read_bytes()
    entry.write_bytes(damage or whole[: len(whole) // 2])
    assert text(bytecode_cache("test")) == "42"


@pytest.mark.parametrize("mode", [0o770, 0o707])
def test_folder_that_others_may_write_to_is_not_trusted(home: Path, mode: int) -> None:
    assert bytecode_cache("test") is not None
    (folder,) = (home / "atc-py").iterdir()
    folder.chmod(mode)
    assert bytecode_cache("test") is None


def test_link_to_another_folder_is_not_trusted(home: Path) -> None:
    assert bytecode_cache("test") is not None
    (folder,) = (home / "atc-py").iterdir()
    folder.rename(home / "elsewhere")
    folder.symlink_to(home / "elsewhere")
    assert bytecode_cache("test") is None


def test_file_in_place_of_the_folder_is_ignored(home: Path) -> None:
    (home / "atc-py").write_text("not a folder")
    assert bytecode_cache("test") is None


@pytest.mark.parametrize("value", [None, "", "relative"])
def test_without_a_home_nothing_is_kept(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    for name in ("XDG_CACHE_HOME", "HOME"):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert bytecode_cache("test") is None


def test_what_cannot_be_written_is_not_kept(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = bytecode_cache("test")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert text(cache) == "42"
    assert [path for path in kept(home) if path.suffix == ".cache"] == []
