"""The process of a device imports what this one does, whatever is in the current folder."""

from pathlib import Path

import pytest

from atc_py.device.supervised import SupervisedBackend


def test_modules_in_the_current_folder_are_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("json", "runpy", "numpy", "atc_py"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(9)", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    backend = SupervisedBackend("sim", 300.0)
    try:
        backend.open()
    finally:
        backend.close()
