"""The command `exec` in its own process, and models for programs under it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
import onnx.parser
import pytest

from tests.cli.conftest import small_model
from tests.sampling import mark_others

ROOT = Path(__file__).resolve().parents[3]
PROGRAMS = Path(__file__).parent / "programs"

REFUSED = """
    <ir_version: 8, opset_import: ["" : 18]>
    refused (float[1, 8] x) => (float[1, 8] y) { y = Mish(x) }
"""

SWITCH = """
    <ir_version: 8, opset_import: ["" : 14]>
    switch (float[1, 8] x, float[1] k) => (float[1, 8] y) { y = Mul (x, k) }
"""


SHARE = 4
"""One program in so many runs always: each takes a second, and most habits have three."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave most programs to the sweep."""
    programs = [item for item in items if item.path.name != "test_records.py"]
    mark_others(programs, Path(__file__).parent, SHARE)


@dataclass(frozen=True)
class Ran:
    """A program that ran under `exec`: its status, its streams, and the report."""

    status: int
    out: str
    err: str
    report: Any

    @property
    def model(self) -> Any:
        """The report on the only model."""
        (found,) = self.report["models"]
        return found


def command(*words: object) -> list[str]:
    """Return the command line of `exec` with options, and a program after `--`."""
    return [sys.executable, "-m", "atc_py", "exec", *map(str, words)]


def environment(**others: str) -> dict[str, str]:
    """Return the environment of tests, in which this checkout is importable."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return {**kept, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), **others}


@pytest.fixture
def ran(tmp_path: Path) -> Callable[..., Ran]:
    """Return runs a program of the folder `programs` under `exec`."""

    def run(program: str, *args: object, options: tuple[str, ...] = (), **others: str) -> Ran:
        report = tmp_path / "report.json"
        report.unlink(missing_ok=True)
        line = [sys.executable, PROGRAMS / program, *args]
        done = subprocess.run(
            command(*options, "--report", report, "--", *line),
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env=environment(TMPDIR=str(tmp_path), **others),
            timeout=240,
        )
        assert [each.name for each in tmp_path.glob("atc-py-*")] == []
        found = json.loads(report.read_text(encoding="utf-8")) if report.exists() else None
        return Ran(done.returncode, done.stdout, done.stderr, found)

    return run


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with models: small, one with open dims, one that the list refuses, one to bind."""
    folder = tmp_path_factory.mktemp("models")
    onnx.save(small_model(), folder / "small.onnx")
    onnx.save(small_model(free=True), folder / "free.onnx")
    onnx.save(onnx.parser.parse_model(REFUSED), folder / "refused.onnx")
    onnx.save(onnx.parser.parse_model(SWITCH), folder / "switch.onnx")
    return folder


@pytest.fixture
def small(models: Path) -> Path:
    """Return the small model."""
    return models / "small.onnx"
